import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith } from '../../platform/access/rights.ts'

/** The access groups whose assets may be seen; null is all of them. */
export type Groups = readonly string[] | null

/** The groups whose assets are there for the caller. */
export function readableGroups(caller: Pick<Caller, 'rights'>): Groups {
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  return groups === 'all' ? null : groups
}
