import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from './queries.ts'

/** Gateways by id, for pages that show ids of them. */
export function useGatewayNames(): ReadonlyMap<string, string> {
  const query = useOperationQuery()
  const { data } = useQuery(
    query(['onboarding', 'listGateways'], { query: { limit: 100 } }, { live: ['onboarding.gateway'] }),
  )
  return new Map(data?.data.map(({ id, name }) => [id, name]))
}
