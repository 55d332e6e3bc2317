import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { lowestIdAt } from '../../../platform/database/id.ts'
import { statement, timePlus } from '../../../platform/database/statement.ts'

/** The statement that returns a row if the tenant has a retention period. Tenants without one need no run. */
export const retentionPending = statement(
  `select tenant_id from inventory_settings where tenant_id = $1 and history_days is not null`,
)

const moveStatement = statement<{ historyFrom: string }>(
  `update inventory_settings
   set history_from = greatest(history_from, ${timePlus('$2::timestamptz', 'make_interval(days => -history_days)')})
   where tenant_id = $1 and history_days is not null
   returning history_from as "historyFrom"`,
)

/**
 * Moves the start of the readable history forward to `now` minus the retention period. It never moves the start back.
 * Returns `undefined` if the tenant has no retention period.
 */
export async function moveHistoryFrom(tx: Transaction, now: string): Promise<string | undefined> {
  return (await tx.row(moveStatement, now))?.historyFrom
}

const historyFromStatement = statement<{ historyFrom: string }>(
  `select history_from as "historyFrom" from inventory_settings where tenant_id = $1 and history_from > $2`,
)

/** Returns the start of the readable history if `at` is before it. */
export async function findHistoryFromAfter(handle: Handle, at: string): Promise<string | undefined> {
  return (await handle.row(historyFromStatement, at))?.historyFrom
}

const prunedStatement = statement<{ prunedTo: string | null }>(
  `select pruned_to as "prunedTo" from inventory_settings where tenant_id = $1 for update`,
)

/**
 * Returns the time up to which history is deleted. Locks the settings row, so that two processes do not delete the same
 * range.
 */
export async function lockPrunedTo(tx: Transaction): Promise<string | null> {
  return (await tx.row(prunedStatement))?.prunedTo ?? null
}

const rangeEndStatement = statement<{ time: string }>(
  `select max(time) as time from (
     select h.time from asset_history h
     where h.tenant_id = $1 and h.time > coalesce($2::timestamptz, '-infinity') and h.time <= $3
     order by h.time limit $4) as next`,
)

/** Returns the end of the next time range that has about `changes` changes. Returns `undefined` when no change is left. */
export async function findRangeEnd(
  handle: Handle,
  { after, until, changes }: { after: string | null; until: string; changes: number },
): Promise<string | undefined> {
  return (await handle.row(rangeEndStatement, after, until, changes))?.time ?? undefined
}

/**
 * Selects, for each asset that changed in a time range, the last version that is no longer needed at the end of the range.
 */
const expiredStatement = statement<{ assetId: string; upTo: number }>(
  `select distinct on (asset_id) asset_id as "assetId",
          case when change = 'deleted' then version else version - 1 end as "upTo"
   from asset_history
   where tenant_id = $1 and time > coalesce($2::timestamptz, '-infinity') and time <= $3
   order by asset_id, version desc`,
)
const clearStatement = statement(
  `delete from asset_history h using unnest($2::uuid[], $3::bigint[]) as expired (asset_id, up_to)
   where h.tenant_id = $1 and h.asset_id = expired.asset_id and h.version <= expired.up_to`,
)
const prunedToStatement = statement('update inventory_settings set pruned_to = $2 where tenant_id = $1')

/**
 * Deletes the history before the end of a time range. The last change of an asset before that time stays, because it is the
 * asset's state at that time. If this change is the deletion of the asset, it is deleted too.
 */
export async function clearHistory(
  tx: Transaction,
  { after, until }: { after: string | null; until: string },
): Promise<void> {
  const expired = await tx.rows(expiredStatement, after, until)
  const ids = expired.map(({ assetId }) => assetId)
  await tx.run(
    clearStatement,
    ids,
    expired.map(({ upTo }) => upTo),
  )
  await tx.run(prunedToStatement, until)
}

const endedStatement = statement(
  `delete from ended_relations where tenant_id = $1 and id in (
     select id from ended_relations where tenant_id = $1 and ended_at <= $2 order by ended_at limit $3)`,
)

export function clearEnded(tx: Transaction, { until, limit }: { until: string; limit: number }): Promise<number> {
  return tx.run(endedStatement, until, limit)
}

const mergesStatement = statement(
  `delete from asset_merges where tenant_id = $1 and id in (
     select id from asset_merges where tenant_id = $1 and id < $2 order by id limit $3)`,
)

/**
 * Deletes merges up to a time. Call this function before `clearEnded`, because undoing a merge needs the relations that
 * ended with the merge. The statement compares ids, because the id of a merge begins with its time.
 */
export function clearMerges(tx: Transaction, { until, limit }: { until: string; limit: number }): Promise<number> {
  return tx.run(mergesStatement, lowestIdAt(Date.parse(until) + 1), limit)
}
