import type { MonitoredState } from '@millwright/api/monitoring.ts'
import { useQueries } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { usePermission } from '../../../app/session/app-context.tsx'

/** Returns the state of an asset in monitoring, or undefined if no monitoring checks the asset. */
export type StateOf = (assetId: string) => MonitoredState | undefined

/** Returns the states of assets in monitoring. The states of a chunk of assets are loaded with one request, after the assets. */
export function useMonitoredStates(chunks: readonly (readonly { id: string }[])[]): StateOf {
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  return useQueries({
    queries: (canRead ? chunks : []).map((assets) =>
      query(
        ['monitoring', 'listMonitoredStates'],
        { body: { data: { assetIds: assets.map(({ id }) => id) } } },
        { live: ['monitoring'] },
      ),
    ),
    combine: statesOf,
  })
}

type MonitoredStates = { data: { assetId: string; state: MonitoredState }[] }

function statesOf(results: readonly { data?: MonitoredStates | undefined }[]): StateOf {
  const states = new Map(results.flatMap(({ data }) => data?.data ?? []).map(({ assetId, state }) => [assetId, state]))
  return (assetId) => states.get(assetId)
}
