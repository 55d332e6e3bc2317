import type { MonitoredState } from '@millwright/api/monitoring.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import { endOfResult } from './result.ts'

/** Statements on the states of monitored assets over time. A row is written only when the state of an asset changes. */

export type AvailabilityRow = { state: MonitoredState; fromAt: string; toAt: string | null }

const currentStatement = statement<{ assetId: string; state: MonitoredState }>(
  `select asset_id as "assetId", state from asset_availability
   where tenant_id = $1 and asset_id = any($2::uuid[]) and to_at is null order by asset_id for update`,
)
type EndedRow = { assetId: string; toAt: string }
const endedRows = rowset<EndedRow>({ assetId: 'uuid', toAt: 'timestamptz' })
const endStatement = statement(
  `update asset_availability a set to_at = greatest(r."toAt", a.from_at) from ${endedRows.rows}
   where a.tenant_id = $1 and a.asset_id = r."assetId" and a.to_at is null`,
)
type NewRow = { assetId: string; fromAt: string; state: MonitoredState }
const newRows = rowset<NewRow>({ assetId: 'uuid', fromAt: 'timestamptz', state: 'text' })
const insertStatement = statement(
  `insert into asset_availability (tenant_id, asset_id, from_at, state)
   select $1, r."assetId", r."fromAt", r.state from ${newRows.rows} on conflict do nothing`,
)

/** `lastAt` is the time of the result before this one, of any monitoring. */
export type NewState = { assetId: string; state: MonitoredState; lastAt: string | null }

/**
 * Stores the states of assets at a time. Assets whose state is the same as before are left out, unless the result before is too
 * old: then the old state ends, and the time without a result does not count.
 */
export async function putStates(tx: Transaction, states: readonly NewState[], now: string): Promise<void> {
  if (states.length === 0) return
  const ids = states.map(({ assetId }) => assetId)
  const current = new Map(
    (await tx.rows(currentStatement, arrayOf('uuid', ids))).map(({ assetId, state }) => [assetId, state]),
  )
  const changed = states.filter(
    ({ assetId, state, lastAt }) => current.get(assetId) !== state || (lastAt !== null && endOfResult(lastAt) < now),
  )
  if (changed.length === 0) return
  const ended = changed
    .filter(({ assetId }) => current.has(assetId))
    .map(({ assetId, lastAt }) => ({ assetId, toAt: endAt(lastAt, now) }))
    .toSorted(byAsset)
  if (ended.length > 0) await tx.run(endStatement, ...endedRows.values(ended))
  const rows = changed.map(({ assetId, state }) => ({ assetId, state, fromAt: now })).toSorted(byAsset)
  await tx.run(insertStatement, ...newRows.values(rows))
}

/** Returns when a state ends whose last result is from `lastAt`. */
function endAt(lastAt: string | null, now: string): string {
  const end = lastAt === null ? now : endOfResult(lastAt)
  return end < now ? end : now
}

function byAsset(a: { assetId: string }, b: { assetId: string }): number {
  return a.assetId < b.assetId ? -1 : 1
}

export const listStatement = statement<AvailabilityRow>(
  `select state, from_at as "fromAt", to_at as "toAt" from asset_availability
   where tenant_id = $1 and asset_id = $2 and (to_at is null or to_at > $3::timestamptz)
   order by from_at desc limit $4`,
)

/** Returns the latest states of an asset since a time, newest first. */
export function listStates(handle: Handle, assetId: string, since: string, limit: number): Promise<AvailabilityRow[]> {
  return handle.rows(listStatement, assetId, since, limit)
}

const endOfAssetsStatement = statement(
  `update asset_availability a set to_at = greatest(r."toAt", a.from_at) from ${endedRows.rows}
   where a.tenant_id = $1 and a.asset_id = r."assetId" and a.to_at is null
     and not exists (select from monitoring_results t where t.tenant_id = $1 and t.asset_id = r."assetId")`,
)

/** Ends the current state of those of the assets that no monitoring checks. `checkedAt` is the time of their last result. */
export async function endStates(
  tx: Transaction,
  assets: readonly { assetId: string; checkedAt: string | null }[],
  now: string,
): Promise<void> {
  if (assets.length === 0) return
  const rows = assets.map(({ assetId, checkedAt }) => ({ assetId, toAt: endAt(checkedAt, now) })).toSorted(byAsset)
  await tx.run(endOfAssetsStatement, ...endedRows.values(rows))
}

/** Returns a row if a state ended before the retention. */
export const anyExpired = statement(
  `select asset_id from asset_availability where tenant_id = $1 and to_at < now() - interval '90 days' limit 1`,
)
const pruneStatement = statement<{ assetId: string }>(
  `delete from asset_availability where tenant_id = $1 and to_at < $2::timestamptz returning asset_id as "assetId"`,
)

/** Deletes the states that ended before a time. Returns their number. */
export async function deleteStates(tx: Transaction, before: string): Promise<number> {
  return (await tx.rows(pruneStatement, before)).length
}
