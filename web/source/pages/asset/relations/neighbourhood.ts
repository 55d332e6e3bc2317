import type { Entity, GraphNode, Relation } from '@millwright/api/inventory.ts'
import { useQueries } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Failure } from '../../../app/api/failure.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { emptyGraph, type GraphData, graphOf, joined, keyOf } from '../../../components/graph/graph-data.ts'
import { relationEvents } from '../asset-data.ts'

/** A relation of an asset, seen from it. */
export type RelationRow = { relation: Relation; way: 'out' | 'in'; other: Entity; thing: GraphNode | undefined }

export type Around = {
  data: GraphData
  rows: readonly RelationRow[]
  isTruncated: boolean
  isWaiting: boolean
  error: Failure | null
  retry: () => void
  /** Also what this thing is related to. */
  expand: (key: string) => void
}

const mostThings = 500

/** What is around an asset: one step at first, and one more from everything that was chosen. */
export function useAround(id: string, at: string | undefined): Around {
  const query = useOperationQuery()
  const [chosen, setChosen] = useState<readonly string[]>([])
  const ids = [id, ...chosen]
  const { graphs, first } = useQueries({
    queries: ids.map((each) => ({
      ...query(
        ['inventory', 'readGraph'],
        { params: { id: each }, query: { limit: mostThings, ...(at && { at }) } },
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
        .reduce(joined, emptyGraph),
    [stamp],
  )
  const root = first?.data?.data
  return {
    data,
    rows: rowsOf(root?.edges ?? [], { root: { type: 'asset', id }, data }),
    isTruncated: root?.truncated ?? false,
    isWaiting: first?.isPending ?? true,
    error: root === undefined ? (first?.error ?? null) : null,
    retry: () => first?.refetch(),
    expand(key) {
      const thing = data.nodes.get(key)
      if (thing?.type === 'asset' && !ids.includes(thing.id)) setChosen([...chosen, thing.id])
    },
  }
}

/** The direction of a relation and its other end, for who stands at one end of it. */
export function seenFrom(here: Entity, { subject, object }: Relation): { way: 'out' | 'in'; other: Entity } {
  return keyOf(subject) === keyOf(here) ? { way: 'out', other: object } : { way: 'in', other: subject }
}

function rowsOf(edges: readonly Relation[], { root, data }: { root: Entity; data: GraphData }): RelationRow[] {
  const rows = edges.map((relation): RelationRow => {
    const seen = seenFrom(root, relation)
    return { relation, ...seen, thing: data.nodes.get(keyOf(seen.other)) }
  })
  const order = ({ way, relation, thing }: RelationRow) => `${way} ${relation.predicate} ${thing?.name ?? ''}`
  return rows.toSorted((one, other) => order(one).localeCompare(order(other)))
}
