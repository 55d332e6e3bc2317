import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from './queries.ts'

type GatewaysOptions = {
  /**
   * Whether to send the request. It is false for users without permission, because the server would reject the request.
   */
  isEnabled?: boolean
  /** The polling interval. Polling is needed, because there is no event when a gateway goes offline. */
  refetchIntervalMs?: number
}

/** The polling interval of pages that show the states of gateways. */
export const gatewayStateIntervalMs = 30_000

/** Returns the gateways of the tenant with their states. */
export function useGateways({ isEnabled = true, refetchIntervalMs }: GatewaysOptions = {}) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['onboarding', 'listGateways'], { query: { limit: 100 } }, { live: ['onboarding.gateway'] }),
    enabled: isEnabled,
    ...(refetchIntervalMs !== undefined && { refetchInterval: refetchIntervalMs }),
  })
}

/** Returns the ids of the gateways that are offline. */
export function useOfflineGateways(): ReadonlySet<string> {
  const { data } = useGateways({ refetchIntervalMs: gatewayStateIntervalMs })
  return new Set(data?.data.flatMap(({ id, state }) => (state === 'offline' ? [id] : [])))
}

/** Returns the names of gateways by id. */
export function useGatewayNames(): ReadonlyMap<string, string> {
  const { data } = useGateways()
  return new Map(data?.data.map(({ id, name }) => [id, name]))
}
