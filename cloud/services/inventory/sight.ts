import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith } from '../../platform/access/rights.ts'

/** The access groups whose assets may be seen; null is all of them. */
export type Groups = readonly string[] | null

/**
 * As SQL, the group of an asset, to be compared with those that may be seen. A sub-select and not `exists`, which the
 * planner may turn into a hash over all assets.
 */
export function groupOf(asset: string): string {
  return `(select a.access_group_id from assets a where a.tenant_id = $1 and a.id = ${asset})`
}

/** The same, for what looks back: an asset that is gone by now counts as in the last it was in. */
export function lastGroupOf(asset: string): string {
  return `coalesce(${groupOf(asset)}, (select h.access_group_id from asset_history h
    where h.tenant_id = $1 and h.asset_id = ${asset} order by h.version desc limit 1))`
}

/** The groups whose assets are there for the caller. */
export function readableGroups(caller: Pick<Caller, 'rights'>): Groups {
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  return groups === 'all' ? null : groups
}
