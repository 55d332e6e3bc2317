import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from './queries.ts'

type Options = {
  /** Not asked for whom the platform would refuse. */
  isAsked?: boolean
  /** A gateway that falls silent makes no event: who shows how they are looks again. */
  againAfterMs?: number
}

/** How often a page that shows how gateways are looks again. */
export const statesEveryMs = 30_000

/** The gateways of the tenant, and how they are. */
export function useGateways({ isAsked = true, againAfterMs }: Options = {}) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['onboarding', 'listGateways'], { query: { limit: 100 } }, { live: ['onboarding.gateway'] }),
    enabled: isAsked,
    ...(againAfterMs !== undefined && { refetchInterval: againAfterMs }),
  })
}

/** Gateways by id, for pages that show ids of them. */
export function useGatewayNames(): ReadonlyMap<string, string> {
  const { data } = useGateways()
  return new Map(data?.data.map(({ id, name }) => [id, name]))
}
