import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loading } from './loading.tsx'
import { ProblemMessage } from './problem-message.tsx'

type QueryStateProps<Data> = { query: UseQueryResult<Data, Error>; children: (data: Data) => ReactNode }

/**
 * `QueryState` renders the data of a query. Until there is data, it shows that the query is loading or why it failed.
 */
export function QueryState<Data>({ query, children }: QueryStateProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <ProblemMessage failure={query.error} onRetry={() => query.refetch()} />
  return <Loading />
}
