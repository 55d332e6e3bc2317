import type { Handle, Transaction } from '../database/database.ts'
import { jsonText } from '../database/json.ts'
import { rowset } from '../database/rowset.ts'
import { statement } from '../database/statement.ts'
import type { Content, Head, Link } from './chain.ts'

const insertStatement = statement(
  `insert into audit_entries (tenant_id, id, time, action, outcome, principal_id, principal_name, principal_kind,
                              target, request_id, address, detail)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::json)`,
)

export async function insert(tx: Transaction, entry: Omit<Content, 'tenant'>): Promise<void> {
  const { id, time, action, outcome, principal, principalName, principalKind } = entry
  const { target, requestId, address, detail } = entry
  const who = [principal, principalName, principalKind]
  await tx.run(insertStatement, id, time, action, outcome, ...who, target, requestId, address, jsonText(detail))
}

const newEntries = rowset<Omit<Content, 'tenant' | 'detail'> & { detail: string }>({
  id: 'uuid',
  time: 'timestamptz',
  action: 'text',
  outcome: 'text',
  principal: 'uuid',
  principalName: 'text',
  principalKind: 'text',
  target: 'text',
  requestId: 'text',
  address: 'text',
  detail: 'json',
})
const insertAllStatement = statement(
  `insert into audit_entries (tenant_id, id, time, action, outcome, principal_id, principal_name, principal_kind,
                              target, request_id, address, detail)
   select $1, id, time, action, outcome, principal, "principalName", "principalKind", target, "requestId", address, detail
   from ${newEntries.rows} returning outcome`,
)

export async function insertAll(tx: Transaction, entries: readonly Omit<Content, 'tenant'>[]): Promise<void> {
  if (entries.length === 0) return
  const rows = entries.map((entry) => ({ ...entry, detail: jsonText(entry.detail) }))
  await tx.run(insertAllStatement, ...newEntries.values(rows))
}

/** The columns of an entry. Their aliases are the names of the fields in the hashed JSON. */
export const contentColumns = `e.tenant_id as tenant, e.id, e.time, e.action, e.outcome, e.principal_id as principal,
  e.principal_name as "principalName", e.principal_kind as "principalKind", e.target, e.request_id as "requestId",
  e.address, e.detail`

type StoredHead = Head & { mac: Buffer }

const headColumns = `sequence, encode(hash, 'hex') as hash, mac`

const makeHeadStatement = statement(
  `insert into audit_heads (tenant_id, sequence, hash, mac) values ($1, $2, decode($3, 'hex'), $4)
   on conflict (tenant_id) do nothing`,
)
const lockHeadStatement = statement<StoredHead>(
  `select ${headColumns} from audit_heads where tenant_id = $1 for update`,
)

/**
 * Locks the head until the end of the transaction, so that two concurrent transactions cannot fork the chain.
 */
export async function lockHead(tx: Transaction, first: StoredHead): Promise<StoredHead> {
  const existing = await tx.row(lockHeadStatement)
  if (existing !== undefined) return existing
  await tx.run(makeHeadStatement, first.sequence, first.hash, first.mac)
  return (await tx.row(lockHeadStatement)) ?? first
}

const moveHeadStatement = statement(
  `update audit_heads set sequence = $2, hash = decode($3, 'hex'), mac = $4 where tenant_id = $1`,
)

export async function moveHead(tx: Transaction, head: StoredHead): Promise<void> {
  await tx.run(moveHeadStatement, head.sequence, head.hash, head.mac)
}

const headStatement = statement<StoredHead>(`select ${headColumns} from audit_heads where tenant_id = $1`)

export function findHead(handle: Handle): Promise<StoredHead | undefined> {
  return handle.row(headStatement)
}

const unsealedStatement = statement<Content>(
  `select ${contentColumns} from audit_entries e where e.tenant_id = $1 and e.sequence is null order by e.id limit $2`,
)

export function unsealed(tx: Transaction, limit: number): Promise<Content[]> {
  return tx.rows(unsealedStatement, limit)
}

export const anyUnsealed = statement(
  `select id from audit_entries where tenant_id = $1 and sequence is null order by id limit 1`,
)

const seals = rowset<Pick<Link, 'id' | 'sequence'> & { hash: Buffer }>({
  id: 'uuid',
  sequence: 'bigint',
  hash: 'bytea',
})
const sealStatement = statement(
  `update audit_entries set sequence = r.sequence, hash = r.hash from ${seals.rows}
   where tenant_id = $1 and audit_entries.id = r.id and audit_entries.sequence is null`,
)

/**
 * Seals entries and returns the number of sealed entries. It is smaller than the number of given entries only if
 * another process sealed some of them, and the lock on the head prevents that.
 */
export function seal(tx: Transaction, links: readonly Link[]): Promise<number> {
  const rows = links.map(({ id, sequence, hash }) => ({ id, sequence, hash: Buffer.from(hash, 'hex') }))
  return tx.run(sealStatement, ...seals.values(rows))
}

const sealedAfterStatement = statement<Omit<Link, 'previousHash'>>(
  `select ${contentColumns}, e.sequence, encode(e.hash, 'hex') as hash from audit_entries e
   where e.tenant_id = $1 and e.sequence > $2 and e.sequence <= $3 order by e.sequence limit $4`,
)

type Range = { after: number; upTo: number; limit: number }

export function sealedAfter(handle: Handle, { after, upTo, limit }: Range): Promise<Omit<Link, 'previousHash'>[]> {
  return handle.rows(sealedAfterStatement, after, upTo, limit)
}

const beyondHeadStatement = statement<{ sequence: number }>(
  `select e.sequence from audit_entries e
   where e.tenant_id = $1
     and e.sequence > (select coalesce(max(h.sequence), 0) from audit_heads h where h.tenant_id = $1)
   order by e.sequence limit 1`,
)

/** Finds an entry whose position is after the head of the chain. */
export async function findBeyondHead(handle: Handle): Promise<number | undefined> {
  return (await handle.row(beyondHeadStatement))?.sequence
}

const overdueStatement = statement<{ id: string }>(
  `select id from audit_entries where tenant_id = $1 and sequence is null and id < $2 order by id limit 1`,
)

export async function findOverdue(handle: Handle, before: string): Promise<string | undefined> {
  return (await handle.row(overdueStatement, before))?.id
}
