import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from './queries.ts'

type GatewaysOptions = {
  /** Not asked for whom the platform would refuse. */
  isEnabled?: boolean
  /** A gateway that falls silent makes no event: who shows how they are looks again. */
  refetchIntervalMs?: number
}

/** How often a page that shows how gateways are looks again. */
export const gatewayStateIntervalMs = 30_000

/** The gateways of the tenant, and how they are. */
export function useGateways({ isEnabled = true, refetchIntervalMs }: GatewaysOptions = {}) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['onboarding', 'listGateways'], { query: { limit: 100 } }, { live: ['onboarding.gateway'] }),
    enabled: isEnabled,
    ...(refetchIntervalMs !== undefined && { refetchInterval: refetchIntervalMs }),
  })
}

/** Gateways by id, for pages that show ids of them. */
export function useGatewayNames(): ReadonlyMap<string, string> {
  const { data } = useGateways()
  return new Map(data?.data.map(({ id, name }) => [id, name]))
}
