import { isTransientCode } from '@millwright/api/transient.ts'
import { QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query'
import { useApi } from '../session/app-context.tsx'
import type { Api, ContractName, Input, OperationName, Output } from './client.ts'
import { consoleCodes, Failure } from './failure.ts'

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: Failure
    queryMeta: { live?: readonly string[] }
  }
}

/** The maximum number of retries. Only transient failures are retried. */
const maxRetries = 2

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        refetchOnWindowFocus: true,
        retry: (failures, error) => failures < maxRetries && isTransient(error),
      },
    },
  })
}

function isTransient(error: unknown): boolean {
  return error instanceof Failure && (error.code === consoleCodes.noAnswer || isTransientCode(error.code))
}

type OperationQueryOptions = {
  /**
   * The prefixes of the event types that invalidate the query, without `io.millwright.`. Example: `inventory.asset`.
   */
  live?: readonly string[]
}

export function keyOf(contract: ContractName, operation?: string, input?: unknown): QueryKey {
  return [contract, operation, input].filter((part) => part !== undefined)
}

/** Returns query options that call an operation, for `useQuery`, `useSuspenseQuery` and `queryClient.fetchQuery`. */
export function operationQuery<Name extends ContractName, Operation extends OperationName<Name>>(
  api: Api,
  [contract, operation]: readonly [Name, Operation],
  input: Input<Name, Operation>,
) {
  const call = api[contract][operation] as unknown as (input: object) => Promise<Output<Name, Operation>>
  return queryOptions<Output<Name, Operation>, Failure>({
    queryKey: keyOf(contract, operation, input),
    queryFn: ({ signal }) => call({ ...(input as object), signal }),
  })
}

/**
 * Returns a function that creates query options for the signed-in user. Example: `useQuery(query(['jobs', 'listJobs'],
 * { query: { limit: 5 } }))`.
 */
export function useOperationQuery() {
  const api = useApi()
  return <Name extends ContractName, Operation extends OperationName<Name>>(
    operation: readonly [Name, Operation],
    input: Input<Name, Operation>,
    { live }: OperationQueryOptions = {},
  ) => ({ ...operationQuery(api, operation, input), ...(live && { meta: { live } }) })
}
