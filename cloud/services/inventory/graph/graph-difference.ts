import { isDeepStrictEqual } from 'node:util'
import type { RelationRow } from '../relations/relation.ts'
import { keyOf, type Reached, type Walk } from './graph.ts'
import type { AssetVersion } from './graph-store.ts'

type Part = { nodes: Reached[]; edges: RelationRow[] }

export type Difference = {
  added: Part
  removed: Part
  /** Assets that were reached both times. */
  kept: string[]
  /** Relations that were ended and stated again: others, that say the same. */
  restated: { before: RelationRow; after: RelationRow }[]
}

/** From something that was not there nothing is reached. */
export function noWalk(): Walk {
  return { nodes: new Map(), edges: new Map(), frontier: [], depth: 0, truncated: false }
}

/** What was reached from the same thing at two times, compared. */
export function differenceOf(before: Walk, after: Walk): Difference {
  const was = new Map([...before.edges.values()].map((row) => [statementOf(row), row]))
  const is = new Map([...after.edges.values()].map((row) => [statementOf(row), row]))
  return {
    added: { nodes: lacking(after.nodes, before.nodes), edges: lacking(is, was) },
    removed: { nodes: lacking(before.nodes, after.nodes), edges: lacking(was, is) },
    kept: [...after.nodes.values()]
      .filter((entity) => entity.type === 'asset' && before.nodes.has(keyOf(entity)))
      .map(({ id }) => id),
    restated: [...is].flatMap(([key, row]) => {
      const earlier = was.get(key)
      return earlier === undefined || earlier.id === row.id ? [] : [{ before: earlier, after: row }]
    }),
  }
}

function lacking<Value>(some: ReadonlyMap<string, Value>, others: ReadonlyMap<string, Value>): Value[] {
  return [...some].filter(([key]) => !others.has(key)).map(([, value]) => value)
}

/** What a relation is recognised by. */
function statementOf(row: RelationRow): string {
  const { subjectType, subjectId, predicate, objectType, objectId, sourceType } = row
  return JSON.stringify([subjectType, subjectId, predicate, objectType, objectId, sourceType])
}

/** It changes with every change, and says nothing about it. */
const silent = 'last_modified_timestamp'

/** What became of an asset, with the fields that became others. */
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
    .filter((field) => field !== silent && !isDeepStrictEqual(before[field], after[field]))
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }))
}
