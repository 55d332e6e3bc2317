import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { v7 } from 'uuid'
import type { Database, Scope } from '../database/database.ts'
import type { Owner } from '../database/owner-transaction.ts'
import { statement } from '../database/statement.ts'
import type { Safe } from '../secrets/safe.ts'
import type { SealedColumn } from '../secrets/sealed-column.ts'

/** A table with a sealed column, like the tables of services. */
export const notes: SealedColumn = {
  of: 'tenant',
  table: 'notes',
  column: 'sealed',
  key: ['id'],
  belongsTo: ({ id }) => `note/${id}`,
}

export async function makeNotes(owner: Owner, appRole: string): Promise<void> {
  await owner.query(
    `create table notes (tenant_id uuid not null, id uuid not null, sealed bytea not null, primary key (tenant_id, id));
     alter table notes enable row level security;
     create policy tenant on notes using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
     grant select, insert, update on notes to ${owner.escapeIdentifier(appRole)}`,
  )
}

const insertNote = statement('insert into notes (tenant_id, id, sealed) values ($1, $2, $3)')
const noteById = statement<{ sealed: Buffer }>('select sealed from notes where tenant_id = $1 and id = $2')
const changeNote = statement('update notes set sealed = $3 where tenant_id = $1 and id = $2')

type Parts = { database: Database; safe: Safe }

export async function writeNote({ database, safe }: Parts, scope: Scope, text: string): Promise<string> {
  return database.transaction({ tenantId: scope.tenantId }, async (tx) => {
    const id = v7()
    await tx.run(insertNote, id, await safe.seal(tx, text, `note/${id}`))
    return id
  })
}

export async function rewriteNote({ database, safe }: Parts, scope: Scope, note: { id: string; text: string }) {
  await database.transaction({ tenantId: scope.tenantId }, async (tx) => {
    await tx.run(changeNote, note.id, await safe.seal(tx, note.text, `note/${note.id}`))
  })
}

export async function sealedNote({ database }: Pick<Parts, 'database'>, scope: Scope, id: string): Promise<Buffer> {
  const row = await database.read({ tenantId: scope.tenantId }, (handle) => handle.row(noteById, id))
  return row?.sealed ?? Buffer.alloc(0)
}

export async function readNote(parts: Parts, { tenantId }: Scope, id: string): Promise<string> {
  const opened = await parts.safe.open({ tenantId }, await sealedNote(parts, { tenantId }, id), `note/${id}`)
  return opened.toString()
}

/** Creates a file with a master key in its own folder. */
export async function keyFile(key: string) {
  const folder = await mkdtemp(join(tmpdir(), 'millwright-keys-'))
  const path = join(folder, 'master.key')
  await writeFile(path, `${key}\n`, { mode: 0o600 })
  return { path, folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}
