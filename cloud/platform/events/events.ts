import type { Transaction } from '../database/database.ts'
import { newId, timeOfId } from '../database/id.ts'
import { jsonText } from '../database/json.ts'
import type { MigrationSource } from '../database/migrations.ts'
import { eventsTopic, insertPlaced } from './relay.ts'
import { insert, insertAll, nextOrdinal } from './store.ts'

export { eventTasks, placedTopic } from './relay.ts'

export const eventsMigrations: MigrationSource = {
  module: 'events',
  folder: new URL('./migrations/', import.meta.url),
}

export type EventRecord = {
  /** The type in the form `<contract>.<noun>.<action>`, for example `authorization.grant.created`. */
  type: string
  /** The subject in the form `kind/id`. */
  subject: string
  /** Additional data. It must not contain secrets. */
  data: Record<string, unknown>
}

/**
 * Writes an event in the transaction of a change. The event is published after the commit. Call this function after the
 * change. The events of one resource are then in the order of its changes, because the second change waits for the lock
 * of the first one. The order does not depend on the clocks of the hosts.
 */
export async function emit(tx: Transaction, event: EventRecord): Promise<void> {
  await insert(tx, { ...rowOf(event), ordinal: await nextOrdinal(tx) })
  tx.signal(eventsTopic)
}

/** Writes the events of many changes of one transaction, in one statement. The events keep their order. */
export async function emitAll(tx: Transaction, events: readonly EventRecord[]): Promise<void> {
  if (events.length === 0) return
  const ordinal = await nextOrdinal(tx)
  await insertAll(
    tx,
    events.map((event) => ({ ...printedRow(event), position: null, ordinal })),
  )
  tx.signal(eventsTopic)
}

/**
 * Writes events as the last step of a transaction. The events get their positions at once, and can be read after the
 * commit. No other transaction of the tenant gets a position before the commit.
 */
export async function emitLast(tx: Transaction, events: readonly EventRecord[]): Promise<void> {
  if (events.length > 0) await insertPlaced(tx, events.map(printedRow))
}

function printedRow(event: EventRecord) {
  return { ...rowOf(event), data: jsonText(event.data) }
}

function rowOf({ type, subject, data }: EventRecord) {
  const id = newId()
  return { id, time: new Date(timeOfId(id)).toISOString(), type, subject, data }
}
