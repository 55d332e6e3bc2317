import type { Coverage, Monitoring, UnreachableDevice } from '@millwright/api/monitoring.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { jsonOf } from '../../app/api/http.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useAppContext, usePermission } from '../../app/session/app-context.tsx'

/** The prefixes of the event types that change monitorings, their runs and their results. */
export const monitoringEvents = ['monitoring']

/** The polling interval of lists. The progress of a run changes without an event. */
export const pollMs = 3_000
/** The polling interval of a monitoring while a run is active. */
const runPollMs = 1_000

/** Returns whether a run of the monitoring waits or is active. */
export function isRunning({ latestRun }: Pick<Monitoring, 'latestRun'>): boolean {
  return latestRun?.state === 'created' || latestRun?.state === 'running'
}

/** `LoadedMonitoring` is a monitoring with its ETag, which a change sends as `If-Match`. */
export type LoadedMonitoring = { monitoring: Monitoring; etag: string | undefined }

/** Returns a monitoring. Events and polling update it. */
export function useMonitoring(id: string) {
  const { fetchOperation } = useAppContext()
  return useQuery<LoadedMonitoring>({
    queryKey: keyOf('monitoring', 'readMonitoring', { params: { id } }),
    queryFn: async ({ signal }) => {
      const response = await fetchOperation('monitoring', 'readMonitoring', { params: { id }, signal })
      const { data } = (await jsonOf(response)) as { data: Monitoring }
      return { monitoring: data, etag: response.headers.get('etag') ?? undefined }
    },
    meta: { live: monitoringEvents },
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data && isRunning(state.data.monitoring) ? runPollMs : pollMs),
  })
}

/** The polling interval of the coverage and of the list of outages. Their states change during a run without an event. */
const coveragePollMs = 10_000
/** The prefixes of the event types that change the coverage and the list of outages. */
const coverageEvents = [...monitoringEvents, 'inventory.asset']

/** Returns how many devices are monitored, or undefined until it is loaded and for users who cannot read assets. */
export function useCoverage(): Coverage | undefined {
  const query = useOperationQuery()
  const isEnabled = usePermission('inventory_read_asset_data')
  const coverage = useQuery({
    ...query(['monitoring', 'readCoverage'], {}, { live: coverageEvents }),
    enabled: isEnabled,
    refetchInterval: coveragePollMs,
  })
  return coverage.data?.data
}

/** Returns the devices with the latest outages, and the number of all unreachable devices. */
export function useLatestOutages(limit: number): { devices: readonly UnreachableDevice[]; total: number } {
  const query = useOperationQuery()
  const isEnabled = usePermission('inventory_read_asset_data')
  const { data } = useQuery({
    ...query(['monitoring', 'listUnreachableDevices'], { query: { limit } }, { live: coverageEvents }),
    enabled: isEnabled,
    refetchInterval: coveragePollMs,
  })
  return { devices: data?.data ?? [], total: data?.meta.totalElements ?? 0 }
}

/** Returns a function that loads all data of monitorings again. */
export function useRefreshMonitorings(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: keyOf('monitoring') })
}
