import type { MonitoredState } from '@millwright/api/monitoring.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the states of monitored assets over time. A row is written only when the state of an asset changes. */

export type AvailabilityRow = { state: MonitoredState; fromAt: string; toAt: string | null }

const currentStatement = statement<{ assetId: string; state: MonitoredState }>(
  `select asset_id as "assetId", state from asset_availability
   where tenant_id = $1 and asset_id = any($2::uuid[]) and to_at is null order by asset_id for update`,
)
const endStatement = statement(
  `update asset_availability set to_at = greatest($3::timestamptz, from_at)
   where tenant_id = $1 and asset_id = any($2::uuid[]) and to_at is null`,
)
type NewRow = { assetId: string; fromAt: string; state: MonitoredState }
const newRows = rowset<NewRow>({ assetId: 'uuid', fromAt: 'timestamptz', state: 'text' })
const insertStatement = statement(
  `insert into asset_availability (tenant_id, asset_id, from_at, state)
   select $1, r."assetId", r."fromAt", r.state from ${newRows.rows} on conflict do nothing`,
)

/** Stores the states of assets at a time. Assets whose state is the same as before are left out. */
export async function putStates(
  tx: Transaction,
  states: readonly { assetId: string; state: MonitoredState }[],
  now: string,
): Promise<void> {
  if (states.length === 0) return
  const ids = states.map(({ assetId }) => assetId)
  const current = new Map(
    (await tx.rows(currentStatement, arrayOf('uuid', ids))).map(({ assetId, state }) => [assetId, state]),
  )
  const changed = states.filter(({ assetId, state }) => current.get(assetId) !== state)
  if (changed.length === 0) return
  const ended = changed.flatMap(({ assetId }) => (current.has(assetId) ? [assetId] : []))
  if (ended.length > 0) await tx.run(endStatement, arrayOf('uuid', ended), now)
  const rows = changed
    .map(({ assetId, state }) => ({ assetId, state, fromAt: now }))
    .toSorted((a, b) => (a.assetId < b.assetId ? -1 : 1))
  await tx.run(insertStatement, ...newRows.values(rows))
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
  `update asset_availability a set to_at = greatest($3::timestamptz, a.from_at)
   where a.tenant_id = $1 and a.asset_id = any($2::uuid[]) and a.to_at is null
     and not exists (select from monitoring_results t where t.tenant_id = $1 and t.asset_id = a.asset_id)`,
)

/** Ends the current state of those of the assets that no monitoring checks. */
export async function endStates(tx: Transaction, assetIds: readonly string[], now: string): Promise<void> {
  if (assetIds.length > 0) await tx.run(endOfAssetsStatement, arrayOf('uuid', assetIds), now)
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
