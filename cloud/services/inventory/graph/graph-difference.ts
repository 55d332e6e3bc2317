import { isDeepStrictEqual } from 'node:util'
import type { RelationRow } from '../relations/relation.ts'
import { keyOf, type ReachedNode, type Traversal } from './graph.ts'
import type { AssetVersion } from './graph-store.ts'

type Part = { nodes: ReachedNode[]; edges: RelationRow[] }

export type Difference = {
  added: Part
  removed: Part
  /** The assets that were reached at both times. */
  common: string[]
  /** Relations that ended and were created again with another id. */
  recreated: { before: RelationRow; after: RelationRow }[]
}

/** Returns the result of a traversal at a time when its start did not exist. */
export function emptyTraversal(): Traversal {
  return { nodes: new Map(), edges: new Map(), frontier: [], depth: 0, truncated: false }
}

/** Compares the parts of the graph that were reached from the same asset at two times. */
export function differenceOf(before: Traversal, after: Traversal): Difference {
  const oldEdges = new Map([...before.edges.values()].map((row) => [relationKey(row), row]))
  const newEdges = new Map([...after.edges.values()].map((row) => [relationKey(row), row]))
  return {
    added: { nodes: onlyIn(after.nodes, before.nodes), edges: onlyIn(newEdges, oldEdges) },
    removed: { nodes: onlyIn(before.nodes, after.nodes), edges: onlyIn(oldEdges, newEdges) },
    common: [...after.nodes.values()]
      .filter((entity) => entity.type === 'asset' && before.nodes.has(keyOf(entity)))
      .map(({ id }) => id),
    recreated: [...newEdges].flatMap(([key, row]) => {
      const earlier = oldEdges.get(key)
      return earlier === undefined || earlier.id === row.id ? [] : [{ before: earlier, after: row }]
    }),
  }
}

/** Returns those values of the first map whose keys are not in the second map. */
function onlyIn<Value>(first: ReadonlyMap<string, Value>, others: ReadonlyMap<string, Value>): Value[] {
  return [...first].filter(([key]) => !others.has(key)).map(([, value]) => value)
}

/** Returns the text that identifies a relation independently of its id. */
function relationKey(row: RelationRow): string {
  const { subjectType, subjectId, predicate, objectType, objectId, sourceType } = row
  return JSON.stringify([subjectType, subjectId, predicate, objectType, objectId, sourceType])
}

/** The field that is left out of a difference, because it changes with every write. */
const ignored = 'last_modified_timestamp'

/** Returns the change of an asset between two versions, with the fields that differ. */
export function changeOf(before: AssetVersion, after: AssetVersion) {
  const { name, functional_object_type: objectType } = after.document
  return {
    type: 'asset' as const,
    id: after.id,
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof objectType === 'string' ? { functional_object_type: objectType } : {}),
    fromVersion: before.version,
    toVersion: after.version,
    changes: changedFields(fieldsOf(before), fieldsOf(after)),
  }
}

function fieldsOf({ accessGroup, document }: AssetVersion): Record<string, unknown> {
  return { access_group: accessGroup, ...document }
}

function changedFields(before: Record<string, unknown>, after: Record<string, unknown>) {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((field) => field !== ignored && !isDeepStrictEqual(before[field], after[field]))
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }))
}
