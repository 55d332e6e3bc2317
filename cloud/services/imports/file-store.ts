import type { Database, Handle, Scope, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the content of uploaded files, which is stored in parts. */

const partBytes = 1024 * 1024

const insertStatement = statement(
  `insert into import_file_parts (tenant_id, import_id, part, content, created_at) values ($1, $2, $3, $4, $5)`,
)

/** Stores the content of a file while it arrives. Returns the number of bytes. No connection is held while it waits. */
export async function storeFile(
  database: Database,
  scope: Scope,
  { importId, content }: { importId: string; content: AsyncIterable<Uint8Array> },
): Promise<number> {
  let bytes = 0
  let part = 0
  let chunks: Uint8Array[] = []
  let waiting = 0
  const flush = async () => {
    const joined = Buffer.concat(chunks)
    chunks = []
    waiting = 0
    const now = new Date().toISOString()
    await database.transaction({ tenantId: scope.tenantId }, (tx) =>
      tx.run(insertStatement, importId, part, joined, now),
    )
    part += 1
  }
  for await (const chunk of content) {
    chunks.push(chunk)
    waiting += chunk.length
    bytes += chunk.length
    if (waiting >= partBytes) await flush()
  }
  if (waiting > 0) await flush()
  return bytes
}

const readStatement = statement<{ content: Buffer }>(
  `select content from import_file_parts where tenant_id = $1 and import_id = $2 and part = $3`,
)

/** Returns the parts of a file. Each part is read by its own statement. */
export async function* readFile(database: Database, scope: Scope, importId: string): AsyncGenerator<Buffer> {
  for (let part = 0; ; part++) {
    const row = await database.read(scope, (handle) => handle.row(readStatement, importId, part))
    if (row === undefined) return
    yield row.content
  }
}

const deleteStatement = statement(`delete from import_file_parts where tenant_id = $1 and import_id = $2`)

export async function deleteFile(tx: Transaction, importId: string): Promise<void> {
  await tx.run(deleteStatement, importId)
}

const abandonedStatement = statement<{ importId: string }>(
  `select p.import_id as "importId" from import_file_parts p
   where p.tenant_id = $1 and p.part = 0 and p.created_at < $2
     and not exists (select from imports i where i.tenant_id = $1 and i.id = p.import_id) limit 1`,
)

/** Returns a file whose upload began before this time and did not end. */
export async function findAbandoned(handle: Handle, before: string): Promise<string | undefined> {
  return (await handle.row(abandonedStatement, before))?.importId
}
