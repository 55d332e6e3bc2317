import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loading } from './loading.tsx'
import { ProblemMessage } from './problem-message.tsx'

type QueryStateProps<Data> = { query: UseQueryResult<Data, Error>; children: (data: Data) => ReactNode }

/** What a query answered; until then that it is on its way, or what went wrong with a way to try again. */
export function QueryState<Data>({ query, children }: QueryStateProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <ProblemMessage failure={query.error} onRetry={() => query.refetch()} />
  return <Loading />
}
