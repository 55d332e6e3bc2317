import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from './queries.ts'

type GatewaysOptions = {
  /** False for users without permission: the request would be rejected. */
  isEnabled?: boolean
  /** Polling interval. A gateway that goes offline causes no event. */
  refetchIntervalMs?: number
}

/** Polling interval of pages that show the states of gateways. */
export const gatewayStateIntervalMs = 30_000

/** The gateways of the tenant with their states. */
export function useGateways({ isEnabled = true, refetchIntervalMs }: GatewaysOptions = {}) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['onboarding', 'listGateways'], { query: { limit: 100 } }, { live: ['onboarding.gateway'] }),
    enabled: isEnabled,
    ...(refetchIntervalMs !== undefined && { refetchInterval: refetchIntervalMs }),
  })
}

/** Names of gateways by id. */
export function useGatewayNames(): ReadonlyMap<string, string> {
  const { data } = useGateways()
  return new Map(data?.data.map(({ id, name }) => [id, name]))
}
