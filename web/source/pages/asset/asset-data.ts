import { useQuery } from '@tanstack/react-query'
import { useAccessGroups } from '../../app/api/access-groups.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useRights } from '../../app/session/app-context.tsx'
import { type Asset, textAt, textsIn } from '../assets/model/asset.ts'

/** The prefixes of the event types that refresh the data of an asset. */
export const assetEvents = ['inventory.asset']
export const relationEvents = ['inventory.relation', 'inventory.asset']

/** Returns the first IP address of an asset. */
export function addressOfAsset(asset: Asset): string | undefined {
  const [ipv4] = textsIn(asset, 'connection_points', 'ipv4_address')
  return ipv4 ?? textsIn(asset, 'connection_points', 'ipv6_address')[0]
}

/** Loads the current or an earlier version of an asset. */
export function useAsset(id: string, at: string | undefined) {
  const query = useOperationQuery()
  return useQuery({
    ...query(
      ['inventory', 'readAsset'],
      { params: { id }, query: at === undefined ? {} : { at } },
      { live: assetEvents },
    ),
    select: ({ data }) => data as Asset,
    placeholderData: (before) => before,
  })
}

/** Loads the latest history entries of an asset. A deleted asset still has its history. */
export function useLatestHistory(id: string) {
  const query = useOperationQuery()
  return useQuery(query(['inventory', 'readHistory'], { params: { id }, query: { limit: 100 } }, { live: assetEvents }))
}

/**
 * Returns the time at which the stored history starts, in milliseconds since 1970. Earlier versions are not available.
 */
export function useHistoryStart(): number {
  const query = useOperationQuery()
  const settings = useQuery(query(['inventory', 'readSettings'], {}))
  return Date.parse(settings.data?.data.historyFrom ?? '') || 0
}

/**
 * Returns true when the user can write the asset in its access group. While the access group is unknown, a permission
 * in any group is sufficient.
 */
export function useCanWrite(asset: Asset | undefined): boolean {
  const rights = useRights()
  const name = textAt(asset, 'access_group')
  const group = useAccessGroups().find((each) => each.name === name)
  return rights.has('inventory_write_asset_data', group?.id)
}
