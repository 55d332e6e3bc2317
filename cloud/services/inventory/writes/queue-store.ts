import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { lowestIdAt } from '../../../platform/database/id.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import { createYield, priorities } from '../../../platform/event-loop.ts'
import type { Payloads, QueuedWrite } from './write.ts'

const dayMs = 86_400_000

/** A write in the form in which it is inserted. The payload is JSON text. */
export type NewWrite = Omit<QueuedWrite, 'payload'> & { payload: string; items: number; requestId: string }

type WriteRow = Omit<NewWrite, 'roles' | 'grants'> & { place: number; roles: string; grants: string | null }

const stored = rowset<WriteRow>({
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

/** Inserts accepted writes. They are applied in the order of the array. */
export async function insertWrites(tx: Transaction, writes: readonly NewWrite[]): Promise<void> {
  const rows = writes.map((write, place) => ({
    ...write,
    place,
    roles: jsonText(write.roles),
    grants: write.grants === null ? null : jsonText(write.grants),
  }))
  await tx.run(insertStatement, ...stored.values(rows))
}

/** A queued write without its payload. */
export type QueueEntry = Omit<QueuedWrite, 'payload'>

type StoredEntry = Omit<QueueEntry, 'roles'> & { roles: string }

/**
 * Locks only the writes of the batch. The next batch can then lock the writes that follow, while this batch is saved. The
 * first write is always part of the batch. If another transaction applies all these writes during the wait for the lock,
 * the statement returns one row without a write, so that the number of waiting writes is known.
 */
const queueStatement = statement<(StoredEntry | { [Name in keyof StoredEntry]: null }) & { waiting: number }>(
  `with head as materialized (
     select id, row_number() over next as place, sum(items) over next as items, sum(bytes) over next as bytes
     from (select id, accepted_at, items, octet_length(payload) as bytes from operations
           where tenant_id = $1 and state = 'queued' and id <> all($5::uuid[]) order by accepted_at, id limit $2) as queued
     window next as (order by accepted_at, id)
   )
   select q.id, q.kind, q.principal_id as "principalId", q.principal_kind as "principalKind",
          q.principal_name as "principalName", q.roles, q.grants, w.waiting
   from (select count(*) as waiting from head) as w
   left join (
     select id, kind, principal_id, principal_kind, principal_name, roles, grants, accepted_at from operations
     where tenant_id = $1 and state = 'queued'
       and id = any(array(select h.id from head h where h.place = 1 or (h.items <= $3 and h.bytes <= $4)))
     order by accepted_at, id for update) as q on true
   order by q.accepted_at, q.id`,
)

const payloadsStatement = statement<{ id: string; payload: string }>(
  'select id, payload from operations where tenant_id = $1 and id = any($2::uuid[])',
)

/** The limits of one batch. */
export type BatchLimits = { writes: number; items: number; bytes: number }

/** The writes at the head of a queue. */
export type QueueHead = {
  entries: QueueEntry[]
  /** Whether more writes may be queued: they do not fit into the limits, or another transaction had locked the first ones. */
  hasMore: boolean
}

/**
 * Locks the oldest queued writes until the end of the transaction, except those that another transaction of this process
 * has taken. A second applier waits for the lock and then finds that the writes are applied. A write that is larger than
 * the limits is returned alone.
 */
export async function lockQueue(
  tx: Transaction,
  limits: BatchLimits,
  taken: readonly string[] = [],
): Promise<QueueHead> {
  const { writes, items, bytes } = limits
  const rows = await tx.rows(queueStatement, writes, items, bytes, arrayOf('uuid', taken))
  const waiting = rows[0]?.waiting ?? 0
  const entries = rows.flatMap(({ waiting: _, ...row }) =>
    row.id === null ? [] : [{ ...row, roles: JSON.parse(row.roles) }],
  )
  return { entries, hasMore: waiting > entries.length || waiting === writes }
}

/** Adds the payloads to the writes. The payloads come from the cache of this process, or else from the database. */
export async function withPayloads(
  tx: Transaction,
  entries: readonly QueueEntry[],
  cached: (id: string) => unknown,
): Promise<QueuedWrite[]> {
  const payloads = new Map(entries.map(({ id }) => [id, cached(id)]))
  const missing = entries.filter(({ id }) => payloads.get(id) === undefined).map(({ id }) => id)
  const rows = missing.length === 0 ? [] : await tx.rows(payloadsStatement, arrayOf('uuid', missing))
  const yieldTurn = createYield(tx.tenantId, { priority: priorities.decision })
  for (const { id, payload } of rows) {
    await yieldTurn()
    payloads.set(id, JSON.parse(payload))
  }
  return entries.map((entry) => queuedWrite(entry, payloads.get(entry.id)))
}

/**
 * Returns a queued write with its payload. The kind and the payload were stored together, so the kind determines the type
 * of the payload.
 */
function queuedWrite(entry: QueueEntry, payload: unknown): QueuedWrite {
  return { ...entry, payload: payload as Payloads[typeof entry.kind] } as QueuedWrite
}

export const anyQueued = statement(
  `select id from operations where tenant_id = $1 and state = 'queued' order by accepted_at, id limit 1`,
)

/** The size of a tenant's queue: the number of items in its writes, and the bytes of their payloads. */
export type QueueSize = { items: number; bytes: number }

const sizeStatement = statement<QueueSize>(
  `select coalesce(sum(items), 0)::bigint as items, coalesce(sum(bytes), 0)::bigint as bytes
   from (select items, octet_length(payload) as bytes
         from operations where tenant_id = $1 and state = 'queued' limit $2) as queued`,
)

/**
 * Returns the size of the queue. Each write has at least one item, so reading `limit` rows is enough to know that the queue
 * is full.
 */
export async function queueSize(handle: Handle, limit: number): Promise<QueueSize> {
  return (await handle.row(sizeStatement, limit)) ?? { items: 0, bytes: 0 }
}

/** The final state of a write. */
export type WriteOutcome = { id: string; state: 'finished' | 'failed'; result: unknown }

const finished = rowset<Omit<WriteOutcome, 'result'> & { result: string; endedAt: string }>({
  id: 'uuid',
  state: 'text',
  result: 'printed',
  endedAt: 'timestamptz',
})
/**
 * Stores final states and removes the payloads. Only queued writes need their payload, and it is larger than the rest of
 * the row. The clock of this process may be behind the clock of the database, so the statement never stores an end before
 * the acceptance.
 */
const finishStatement = statement(
  `update operations o
   set state = r.state, result = r.result, payload = '', modified_at = greatest(r."endedAt", o.accepted_at)
   from ${finished.rows}
   where o.tenant_id = $1 and o.id = r.id and o.state = 'queued'`,
)

export async function finishWrites(tx: Transaction, outcomes: readonly WriteOutcome[]): Promise<void> {
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

/** Deletes the status of old writes. Ids contain the time of acceptance, so no index on a time column is needed. */
export function pruneWrites(handle: Handle, { days, limit }: { days: number; limit: number }): Promise<number> {
  return handle.run(pruneStatement, lowestIdAt(Date.now() - days * dayMs), limit)
}
