import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on tickets and on the cookies of web sessions. Both are stored as hashes. */

const insertStatement = statement(
  `insert into remote_tickets (tenant_id, hash, session_id, principal_id, expires_at) values ($1, $2, $3, $4, $5)`,
)

export type TicketRow = { hash: Buffer; sessionId: string; principalId: string; expiresAt: string }

export async function insertTicket(tx: Transaction, ticket: TicketRow): Promise<void> {
  await tx.run(insertStatement, ticket.hash, ticket.sessionId, ticket.principalId, ticket.expiresAt)
}

const redeemStatement = statement<{ sessionId: string; principalId: string; expiresAt: string }>(
  `delete from remote_tickets t where t.tenant_id = $1 and t.hash = $2 and t.session_id = $3
   returning t.session_id as "sessionId", t.principal_id as "principalId", t.expires_at as "expiresAt"`,
)

/** Deletes a ticket of a session and returns it. Of concurrent calls, only one returns the ticket. */
export function redeemTicket(tx: Transaction, hash: Buffer, sessionId: string) {
  return tx.row(redeemStatement, hash, sessionId)
}

const countStatement = statement<{ tickets: number }>(
  `select count(*) as tickets from remote_tickets t where t.tenant_id = $1 and t.session_id = $2 and t.expires_at > $3`,
)

/** Returns the number of valid tickets of a session. */
export async function countTickets(handle: Handle, sessionId: string, now: string): Promise<number> {
  return (await handle.row(countStatement, sessionId, now))?.tickets ?? 0
}

/** A statement that returns a row if a ticket has expired. */
export const anyExpiredTicket = statement<{ hash: Buffer }>(
  `select t.hash from remote_tickets t where t.tenant_id = $1 and t.expires_at < now() limit 1`,
)

const deleteExpiredStatement = statement(`delete from remote_tickets t where t.tenant_id = $1 and t.expires_at < $2`)

export async function deleteExpiredTickets(tx: Transaction, now: string): Promise<void> {
  await tx.run(deleteExpiredStatement, now)
}

const insertEntryStatement = statement(
  `insert into remote_web_entries (tenant_id, session_id, hash, created_at) values ($1, $2, $3, $4)
   on conflict do nothing`,
)

/** Stores the cookie with which a browser entered a web session. */
export async function insertWebEntry(
  tx: Transaction,
  { sessionId, hash, now }: { sessionId: string; hash: Buffer; now: string },
): Promise<void> {
  await tx.run(insertEntryStatement, sessionId, hash, now)
}

const findEntryStatement = statement<{ createdAt: string }>(
  `select e.created_at as "createdAt" from remote_web_entries e
   where e.tenant_id = $1 and e.session_id = $2 and e.hash = $3`,
)

export async function hasWebEntry(handle: Handle, sessionId: string, hash: Buffer): Promise<boolean> {
  return (await handle.row(findEntryStatement, sessionId, hash)) !== undefined
}

const deleteTicketsStatement = statement(`delete from remote_tickets t where t.tenant_id = $1 and t.session_id = $2`)
const deleteEntriesStatement = statement(
  `delete from remote_web_entries e where e.tenant_id = $1 and e.session_id = $2`,
)

/** Deletes the tickets and the cookies of an ended session. */
export async function deleteEntries(tx: Transaction, sessionId: string): Promise<void> {
  await tx.run(deleteTicketsStatement, sessionId)
  await tx.run(deleteEntriesStatement, sessionId)
}
