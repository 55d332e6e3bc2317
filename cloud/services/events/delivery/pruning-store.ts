import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'

/** A statement that returns a row if the log of a tenant is not empty. The order makes the database use an index. */
export const anyLogged = statement(`select id from event_deliveries where tenant_id = $1 order by id limit 1`)

const nextLogStatement = statement<{ subscriptionId: string; exists: boolean }>(
  `select d.subscription_id as "subscriptionId", exists (
     select 1 from event_subscriptions as s where s.tenant_id = $1 and s.id = d.subscription_id) as "exists"
   from event_deliveries as d where d.tenant_id = $1 and d.subscription_id > $2 order by d.subscription_id limit 1`,
)

/** Returns the next subscription with a log, in the order of the ids, and whether the subscription still exists. */
export function nextLog(handle: Handle, after: string) {
  return handle.row(nextLogStatement, after)
}

const limitStatement = statement<{ id: string }>(
  `select id from event_deliveries where tenant_id = $1 and subscription_id = $2 order by id desc offset $3 limit 1`,
)

/** Returns the newest delivery above the number of deliveries that a log keeps. */
export async function firstAbove(handle: Handle, subscriptionId: string, count: number): Promise<string | undefined> {
  return (await handle.row(limitStatement, subscriptionId, count))?.id
}

/** Rows of a log from `after` to `before`, both excluded. */
export type LogRange = { subscriptionId: string; after: string; before: string; limit: number }

const range = `tenant_id = $1 and subscription_id = $2 and id > $3 and id < $4`
const pruneEndedStatement = statement<{ id: string }>(
  `delete from event_deliveries where tenant_id = $1 and id = any(array(
     select id from event_deliveries
     where ${range} and not is_dead_letter and (state in ('succeeded', 'skipped') or position is null)
     order by id limit $5))
   returning id`,
)
const pruneDeadStatement = statement<{ id: string }>(
  `delete from event_deliveries where tenant_id = $1 and id = any(array(
     select id from event_deliveries where ${range} and is_dead_letter order by id limit $5))
   returning id`,
)
const pruneAllStatement = statement<{ id: string }>(
  `delete from event_deliveries where tenant_id = $1 and id = any(array(
     select id from event_deliveries where ${range} order by id limit $5))
   returning id`,
)

/** Selects the rows to delete: delivered and skipped events and test events, or dead letters, or all. */
export type PrunedRows = 'ended' | 'dead letters' | 'all'

const statements = { ended: pruneEndedStatement, 'dead letters': pruneDeadStatement, all: pruneAllStatement }

/** Deletes rows of a log, oldest first. Returns their ids. */
export async function prune(
  tx: Transaction,
  rows: PrunedRows,
  { subscriptionId, after, before, limit }: LogRange,
): Promise<string[]> {
  const deleted = await tx.rows(statements[rows], subscriptionId, after, before, limit)
  return deleted.map(({ id }) => id)
}
