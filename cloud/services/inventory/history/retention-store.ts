import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { lowestIdAt } from '../../../platform/database/id.ts'
import { statement } from '../../../platform/database/statement.ts'

/** Yields a row where the past is not kept for ever: other tenants need no run. */
export const forgetful = statement(
  `select tenant_id from inventory_settings where tenant_id = $1 and history_days is not null`,
)

const moveStatement = statement<{ historyFrom: string }>(
  `update inventory_settings
   set history_from = greatest(history_from, $2::timestamptz - make_interval(days => history_days))
   where tenant_id = $1 and history_days is not null
   returning history_from as "historyFrom"`,
)

/** From when on the past is kept, at this time; nothing when it is kept for ever. It never moves back. */
export async function moveHistoryFrom(tx: Transaction, now: string): Promise<string | undefined> {
  return (await tx.row(moveStatement, now))?.historyFrom
}

const goneStatement = statement<{ historyFrom: string }>(
  `select history_from as "historyFrom" from inventory_settings where tenant_id = $1 and history_from > $2`,
)

/** From when on the past is kept, if this time is before. */
export async function findHistoryFromAfter(handle: Handle, at: string): Promise<string | undefined> {
  return (await handle.row(goneStatement, at))?.historyFrom
}

const prunedStatement = statement<{ prunedTo: string | null }>(
  `select pruned_to as "prunedTo" from inventory_settings where tenant_id = $1 for update`,
)

/** How far the history is cleared; held, so that nobody clears the same. */
export async function lockPrunedTo(tx: Transaction): Promise<string | null> {
  return (await tx.row(prunedStatement))?.prunedTo ?? null
}

const stretchStatement = statement<{ time: string }>(
  `select max(time) as time from (
     select h.time from asset_history h
     where h.tenant_id = $1 and h.time > coalesce($2::timestamptz, '-infinity') and h.time <= $3
     order by h.time limit $4) as next`,
)

/** The end of the next stretch of history with about so many changes; nothing when there are no more. */
export async function endOfStretch(
  handle: Handle,
  { after, until, changes }: { after: string | null; until: string; changes: number },
): Promise<string | undefined> {
  return (await handle.row(stretchStatement, after, until, changes))?.time ?? undefined
}

/** Up to which version the last change of each asset in a stretch of time makes the history dispensable. */
const spentStatement = statement<{ assetId: string; upTo: number }>(
  `select distinct on (asset_id) asset_id as "assetId",
          case when change = 'deleted' then version else version - 1 end as "upTo"
   from asset_history
   where tenant_id = $1 and time > coalesce($2::timestamptz, '-infinity') and time <= $3
   order by asset_id, version desc`,
)
const clearStatement = statement(
  `delete from asset_history h using unnest($2::uuid[], $3::bigint[]) as spent (asset_id, up_to)
   where h.tenant_id = $1 and h.asset_id = spent.asset_id and h.version <= spent.up_to`,
)
const notedStatement = statement('update inventory_settings set pruned_to = $2 where tenant_id = $1')

/**
 * Clears what lies before the end of a stretch of time. The last change of an asset before it stays, for it says what
 * the asset was at the end; of one that was deleted nothing stays.
 */
export async function clearHistory(
  tx: Transaction,
  { after, until }: { after: string | null; until: string },
): Promise<void> {
  const spent = await tx.rows(spentStatement, after, until)
  const ids = spent.map(({ assetId }) => assetId)
  await tx.run(
    clearStatement,
    ids,
    spent.map(({ upTo }) => upTo),
  )
  await tx.run(notedStatement, until)
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
 * Without the relations that ended by it a merge cannot be undone, so it goes before them. Ids are made of the time of
 * the merge.
 */
export function clearMerges(tx: Transaction, { until, limit }: { until: string; limit: number }): Promise<number> {
  return tx.run(mergesStatement, lowestIdAt(Date.parse(until) + 1), limit)
}
