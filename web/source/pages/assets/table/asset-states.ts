import type { MonitoredState } from '@millwright/api/monitoring.ts'
import { useQueries } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import type { AssetPages } from './asset-pages.ts'
import { type PageRange, visiblePages } from './page-range.ts'

/** Returns the state of an asset in monitoring, or undefined if no monitoring checks the asset. */
export type StateOf = (assetId: string) => MonitoredState | undefined

type StateOptions = { range: PageRange; isShown: boolean }

/** Returns the states of assets in monitoring. The states of a page are loaded with one request, after the assets. */
export function useMonitoredStates(pages: AssetPages, { range, isShown }: StateOptions): StateOf {
  return useStatesOfPages(isShown ? visiblePages(pages, range).map((assets) => assets.map(({ id }) => id)) : [])
}

/** Returns the states of assets in monitoring. Each page is a list of ids, whose states are loaded with one request. */
export function useStatesOfPages(pages: readonly string[][]): StateOf {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  return useQueries({
    queries: (canRead ? pages : []).map((assetIds) =>
      query(['monitoring', 'listMonitoredStates'], { body: { data: { assetIds } } }, { live: ['monitoring'] }),
    ),
    combine: statesOf,
  })
}

type MonitoredStates = { data: { assetId: string; state: MonitoredState }[] }

function statesOf(results: readonly { data?: MonitoredStates | undefined }[]): StateOf {
  const states = new Map(results.flatMap(({ data }) => data?.data ?? []).map(({ assetId, state }) => [assetId, state]))
  return (assetId) => states.get(assetId)
}
