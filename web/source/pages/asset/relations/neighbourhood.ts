import type { Entity, GraphNode, Relation } from '@millwright/api/inventory/inventory.ts'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Failure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { emptyGraph, type GraphData, graphOf, keyOf } from '../../../components/graph/graph-data.ts'
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
}

const maxNodes = 500

/** Loads the direct relations of an asset. */
export function useNeighbourhood(id: string, at: string | undefined): Neighbourhood {
  const query = useOperationQuery()
  const result = useQuery(
    query(
      ['inventory', 'readGraph'],
      { params: { id }, query: { limit: maxNodes, ...(at && { at }) } },
      { live: relationEvents },
    ),
  )
  const graph = result.data?.data
  const unnamed = useMemo(() => (graph === undefined ? emptyGraph : graphOf(graph)), [graph])
  const data = useNamedNodes(unnamed, { isCurrent: at === undefined })
  const rows = useMemo(
    () => rowsOf(graph?.edges.filter((edge) => data.edges.has(edge.id)) ?? [], { root: { type: 'asset', id }, data }),
    [graph, data, id],
  )
  return {
    data,
    rows,
    isTruncated: graph?.truncated ?? false,
    isLoading: result.isPending,
    error: graph === undefined ? result.error : null,
    retry: () => result.refetch(),
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
