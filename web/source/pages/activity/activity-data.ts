import type { ActivityEntry } from '@millwright/api/activity.ts'
import { type ActivityKind, activityKinds } from '@millwright/api/activity-kinds.ts'
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Output } from '../../app/api/client.ts'
import type { Failure } from '../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useLiveEvents } from '../../app/live/live-queries.ts'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { usePreference } from '../../app/preferences/preference.ts'
import { useApi } from '../../app/session/app-context.tsx'
import { DelayedRefresh } from './delayed-refresh.ts'
import { countedBy, type Preset, presets, rangeOf, type TimeRange, visitsAt } from './time-range.ts'

/** The state of the page in the URL. `from` and `to` are the part of the range that the user selected in the histogram. */
export type ActivitySearch = 'range' | 'from' | 'to' | 'kind' | 'person' | 'asset' | 'node' | 'object' | 'all'

/** The filters of the activity without its time. */
export type ActivityFilters = {
  kind?: ActivityKind
  person?: string
  asset?: string
  node?: string
  object?: string
  all?: boolean
}

export type Selected = { from: string; to: string }

/** The time after which opening the page counts as a visit. */
const visitMs = 5_000

/** Returns the time of the previous visit, and stores this visit. The start page and the activity share the visits. */
export function useLastVisit(now: Date): Date | undefined {
  const [stored, setStored] = usePreference<unknown>('activity.visits', undefined)
  const [visits] = useState(() => visitsAt(stored, now))
  useEffect(() => {
    const timer = setTimeout(() => setStored(visits), visitMs)
    return () => clearTimeout(timer)
  }, [setStored, visits])
  return visits.previous === undefined ? undefined : new Date(visits.previous)
}

export function useActivitySearch() {
  const [search, setSearch] = useSearchState<ActivitySearch>()
  const [now] = useState(() => new Date())
  const lastVisit = useLastVisit(now)
  const preset: Preset = presets.find((name) => name === search.range) ?? 'day'
  const range = rangeOf(preset, now, lastVisit)
  const kind = activityKinds.find((name) => name === search.kind)
  const filters: ActivityFilters = {
    ...(kind === undefined ? {} : { kind }),
    ...(search.person === undefined ? {} : { person: search.person }),
    ...(search.asset === undefined ? {} : { asset: search.asset }),
    ...(search.node === undefined ? {} : { node: search.node }),
    ...(search.object === undefined ? {} : { object: search.object }),
    ...(search.all === undefined ? {} : { all: true }),
  }
  const selected: Selected | undefined =
    search.from === undefined || search.to === undefined ? undefined : { from: search.from, to: search.to }
  return { preset, range, now, filters, selected, setSearch }
}

function timesOf({ from, to }: TimeRange): { from: string; to?: string } {
  return { from: from.toISOString(), ...(to === undefined ? {} : { to: to.toISOString() }) }
}

type LiveActivityOptions = {
  isLive?: boolean
  /** The minimum time between two refreshes. */
  intervalMs?: number
}

/** Refreshes the list and the histogram after events, if the shown range ends now and the page is visible. */
export function useLiveActivity({ isLive = true, intervalMs = 5_000 }: LiveActivityOptions = {}): void {
  const queryClient = useQueryClient()
  const [refresh] = useState(
    () =>
      new DelayedRefresh({
        intervalMs,
        isHidden: () => document.hidden,
        refresh: () => {
          for (const operation of ['listEntries', 'readHistogram'])
            queryClient.invalidateQueries({ queryKey: keyOf('activity', operation) })
        },
      }),
  )
  useLiveEvents(['*'], () => {
    if (isLive) refresh.request()
  })
  useEffect(() => {
    const showChanges = () => refresh.showChanges()
    document.addEventListener('visibilitychange', showChanges)
    return () => {
      document.removeEventListener('visibilitychange', showChanges)
      refresh.stop()
    }
  }, [refresh])
}

const pageSize = 100

type EntryPage = Output<'activity', 'listEntries'>

export type EntryList = {
  entries: ActivityEntry[]
  error: Failure | null
  isLoading: boolean
  hasMore: boolean
  isLoadingMore: boolean
  next: () => void
  retry: () => void
}

type ListInput = { filters: ActivityFilters; times: { from: string; to?: string }; groupId?: string }

/** Loads the entries of a range, or the changes of one operation, page by page. */
function useEntryList({ filters, times, groupId }: ListInput): EntryList {
  const api = useApi()
  const query = { ...filters, ...times, limit: pageSize }
  const input = groupId === undefined ? { query } : { params: { id: groupId }, query }
  const operation = groupId === undefined ? 'listEntries' : 'listGroupEntries'
  const result = useInfiniteQuery<EntryPage, Failure, { pages: EntryPage[] }, readonly unknown[], string | undefined>({
    queryKey: [...keyOf('activity', operation, input), 'pages'],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) => {
      const paged = { ...query, ...(pageParam === undefined ? {} : { cursor: pageParam }) }
      return groupId === undefined
        ? api.activity.listEntries({ query: paged, signal } as Parameters<typeof api.activity.listEntries>[0])
        : api.activity.listGroupEntries({ params: { id: groupId }, query: paged, signal } as Parameters<
            typeof api.activity.listGroupEntries
          >[0])
    },
    getNextPageParam: ({ meta }) => meta.nextCursor,
  })
  return {
    entries: result.data?.pages.flatMap(({ data }) => data) ?? [],
    error: result.data === undefined ? result.error : null,
    isLoading: result.isPending,
    hasMore: result.hasNextPage,
    isLoadingMore: result.isFetchingNextPage,
    next: () => {
      if (result.hasNextPage && !result.isFetchingNextPage) result.fetchNextPage()
    },
    retry: () => result.refetch(),
  }
}

export function useEntries(filters: ActivityFilters, range: TimeRange, selected: Selected | undefined): EntryList {
  return useEntryList({ filters, times: selected ?? timesOf(range) })
}

export function useGroupEntries(groupId: string, filters: ActivityFilters, times: { from: string; to?: string }) {
  return useEntryList({ filters, times, groupId })
}

/** Counts the activity of a range. A range by day can have counts by hour (see `countedBy`). */
export function useHistogram(filters: ActivityFilters, range: TimeRange, now: Date) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['activity', 'readHistogram'], {
      query: { ...filters, ...timesOf(range), bucket: countedBy(range, now) },
    }),
    select: ({ data }) => data,
    placeholderData: (before) => before,
  })
}

/** Returns the accounts and gateways with the most activity in a range. */
export function usePeople(range: TimeRange) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['activity', 'listPeople'], { query: timesOf(range) }),
    select: ({ data }) => data,
  })
}

/** Returns the query of an export of the shown entries. */
export function exportQuery(filters: ActivityFilters, range: TimeRange, selected: Selected | undefined) {
  return { ...filters, ...(selected ?? timesOf(range)) }
}
