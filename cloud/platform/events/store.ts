import type { Handle, Transaction } from '../database/database.ts'
import { jsonText, storableText } from '../database/json.ts'
import { rowset } from '../database/rowset.ts'
import { statement } from '../database/statement.ts'

export type EventRow = {
  id: string
  position: number
  type: string
  subject: string
  time: string
  data: Record<string, unknown>
}

/** An event to insert. `ordinal` orders the events that wait for a position. */
export type NewEvent = Omit<EventRow, 'position'> & { position: number | null; ordinal: number }

const insertStatement = statement(
  `insert into events (tenant_id, id, time, type, subject, data, ordinal) values ($1, $2, $3, $4, $5, $6::json, $7)`,
)

export async function insert(tx: Transaction, event: Omit<NewEvent, 'position'>): Promise<void> {
  const { id, time, type, subject, data, ordinal } = event
  await tx.run(insertStatement, id, time, type, storableText(subject), jsonText(data), ordinal)
}

const lastOrdinalStatement = statement<{ last: number }>(
  `select coalesce(max(ordinal), 0) as last from events where tenant_id = $1 and position is null`,
)

/**
 * Returns the next ordinal of the tenant, which is a Lamport clock. It is larger than the ordinal of every committed
 * event that waits for a position. Ids cannot order these events, because ids contain the clocks of different hosts.
 * Call this function after the change that the event describes. The events of earlier changes of the same resource are
 * then committed.
 */
export async function nextOrdinal(tx: Transaction): Promise<number> {
  return ((await tx.row(lastOrdinalStatement))?.last ?? 0) + 1
}

/** An event with its data as JSON text. */
export type PrintedEvent = Omit<NewEvent, 'data'> & { data: string }

const newEvents = rowset<PrintedEvent>({
  id: 'uuid',
  position: 'bigint',
  time: 'timestamptz',
  type: 'text',
  subject: 'text',
  data: 'json',
  ordinal: 'bigint',
})
const insertAllStatement = statement(
  `insert into events (tenant_id, id, position, time, type, subject, data, ordinal)
   select $1, id, position, time, type, subject, data, ordinal from ${newEvents.rows}
   returning ordinal`,
)

export async function insertAll(tx: Transaction, events: readonly PrintedEvent[]): Promise<void> {
  if (events.length > 0) await tx.run(insertAllStatement, ...newEvents.values(events))
}

const makePositionStatement = statement(
  `insert into event_positions (tenant_id, last) values ($1, 0) on conflict (tenant_id) do nothing`,
)
const lockPositionStatement = statement<{ last: number }>(
  `select last from event_positions where tenant_id = $1 for update`,
)

/**
 * Locks the last position until the end of the transaction, so that one relay runs at a time. Returns undefined if no
 * event has a position yet.
 */
export async function lockPosition(tx: Transaction): Promise<number | undefined> {
  return (await tx.row(lockPositionStatement))?.last
}

export async function createPosition(tx: Transaction): Promise<void> {
  await tx.run(makePositionStatement)
}

const waitingStatement = statement<{ id: string }>(
  `select id from events where tenant_id = $1 and position is null order by ordinal, id limit $2`,
)

export async function waiting(tx: Transaction, limit: number): Promise<string[]> {
  return (await tx.rows(waitingStatement, limit)).map((row) => row.id)
}

export const anyWaiting = statement(
  `select id from events where tenant_id = $1 and position is null order by ordinal, id limit 1`,
)

const places = rowset<{ id: string; position: number }>({ id: 'uuid', position: 'bigint' })
const placeStatement = statement(
  `update events set position = r.position from ${places.rows}
   where tenant_id = $1 and events.id = r.id and events.position is null`,
)

export function place(tx: Transaction, placed: readonly { id: string; position: number }[]): Promise<number> {
  return tx.run(placeStatement, ...places.values(placed))
}

const movePositionStatement = statement(`update event_positions set last = $2 where tenant_id = $1`)

export async function movePosition(tx: Transaction, last: number): Promise<void> {
  await tx.run(movePositionStatement, last)
}

const listStatement = statement<EventRow>(
  `select id, position, type, subject, time, data from events
   where tenant_id = $1 and position > $2 order by position limit $3`,
)

/** Returns the events after a position, in order. */
export function list(handle: Handle, { after, limit }: { after: number; limit: number }): Promise<EventRow[]> {
  return handle.rows(listStatement, after, limit)
}

const outlineStatement = statement<Pick<EventRow, 'position' | 'type' | 'subject'> & { data: EventRow['data'] | null }>(
  `select position, type, subject, case when type = any($4::text[]) then data end as data from events
   where tenant_id = $1 and position > $2 order by position limit $3`,
)

/**
 * Returns the events after a position, in order. Only events of the types in `withDataOf` have their data, because the
 * data of an asset is large and reading it takes most of the time.
 */
export function listOutlines(
  handle: Handle,
  { after, limit, withDataOf }: { after: number; limit: number; withDataOf: readonly string[] },
) {
  return handle.rows(outlineStatement, after, limit, withDataOf)
}

const extentStatement = statement<{ oldest: number | null; newest: number }>(
  `select (select min(position) from events where tenant_id = $1 and position is not null) as oldest,
          coalesce((select last from event_positions where tenant_id = $1), 0) as newest`,
)

/** Returns the oldest position that is still stored, and the newest position that was assigned. */
export async function extent(handle: Handle): Promise<{ oldest: number | null; newest: number }> {
  return (await handle.row(extentStatement)) ?? { oldest: null, newest: 0 }
}

const pruneStatement = statement(
  `delete from events where tenant_id = $1 and id = any(array(
     select id from events where tenant_id = $1 and id < $2 and position is not null order by id limit $3))`,
)

export function prune(tx: Transaction, { before, limit }: { before: string; limit: number }): Promise<number> {
  return tx.run(pruneStatement, before, limit)
}

/** A statement that returns a row if the oldest event exceeds its retention. */
export const anyOld = statement(
  `select o.id from (
     select id, time from events where tenant_id = $1 and position is not null order by position limit 1) as o
   where o.time < now() - interval '30 days'`,
)
