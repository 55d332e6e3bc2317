import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Failure } from '../../app/api/failure.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useLiveEvents } from '../../app/live/live-queries.ts'
import {
  type ChangeKind,
  compareGraphs,
  emptyGraph,
  type GraphData,
  graphOf,
} from '../../components/graph/graph-data.ts'

export type TopologyQuery = {
  q: string | undefined
  predicate: string | undefined
  /** The displayed point in time. If undefined, the current topology is displayed. */
  at: string | undefined
  /** The point in time that the displayed topology is compared with. */
  with: string | undefined
  limit: number
}

export type Topology = {
  data: GraphData
  changes: ReadonlyMap<string, ChangeKind> | undefined
  isTruncated: boolean
  isLoading: boolean
  error: Failure | null
  /** Whether changes have occurred since the topology was loaded. */
  isStale: boolean
  refresh: () => void
}

/**
 * Loads the topology. Events only mark it as stale, and the user refreshes it, because a scan changes the topology very
 * often.
 */
export function useTopology({ q, predicate, at, with: other, limit }: TopologyQuery): Topology {
  const query = useOperationQuery()
  const [changedAt, setChangedAt] = useState(0)
  const part = (time: string | undefined) => ({
    query: { limit, ...(q && { q }), ...(predicate && { predicates: predicate }), ...(time && { at: time }) },
  })
  const shown = useQuery({ ...query(['inventory', 'readTopology'], part(at)), staleTime: Number.POSITIVE_INFINITY })
  const compareAt = useQuery({
    ...query(['inventory', 'readTopology'], part(other)),
    enabled: other !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  useLiveEvents(['inventory.relation', 'inventory.asset'], () => {
    if (at === undefined && Date.now() - changedAt > 1_000) setChangedAt(Date.now())
  })
  const [read, contrast] = [shown.data?.data, other === undefined ? undefined : compareAt.data?.data]
  const { data, changes } = useMemo(() => {
    if (read === undefined) return { data: emptyGraph, changes: undefined }
    if (contrast === undefined) return { data: graphOf(read), changes: undefined }
    const isEarlier = at === undefined || (other ?? '') < at
    const [before, after] = isEarlier ? [contrast, read] : [read, contrast]
    return compareGraphs(graphOf(before), graphOf(after))
  }, [read, contrast, at, other])
  return {
    data,
    changes,
    isTruncated: (read?.truncated || contrast?.truncated) ?? false,
    isLoading: shown.isPending || (other !== undefined && compareAt.isPending),
    error: shown.error ?? compareAt.error,
    isStale: changedAt > shown.dataUpdatedAt,
    refresh: () => {
      shown.refetch()
      if (other !== undefined) compareAt.refetch()
    },
  }
}
