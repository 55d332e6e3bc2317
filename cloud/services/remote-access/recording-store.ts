import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'
import type { SealedColumn } from '../../platform/secrets/sealed-column.ts'

/** Statements on the parts of recordings. */

export const sealedParts: SealedColumn = {
  of: 'tenant',
  table: 'remote_recording_parts',
  column: 'sealed',
  key: ['session_id', 'number'],
  belongsTo: ({ session_id = '', number = '' }) => partOwner(session_id, Number(number)),
}

/** Returns the owner to which a sealed part is bound. A part cannot be moved to another session or place. */
export function partOwner(sessionId: string, number: number): string {
  return `remote-recording/${sessionId}/${number}`
}

const insertStatement = statement(
  `insert into remote_recording_parts (tenant_id, session_id, number, sealed, chain) values ($1, $2, $3, $4, $5)`,
)
const countStatement = statement(
  `update remote_sessions s set recording_bytes = s.recording_bytes + $3, recording_parts = s.recording_parts + 1,
     recording_chain = $4
   where s.tenant_id = $1 and s.id = $2`,
)

export type NewPart = { sessionId: string; number: number; sealed: Buffer; chain: Buffer; bytes: number }

/** Stores the next part of a recording. The caller holds the lock of the session. */
export async function insertPart(tx: Transaction, part: NewPart): Promise<void> {
  await tx.run(insertStatement, part.sessionId, part.number, part.sealed, part.chain)
  await tx.run(countStatement, part.sessionId, part.bytes, part.chain)
}

export type PartRow = { sealed: Buffer; chain: Buffer }

const findStatement = statement<PartRow>(
  `select p.sealed, p.chain from remote_recording_parts p
   where p.tenant_id = $1 and p.session_id = $2 and p.number = $3`,
)

export function findPart(handle: Handle, sessionId: string, number: number): Promise<PartRow | undefined> {
  return handle.row(findStatement, sessionId, number)
}

const storedStatement = statement<{ bytes: number }>(
  `select coalesce(sum(s.recording_bytes), 0)::bigint as bytes from remote_sessions s
   where s.tenant_id = $1 and s.recording_parts > 0`,
)

/** Returns the size of all stored recordings of the tenant. */
export async function storedBytes(handle: Handle): Promise<number> {
  return (await handle.row(storedStatement))?.bytes ?? 0
}

const deleteStatement = statement<{ number: number }>(
  `delete from remote_recording_parts p where p.tenant_id = $1 and p.session_id = $2 and p.number = any(array(
     select o.number from remote_recording_parts o where o.tenant_id = $1 and o.session_id = $2
     order by o.number limit $3))
   returning p.number`,
)

/** Deletes up to `limit` parts of a recording. Returns whether no part is left. */
export async function deleteParts(tx: Transaction, sessionId: string, limit: number): Promise<boolean> {
  return (await tx.rows(deleteStatement, sessionId, limit)).length < limit
}
