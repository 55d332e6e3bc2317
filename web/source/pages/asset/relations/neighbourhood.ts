import type { Entity, GraphNode, Relation } from '@millwright/api/inventory.ts'
import { useQueries } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Failure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { emptyGraph, type GraphData, graphOf, keyOf, mergeGraphs } from '../../../components/graph/graph-data.ts'
import { relationEvents } from '../asset-data.ts'

/** A relation of an asset, seen from it. */
export type RelationRow = { relation: Relation; direction: 'out' | 'in'; other: Entity; node: GraphNode | undefined }

export type Neighbourhood = {
  data: GraphData
  rows: readonly RelationRow[]
  isTruncated: boolean
  isLoading: boolean
  error: Failure | null
  retry: () => void
  /** Also what this thing is related to. */
  expand: (key: string) => void
}

const maxNodes = 500

/** What is around an asset: one step at first, and one more from everything that was chosen. */
export function useNeighbourhood(id: string, at: string | undefined): Neighbourhood {
  const query = useOperationQuery()
  const [chosen, setChosen] = useState<readonly string[]>([])
  const ids = [id, ...chosen]
  const { graphs, first } = useQueries({
    queries: ids.map((each) => ({
      ...query(
        ['inventory', 'readGraph'],
        { params: { id: each }, query: { limit: maxNodes, ...(at && { at }) } },
        { live: relationEvents },
      ),
    })),
    combine: (results) => ({ graphs: results.map((result) => result.data?.data), first: results[0] }),
  })
  const stamp = graphs
    .map((graph) => (graph === undefined ? '' : `${graph.nodes.length}/${graph.edges.map((edge) => edge.id).join()}`))
    .join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp changes with what is drawn, not with each answer
  const data = useMemo(
    () =>
      graphs
        .filter((graph) => graph !== undefined)
        .map(graphOf)
        .reduce(mergeGraphs, emptyGraph),
    [stamp],
  )
  const root = first?.data?.data
  return {
    data,
    rows: rowsOf(root?.edges ?? [], { root: { type: 'asset', id }, data }),
    isTruncated: root?.truncated ?? false,
    isLoading: first?.isPending ?? true,
    error: root === undefined ? (first?.error ?? null) : null,
    retry: () => first?.refetch(),
    expand(key) {
      const node = data.nodes.get(key)
      if (node?.type === 'asset' && !ids.includes(node.id)) setChosen([...chosen, node.id])
    },
  }
}

/** The direction of a relation and its other end, for who stands at one end of it. */
export function otherEnd(here: Entity, { subject, object }: Relation): { direction: 'out' | 'in'; other: Entity } {
  return keyOf(subject) === keyOf(here) ? { direction: 'out', other: object } : { direction: 'in', other: subject }
}

function rowsOf(edges: readonly Relation[], { root, data }: { root: Entity; data: GraphData }): RelationRow[] {
  const rows = edges.map((relation): RelationRow => {
    const end = otherEnd(root, relation)
    return { relation, ...end, node: data.nodes.get(keyOf(end.other)) }
  })
  const order = ({ direction, relation, node }: RelationRow) => `${direction} ${relation.predicate} ${node?.name ?? ''}`
  return rows.toSorted((one, other) => order(one).localeCompare(order(other)))
}
