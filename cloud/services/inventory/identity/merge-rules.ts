import { isDeepStrictEqual } from 'node:util'
import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
import type { Entity } from '@millwright/api/inventory/inventory.ts'
import { canonical } from '../assets/asset.ts'
import { type Document, isObject, objectsOf, type PlainObject } from '../assets/document.ts'
import type { RelationInput, RelationRow } from '../relations/relation.ts'

/**
 * Rules of merging two assets and of undoing a merge, for documents and for relations. `assetId` is the asset that stays;
 * `otherId` is the asset that is merged into it and deleted.
 */

export type Preference = 'this' | 'other'

const states = ['management_state', 'reachability_state', 'trust_state']

/** The fields that identify an entry of a list. An entry without any of them is identified by its whole content. */
const entryNames = ['id', 'key', 'operation_name', 'location_type'] as const

/** Returns the merged document of two assets. Where both have a value, the preferred asset's value is used. */
export function mergedDocument(asset: PlainObject, other: PlainObject, prefer: Preference): Document {
  const [first, second] = prefer === 'this' ? [asset, other] : [other, asset]
  const { created_timestamp, last_modified_timestamp } = asset
  const mergedStates = Object.fromEntries(states.map((name) => [name, knownState(first[name], second[name])]))
  const custom_properties = objectsOf(filled(first.custom_properties ?? [], second.custom_properties ?? []))
  const merged = {
    ...(filled(first, second) as PlainObject),
    ...Object.fromEntries(Object.entries(mergedStates).filter(([, state]) => state !== undefined)),
    custom_properties: custom_properties.toSorted((a, b) => (String(a.key) < String(b.key) ? -1 : 1)),
    created_timestamp,
    last_modified_timestamp,
  }
  return canonical(merged)
}

function knownState(first: unknown, second: unknown): unknown {
  const isKnown = (state: unknown) => isObject(state) && state.state_value !== 'unknown'
  return isKnown(first) || !isKnown(second) ? (first ?? second) : second
}

/** Returns the first value, completed with the members and entries that only the second value has. */
function filled(first: unknown, second: unknown): unknown {
  if (first === undefined) return second
  if (Array.isArray(first) && Array.isArray(second)) {
    const keys = new Set(first.map(entryKey))
    return [...first, ...second.filter((entry) => !keys.has(entryKey(entry)))]
  }
  if (!isObject(first) || !isObject(second)) return first
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])]
  return Object.fromEntries(names.map((name) => [name, filled(member(first, name), member(second, name))]))
}

function member(object: PlainObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function entryKey(entry: unknown): string {
  if (!isObject(entry)) return JSON.stringify(entry)
  const name = entryNames.find((candidate) => typeof entry[candidate] === 'string')
  return name === undefined ? JSON.stringify(entry) : JSON.stringify([name, entry[name]])
}

/** Returns the document without the values that came from a merge. Values that were changed after the merge stay. */
export function revertedDocument(current: PlainObject, merge: { before: PlainObject; after: PlainObject }): Document {
  return canonical(reverted(current, merge.before, merge.after) as PlainObject)
}

/** Returns the value without the changes from `before` to `after`. Later changes stay. */
export function reverted(current: unknown, before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return current
  if (isDeepStrictEqual(current, after)) return before
  if (Array.isArray(current) && Array.isArray(before) && Array.isArray(after)) {
    const added = after.filter((entry) => !includes(before, entry))
    const removed = before.filter((entry) => !includes(after, entry) && !includes(current, entry))
    return [...current.filter((entry) => !includes(added, entry)), ...removed]
  }
  if (!isObject(current) || !isObject(before) || !isObject(after)) return current
  const names = [...new Set([...Object.keys(current), ...Object.keys(before)])]
  const members = names.map((name) => [
    name,
    reverted(member(current, name), member(before, name), member(after, name)),
  ])
  return Object.fromEntries(members.filter(([, value]) => value !== undefined))
}

function includes(entries: readonly unknown[], entry: unknown): boolean {
  return entries.some((other) => isDeepStrictEqual(other, entry))
}

type MergedPair = { assetId: string; otherId: string }

/**
 * Returns the relations of the asset `otherId`, redirected to the asset `assetId`. Relations between the two are
 * dropped.
 */
export function redirectedRelations(relations: readonly RelationRow[], pair: MergedPair): RelationInput[] {
  return relations.filter((row) => !isBetween(row, pair)).map((row) => redirected(inputOf(row), pair))
}

export type MergedRelations = MergedPair & {
  /** The relations of the asset `otherId`. */
  relations: readonly RelationRow[]
  /** Those relations of the asset `assetId` that equal one of the redirected relations. */
  current: readonly RelationRow[]
}

/**
 * Returns the relations to create for the asset that stays, and the ids of the relations that both assets had
 * (`united`).
 */
export function relationsAfterMerge({ assetId, otherId, relations, current }: MergedRelations) {
  const pair = { assetId, otherId }
  const existing = new Set(current.map((row) => keyOfRelation(inputOf(row))))
  const isShared = (row: RelationRow) => existing.has(keyOfRelation(redirected(inputOf(row), pair)))
  const others = relations.filter((row) => !isBetween(row, pair))
  return {
    create: others.filter((row) => !isShared(row)).map((row) => redirected(inputOf(row), pair)),
    united: others.filter(isShared).map(({ id }) => id),
  }
}

export type UndoneRelations = MergedPair & {
  /** The relations that the asset `otherId` had when it was merged. */
  ended: readonly RelationRow[]
  /** The ids of the relations in `ended` that the asset `assetId` also had before the merge. */
  united: readonly string[]
  /** Those current relations of the asset `assetId` that equal one of the redirected relations. */
  current: readonly RelationRow[]
  /** Returns whether the asset at the other end of a relation still exists. */
  exists: (assetId: string) => boolean
}

/**
 * Returns the relations to end and to create when a merge is undone. A relation that came from the asset `otherId` and
 * still exists moves back to that asset. A relation that both assets had is created again for `otherId` and stays on
 * `assetId`. The node of the asset `otherId` is created again in any case: if `assetId` had its own node in the same
 * hierarchy, the moved relation ended soon after the merge.
 */
export function relationsAfterUndo({ assetId, otherId, ended, united, current, exists }: UndoneRelations) {
  const pair = { assetId, otherId }
  const byKey = new Map(current.map((row) => [keyOfRelation(inputOf(row)), row]))
  const shared = new Set(united)
  const end: string[] = []
  const create: RelationInput[] = []
  for (const row of ended) {
    const relation = inputOf(row)
    const others = [relation.subject, relation.object].filter(({ type, id }) => type === 'asset' && id !== otherId)
    if (!others.every(({ id }) => id === assetId || exists(id))) continue
    if (!isBetween(row, pair)) {
      const moved = byKey.get(keyOfRelation(redirected(relation, pair)))
      if (moved === undefined && !isNodeAssignment(row)) continue
      if (moved !== undefined && !shared.has(row.id)) end.push(moved.id)
    }
    create.push(relation)
  }
  return { end, create }
}

function isNodeAssignment({ predicate, objectType }: RelationRow): boolean {
  return predicate === assignmentPredicate && objectType === 'node'
}

function inputOf(row: RelationRow): RelationInput {
  return {
    subject: { type: row.subjectType, id: row.subjectId },
    predicate: row.predicate,
    object: { type: row.objectType, id: row.objectId },
    source: { type: row.sourceType, ...(row.sourceValue === null ? {} : { value: row.sourceValue }) },
  }
}

function redirected(relation: RelationInput, { assetId, otherId }: MergedPair): RelationInput {
  const redirect = (entity: Entity): Entity =>
    entity.type === 'asset' && entity.id === otherId ? { type: 'asset', id: assetId } : entity
  return { ...relation, subject: redirect(relation.subject), object: redirect(relation.object) }
}

function touches({ subjectType, subjectId, objectType, objectId }: RelationRow, id: string): boolean {
  return (subjectType === 'asset' && subjectId === id) || (objectType === 'asset' && objectId === id)
}

function isBetween(row: RelationRow, { assetId, otherId }: MergedPair): boolean {
  return touches(row, assetId) && touches(row, otherId)
}

function keyOfRelation({ subject, predicate, object, source }: RelationInput): string {
  return JSON.stringify([subject.type, subject.id, predicate, object.type, object.id, source.type])
}
