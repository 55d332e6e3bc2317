import { v7 } from 'uuid'
import type { Transaction } from '../database/database.ts'
import { timeOfId } from '../database/id.ts'
import type { MigrationSource } from '../database/migrations.ts'
import { insert } from './store.ts'

export { eventJobs } from './relay.ts'

export const eventsMigrations: MigrationSource = {
  module: 'events',
  folder: new URL('./migrations/', import.meta.url),
}

export type EventRecord = {
  /** `<contract>.<noun>.<what happened>`, e.g. `authorization.grant.created`. */
  type: string
  /** `kind/id` */
  subject: string
  /** Never secrets. */
  data: Record<string, unknown>
}

/** The topic that is signalled for every event. */
export const eventsTopic = 'events'

/**
 * Says in the transaction of a change that it happened; told to the world after the commit. Call it after the change:
 * then the events of one thing are in the order of its changes, because the second waits for the first one's lock.
 */
export async function emit(tx: Transaction, { type, subject, data }: EventRecord): Promise<void> {
  const id = v7()
  await insert(tx, { id, time: new Date(timeOfId(id)).toISOString(), type, subject, data })
  tx.signal(eventsTopic)
}
