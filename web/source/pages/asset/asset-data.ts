import { useQuery } from '@tanstack/react-query'
import { useAccessGroups } from '../../app/api/access-groups.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useRights } from '../../app/session/app-context.tsx'
import { type Asset, textAt } from '../assets/model/asset.ts'

/** Events that make what is shown of an asset old. */
export const assetEvents = ['inventory.asset']
export const relationEvents = ['inventory.relation', 'inventory.asset']

/** An asset, now or at a time. */
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

/** The latest entries of its history: also of an asset that is gone. */
export function useLatestHistory(id: string) {
  const query = useOperationQuery()
  return useQuery(query(['inventory', 'readHistory'], { params: { id }, query: { limit: 100 } }, { live: assetEvents }))
}

/** From when on the past is kept, in milliseconds; of what is older nothing can be shown as it was. */
export function useHistoryStart(): number {
  const query = useOperationQuery()
  const settings = useQuery(query(['inventory', 'readSettings'], {}))
  return Date.parse(settings.data?.data.historyFrom ?? '') || 0
}

/** Whether to offer changes: in the access group of the asset where it is known, else anywhere. */
export function useCanWrite(asset: Asset | undefined): boolean {
  const rights = useRights()
  const name = textAt(asset, 'access_group')
  const group = useAccessGroups().find((each) => each.name === name)
  return rights.has('inventory_write_asset_data', group?.id)
}
