import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Failure } from '../../app/api/failure.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { type GraphData, graphOf } from '../../components/graph/graph-data.ts'

/** This file contains the query of the path between two assets. */

const noAsset = '00000000-0000-0000-0000-000000000000'

/** Returns the id of the asset in a key of the graph, or undefined for a hierarchy node. */
export function assetIn(key: string | undefined): string | undefined {
  return key?.startsWith('asset/') ? key.slice('asset/'.length) : undefined
}

export type Path = {
  graph: GraphData | undefined
  isTruncated: boolean
  isLoading: boolean
  error: Failure | null
}

type PathOptions = { from: string | undefined; to: string | undefined; at: string | undefined }

export function usePath({ from, to, at }: PathOptions): Path | undefined {
  const query = useOperationQuery()
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
  return { graph, isTruncated: path?.truncated ?? false, isLoading: result.isPending, error: result.error }
}
