import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loading } from './loading.tsx'
import { ProblemMessage } from './problem-message.tsx'

type QueryStateProps<Data> = { query: UseQueryResult<Data, Error>; children: (data: Data) => ReactNode }

/** `QueryState` renders the data of a query, or its loading or error state. */
export function QueryState<Data>({ query, children }: QueryStateProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <ProblemMessage failure={query.error} onRetry={() => query.refetch()} />
  return <Loading />
}
