import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Failure } from '../../app/api/failure.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { type GraphData, graphOf } from '../../components/graph/graph-data.ts'

/** This file contains the graph queries: the path between two assets, and the dependents of one asset. */

export type GraphResult = {
  graph: GraphData | undefined
  isTruncated: boolean
  isLoading: boolean
  error: Failure | null
}

const noAsset = '00000000-0000-0000-0000-000000000000'
const maxDepth = 10
const maxNodes = 2_000

function assetIn(key: string | undefined): string | undefined {
  return key?.startsWith('asset/') ? key.slice('asset/'.length) : undefined
}

export type Path = GraphResult & { isFound: boolean }

type PathOptions = { from: string | undefined; to: string | undefined; at: string | undefined }

export function usePath({ from: key, to, at }: PathOptions): Path | undefined {
  const query = useOperationQuery()
  const from = assetIn(key)
  const isEnabled = from !== undefined && to !== undefined
  const result = useQuery({
    ...query(['inventory', 'readPath'], {
      params: { id: from ?? noAsset },
      query: { to: to ?? noAsset, ...(at && { at }) },
    }),
    enabled: isEnabled,
  })
  const path = result.data?.data
  const graph = useMemo(() => (path?.found ? graphOf(path) : undefined), [path])
  if (!isEnabled) return undefined
  return {
    graph,
    isFound: path?.found ?? false,
    isTruncated: path?.truncated ?? false,
    isLoading: result.isPending,
    error: result.error,
  }
}

export type Impact = GraphResult & { of: string }

export function useImpact({ of: key, at }: { of: string | undefined; at: string | undefined }): Impact | undefined {
  const query = useOperationQuery()
  const id = assetIn(key)
  const result = useQuery({
    ...query(['inventory', 'readGraph'], {
      params: { id: id ?? noAsset },
      query: { direction: 'in', depth: maxDepth, limit: maxNodes, ...(at && { at }) },
    }),
    enabled: id !== undefined,
  })
  const difference = result.data?.data
  const graph = useMemo(() => (difference === undefined ? undefined : graphOf(difference)), [difference])
  if (key === undefined || id === undefined) return undefined
  return {
    of: key,
    graph,
    isTruncated: difference?.truncated ?? false,
    isLoading: result.isPending,
    error: result.error,
  }
}
