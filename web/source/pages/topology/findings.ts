import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Failure } from '../../app/api/failure.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { type GraphData, graphOf } from '../../components/graph/graph-data.ts'

/** What the platform found in the graph: the way between two things, or what hangs on one. */

export type Finding = {
  graph: GraphData | undefined
  isTruncated: boolean
  isWaiting: boolean
  error: Failure | null
}

const nobody = '00000000-0000-0000-0000-000000000000'
const farthest = 10
const mostThings = 2_000

function assetIn(key: string | undefined): string | undefined {
  return key?.startsWith('asset/') ? key.slice('asset/'.length) : undefined
}

export type Path = Finding & { isFound: boolean }

type PathAsked = { from: string | undefined; to: string | undefined; at: string | undefined }

export function usePath({ from: key, to, at }: PathAsked): Path | undefined {
  const query = useOperationQuery()
  const from = assetIn(key)
  const isAsked = from !== undefined && to !== undefined
  const asked = useQuery({
    ...query(['inventory', 'readPath'], {
      params: { id: from ?? nobody },
      query: { to: to ?? nobody, ...(at && { at }) },
    }),
    enabled: isAsked,
  })
  const found = asked.data?.data
  const graph = useMemo(() => (found?.found ? graphOf(found) : undefined), [found])
  if (!isAsked) return undefined
  return {
    graph,
    isFound: found?.found ?? false,
    isTruncated: found?.truncated ?? false,
    isWaiting: asked.isPending,
    error: asked.error,
  }
}

export type Impact = Finding & { of: string }

export function useImpact({ of: key, at }: { of: string | undefined; at: string | undefined }): Impact | undefined {
  const query = useOperationQuery()
  const id = assetIn(key)
  const asked = useQuery({
    ...query(['inventory', 'readGraph'], {
      params: { id: id ?? nobody },
      query: { direction: 'in', depth: farthest, limit: mostThings, ...(at && { at }) },
    }),
    enabled: id !== undefined,
  })
  const found = asked.data?.data
  const graph = useMemo(() => (found === undefined ? undefined : graphOf(found)), [found])
  if (key === undefined || id === undefined) return undefined
  return {
    of: key,
    graph,
    isTruncated: found?.truncated ?? false,
    isWaiting: asked.isPending,
    error: asked.error,
  }
}
