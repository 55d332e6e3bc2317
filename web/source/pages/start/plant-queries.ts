import { pageLimits } from '@millwright/api/envelope.ts'
import { useQuery } from '@tanstack/react-query'
import { useGateways } from '../../app/api/gateways.ts'
import { useOperationQuery } from '../../app/api/queries.ts'

/** This file contains the queries that several cards of the start page share. */

/** The filter that selects the assets that a check did not reach. */
export const unreachableFilter = "reachability_state/state_value eq 'failed'"

/** The filter that selects the controllers that are not in run mode. */
export const stoppedFilter = "operating_mode/mode_name eq 'stop'"

const assetEvents = { live: ['inventory.asset'] }

/** Returns the query options for the number of assets that match the filter. The assets themselves are not loaded. */
export function useTotalQuery(filter?: string) {
  const query = useOperationQuery()
  return query(
    ['inventory', 'listAssets'],
    { query: { limit: 1, fields: 'id', ...(filter !== undefined && { filter }) } },
    assetEvents,
  )
}

export function useFacet(by: string, { filter, limit = 7 }: { filter?: string | undefined; limit?: number } = {}) {
  const query = useOperationQuery()
  return useQuery(
    query(['inventory', 'readFacets'], { query: { by, limit, ...(filter !== undefined && { filter }) } }, assetEvents),
  )
}

/** Returns the gateways with their states, and polls the states while the page is open. */
export function useGatewayStates() {
  return useGateways({ refetchIntervalMs: 30_000 })
}

export function useJobs(phase: 'running' | 'waiting' | 'failed', since?: string) {
  const query = useOperationQuery()
  return useQuery(
    query(
      ['jobs', 'listJobs'],
      { query: { phase, limit: 5, ...(since !== undefined && { since }) } },
      { live: ['workflows.job', 'discovery'] },
    ),
  )
}

/** Returns the firmware versions in use by product. Products with the most outdated devices come first. */
export function useDrift({ isEnabled = true }: { isEnabled?: boolean } = {}) {
  const query = useOperationQuery()
  const input = { query: { limit: pageLimits.maximum } }
  return useQuery({
    ...query(['updates', 'listDrift'], input, { live: ['inventory.asset', 'updates.artefact'] }),
    enabled: isEnabled,
  })
}

/** Returns the number of monitorings, or undefined until it is loaded and for users who cannot read monitorings. */
export function useMonitoringCount(isEnabled: boolean): number | undefined {
  const query = useOperationQuery()
  const options = query(['monitoring', 'listMonitorings'], { query: { limit: 1 } }, { live: ['monitoring'] })
  return useQuery({ ...options, enabled: isEnabled }).data?.meta.totalElements
}
