import { useInfiniteQuery } from '@tanstack/react-query'
import { useApi } from '../session/app-context.tsx'
import type { ContractName, Input, OperationName, Output } from './client.ts'
import type { Failure } from './failure.ts'
import { keyOf } from './queries.ts'

type Page<Row> = { data: Row[]; meta: { totalElements: number; elements: number; offset: number } }
type RowOf<Answer> = Answer extends { data: (infer Row)[] } ? Row : never
type QueryOf<Given> = Given extends { query?: infer Query } ? Query : never

const pageSize = 100

export type PagedList<Row> = {
  rows: Row[]
  total: number
  error: Failure | null
  isLoading: boolean
  /** Loads the next page. Tables call this function when the user scrolls near the end. */
  next: () => void
  retry: () => void
}

type PagedListOptions = {
  live?: readonly string[]
  isEnabled?: boolean
  /** The polling interval, for lists whose entries change without an event. */
  refetchIntervalMs?: number
}

/**
 * Loads a list of the API page by page while the user scrolls. An event refreshes the list if its type has one of the
 * prefixes in `live`.
 */
export function usePagedList<Name extends ContractName, Operation extends OperationName<Name>>(
  [contract, operation]: readonly [Name, Operation],
  input: Omit<Input<Name, Operation>, 'query'> & { query?: Omit<QueryOf<Input<Name, Operation>>, 'limit' | 'offset'> },
  { live, isEnabled = true, refetchIntervalMs }: PagedListOptions = {},
): PagedList<RowOf<Output<Name, Operation>>> {
  const api = useApi()
  type Row = RowOf<Output<Name, Operation>>
  const call = api[contract][operation] as unknown as (input: object) => Promise<Page<Row>>
  const result = useInfiniteQuery<Page<Row>, Failure, { pages: Page<Row>[] }, readonly unknown[], number>({
    queryKey: [...keyOf(contract, operation, input), 'pages'],
    enabled: isEnabled,
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call({ ...input, query: { ...input.query, limit: pageSize, offset: pageParam }, signal }),
    getNextPageParam: ({ meta: { totalElements, elements, offset } }) =>
      offset + elements < totalElements && elements > 0 ? offset + elements : undefined,
    ...(live && { meta: { live } }),
    ...(refetchIntervalMs !== undefined && { refetchInterval: refetchIntervalMs }),
  })
  return {
    rows: result.data?.pages.flatMap(({ data }) => data) ?? [],
    total: result.data?.pages[0]?.meta.totalElements ?? 0,
    error: result.data === undefined ? result.error : null,
    isLoading: result.isPending && isEnabled,
    next: () => {
      if (result.hasNextPage && !result.isFetchingNextPage) result.fetchNextPage()
    },
    retry: () => result.refetch(),
  }
}
