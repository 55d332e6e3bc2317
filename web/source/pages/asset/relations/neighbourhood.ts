import type { Entity, GraphNode, Relation } from '@millwright/api/inventory/inventory.ts'
import { useQueries } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Failure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { emptyGraph, type GraphData, graphOf, keyOf, mergeGraphs } from '../../../components/graph/graph-data.ts'
import { useNamedNodes } from '../../hierarchy/named-nodes.ts'
import { relationEvents } from '../asset-data.ts'

/**
 * `RelationRow` is a relation from the perspective of one asset. `other` is the entity at the other end of the
 * relation.
 */
export type RelationRow = { relation: Relation; direction: 'out' | 'in'; other: Entity; node: GraphNode | undefined }

export type Neighbourhood = {
  data: GraphData
  rows: readonly RelationRow[]
  isTruncated: boolean
  isLoading: boolean
  error: Failure | null
  retry: () => void
  /** Adds the relations of another node to the graph. */
  expand: (key: string) => void
}

const maxNodes = 500

/** Loads the direct relations of an asset, and the relations of every node that the user expands. */
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp changes with the drawn data, not with each response
  const unnamed = useMemo(
    () =>
      graphs
        .filter((graph) => graph !== undefined)
        .map(graphOf)
        .reduce(mergeGraphs, emptyGraph),
    [stamp],
  )
  const data = useNamedNodes(unnamed, { isCurrent: at === undefined })
  const root = first?.data?.data
  return {
    data,
    rows: rowsOf(root?.edges.filter((edge) => data.edges.has(edge.id)) ?? [], { root: { type: 'asset', id }, data }),
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

/** Returns the direction of a relation and the entity at its other end, from the perspective of the entity `here`. */
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
