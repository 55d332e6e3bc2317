import type { GrantedRole } from '../../platform/access/rights.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { lowestIdAt } from '../../platform/database/id.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

const dayMs = 86_400_000

/** An accepted write as the applier gets it. */
export type QueuedOperation = {
  id: string
  kind: string
  payload: unknown
  principalId: string
  principalKind: string
  principalName: string
  roles: string[]
  /** Where each of the roles counts, if the token of the sender said so. */
  grants: GrantedRole[] | null
}

/** The payload is printed already. */
export type NewOperation = QueuedOperation & { payload: string; items: number; requestId: string }

type StoredOperation = Omit<NewOperation, 'roles' | 'grants'> & { place: number; roles: string; grants: string | null }

const stored = rowset<StoredOperation>({
  place: 'integer',
  id: 'uuid',
  kind: 'text',
  payload: 'printed',
  items: 'integer',
  principalId: 'uuid',
  principalKind: 'text',
  principalName: 'text',
  roles: 'printed',
  grants: 'json',
  requestId: 'text',
})
const insertStatement = statement(
  `insert into operations (tenant_id, id, accepted_at, kind, payload, items, principal_id, principal_kind, principal_name,
                           roles, grants, request_id, modified_at)
   select $1, id, "acceptedAt", kind, payload, items, "principalId", "principalKind", "principalName", roles, grants,
          "requestId", "acceptedAt"
   from (select *, clock_timestamp() + make_interval(secs => place * 0.000001) as "acceptedAt" from ${stored.rows}) as accepted
   returning id`,
)

/** In the order given, which is the order of acceptance. */
export async function insertOperations(tx: Transaction, operations: readonly NewOperation[]): Promise<void> {
  const rows = operations.map((operation, place) => ({
    ...operation,
    place,
    roles: jsonText(operation.roles),
    grants: operation.grants === null ? null : jsonText(operation.grants),
  }))
  await tx.run(insertStatement, ...stored.values(rows))
}

type Head = Omit<QueuedOperation, 'payload'>

const queueStatement = statement<Omit<Head, 'roles'> & { items: number; bytes: number; roles: string }>(
  `select id, items, octet_length(payload) as bytes, kind, principal_id as "principalId", principal_kind as "principalKind",
          principal_name as "principalName", roles, grants
   from operations where tenant_id = $1 and state = 'queued' order by accepted_at, id limit $2 for update`,
)

const payloadsStatement = statement<{ id: string; payload: string }>(
  'select id, payload from operations where tenant_id = $1 and id = any($2::uuid[])',
)

/** How many writes, about how many assets, that say how much. */
export type Batch = { operations: number; items: number; bytes: number }

/**
 * The oldest that wait, held until the end of the transaction: a second applier waits, and then finds them done. As many
 * as fit; one that is larger than a batch comes alone.
 */
export async function lockQueue(tx: Transaction, most: Batch): Promise<Head[]> {
  const waiting = await tx.rows(queueStatement, most.operations)
  const sum = { items: 0, bytes: 0 }
  const fitting = waiting.filter(({ items, bytes }, index) => {
    sum.items += items
    sum.bytes += bytes
    return index === 0 || (sum.items <= most.items && sum.bytes <= most.bytes)
  })
  return fitting.map(({ items: _, bytes: __, roles, ...head }) => ({ ...head, roles: JSON.parse(roles) }))
}

/** With what they say: as this process remembers it, else as it is stored. */
export async function withPayloads(
  tx: Transaction,
  heads: readonly Head[],
  remembered: (id: string) => unknown,
): Promise<QueuedOperation[]> {
  const payloads = new Map(heads.map(({ id }) => [id, remembered(id)]))
  const missing = heads.filter(({ id }) => payloads.get(id) === undefined).map(({ id }) => id)
  const rows = missing.length === 0 ? [] : await tx.rows(payloadsStatement, arrayOf('uuid', missing))
  for (const { id, payload } of rows) payloads.set(id, JSON.parse(payload))
  return heads.map((head) => ({ ...head, payload: payloads.get(head.id) }))
}

export const anyQueued = statement(
  `select id from operations where tenant_id = $1 and state = 'queued' order by accepted_at, id limit 1`,
)

/** Accepted writes that wait to be applied: how many assets they name, and the bytes of their payloads. */
export type QueueSize = { items: number; bytes: number }

const sizeStatement = statement<QueueSize>(
  `select coalesce(sum(items), 0)::bigint as items, coalesce(sum(bytes), 0)::bigint as bytes
   from (select items, octet_length(payload) as bytes
         from operations where tenant_id = $1 and state = 'queued' limit $2) as queued`,
)

/** The size of the queue. Each write has at least one item, so `limit` rows are enough to see that the queue is full. */
export async function queueSize(handle: Handle, limit: number): Promise<QueueSize> {
  return (await handle.row(sizeStatement, limit)) ?? { items: 0, bytes: 0 }
}

export type Outcome = { id: string; state: 'finished' | 'failed'; result: unknown }

const finished = rowset<Omit<Outcome, 'result'> & { result: string; endedAt: string }>({
  id: 'uuid',
  state: 'text',
  result: 'printed',
  endedAt: 'timestamptz',
})
/** The clock of this process may be behind the clock of the database, so a write never ends before it was accepted. */
const finishStatement = statement(
  `update operations o set state = r.state, result = r.result, modified_at = greatest(r."endedAt", o.accepted_at)
   from ${finished.rows}
   where o.tenant_id = $1 and o.id = r.id and o.state = 'queued'`,
)

export async function finishOperations(tx: Transaction, outcomes: readonly Outcome[]): Promise<void> {
  if (outcomes.length === 0) return
  const endedAt = new Date().toISOString()
  const rows = outcomes.map((outcome) => ({ ...outcome, result: jsonText(outcome.result), endedAt }))
  await tx.run(finishStatement, ...finished.values(rows))
}

export type StatusRow = {
  id: string
  state: 'queued' | 'finished' | 'failed'
  result: unknown
  principalId: string
  createdAt: string
  modifiedAt: string
}

const statusStatement = statement<Omit<StatusRow, 'result'> & { result: string | null }>(
  `select id, state, result, principal_id as "principalId", date_trunc('milliseconds', accepted_at) as "createdAt",
          modified_at as "modifiedAt"
   from operations where tenant_id = $1 and id = $2`,
)

export async function findStatus(handle: Handle, id: string): Promise<StatusRow | undefined> {
  const row = await handle.row(statusStatement, id)
  return row === undefined ? undefined : { ...row, result: row.result === null ? null : JSON.parse(row.result) }
}

const pruneStatement = statement(
  `delete from operations where tenant_id = $1 and id = any(array(
     select id from operations where tenant_id = $1 and id < $2 and state <> 'queued' order by id limit $3))`,
)

/** Ids tell when a write was accepted, so that no index is kept for its age. */
export function pruneOperations(handle: Handle, { days, limit }: { days: number; limit: number }): Promise<number> {
  return handle.run(pruneStatement, lowestIdAt(Date.now() - days * dayMs), limit)
}
