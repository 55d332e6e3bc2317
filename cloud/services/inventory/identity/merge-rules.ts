import { isDeepStrictEqual } from 'node:util'
import type { Entity } from '@millwright/api/inventory.ts'
import { canonical } from '../assets/asset.ts'
import { type Document, isObject, objectsOf, type PlainObject } from '../assets/document.ts'
import type { RelationRow, StatedRelation } from '../relations/relation.ts'

export type Preference = 'this' | 'other'

const states = ['management_state', 'reachability_state', 'trust_state']

/** What an entry of a list is recognised by, where it is not by all of it. */
const entryNames = ['id', 'key', 'operation_name', 'location_type'] as const

/** The document of two assets that are one. Where both say something the preferred one is right. */
export function mergedDocument(asset: PlainObject, other: PlainObject, prefer: Preference): Document {
  const [first, second] = prefer === 'this' ? [asset, other] : [other, asset]
  const { created_timestamp, last_modified_timestamp } = asset
  const known = Object.fromEntries(states.map((name) => [name, knownState(first[name], second[name])]))
  const custom_properties = objectsOf(filled(first.custom_properties ?? [], second.custom_properties ?? []))
  const merged = {
    ...(filled(first, second) as PlainObject),
    ...Object.fromEntries(Object.entries(known).filter(([, state]) => state !== undefined)),
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

/** The first, with what it lacks taken from the second. */
function filled(first: unknown, second: unknown): unknown {
  if (first === undefined) return second
  if (Array.isArray(first) && Array.isArray(second)) {
    const known = new Set(first.map(entryKey))
    return [...first, ...second.filter((entry) => !known.has(entryKey(entry)))]
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

/** The document without what a merge brought; what was changed since then stays. */
export function revertedDocument(current: PlainObject, merge: { before: PlainObject; after: PlainObject }): Document {
  return canonical(reverted(current, merge.before, merge.after) as PlainObject)
}

function reverted(current: unknown, before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return current
  if (isDeepStrictEqual(current, after)) return before
  if (Array.isArray(current) && Array.isArray(before) && Array.isArray(after)) {
    const brought = after.filter((entry) => !includes(before, entry))
    const taken = before.filter((entry) => !includes(after, entry) && !includes(current, entry))
    return [...current.filter((entry) => !includes(brought, entry)), ...taken]
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

type Ends = { assetId: string; otherId: string }

/** Relations of the other asset as relations of this one. Those between the two are no more. */
export function turnedRelations(relations: readonly RelationRow[], ends: Ends): StatedRelation[] {
  return relations.filter((row) => !isBetween(row, ends)).map((row) => pointedAt(statedOf(row), ends))
}

export type Taking = Ends & {
  /** The relations of the other one. */
  relations: readonly RelationRow[]
  /** Those that this one has, as far as they may be equal. */
  current: readonly RelationRow[]
}

/** What this one gets of the relations of the other. Those that it has already are not stated again. */
export function takenRelations({ assetId, otherId, relations, current }: Taking) {
  const ends = { assetId, otherId }
  const had = new Set(current.map((row) => keyOfRelation(statedOf(row))))
  const hasToo = (row: RelationRow) => had.has(keyOfRelation(pointedAt(statedOf(row), ends)))
  const others = relations.filter((row) => !isBetween(row, ends))
  return {
    restate: others.filter((row) => !hasToo(row)).map((row) => pointedAt(statedOf(row), ends)),
    united: others.filter(hasToo).map(({ id }) => id),
  }
}

export type Parting = Ends & {
  /** The relations that the other one had when it was merged. */
  ended: readonly RelationRow[]
  /** Those of them that this one had too. */
  united: readonly string[]
  /** The relations that this one has now, as far as they may be equal. */
  current: readonly RelationRow[]
  /** Whether the asset at the other end is still there. */
  isThere: (assetId: string) => boolean
}

/** What parting does to relations: one that is still there goes back, and one that both had is had by both again. */
export function partedRelations({ assetId, otherId, ended, united, current, isThere }: Parting) {
  const ends = { assetId, otherId }
  const now = new Map(current.map((row) => [keyOfRelation(statedOf(row)), row]))
  const both = new Set(united)
  const end: string[] = []
  const restate: StatedRelation[] = []
  for (const row of ended) {
    const relation = statedOf(row)
    const others = [relation.subject, relation.object].filter(({ type, id }) => type === 'asset' && id !== otherId)
    if (!others.every(({ id }) => id === assetId || isThere(id))) continue
    if (!isBetween(row, ends)) {
      const taken = now.get(keyOfRelation(pointedAt(relation, ends)))
      if (taken === undefined) continue
      if (!both.has(row.id)) end.push(taken.id)
    }
    restate.push(relation)
  }
  return { end, restate }
}

function statedOf(row: RelationRow): StatedRelation {
  return {
    subject: { type: row.subjectType, id: row.subjectId },
    predicate: row.predicate,
    object: { type: row.objectType, id: row.objectId },
    source: { type: row.sourceType, ...(row.sourceValue === null ? {} : { value: row.sourceValue }) },
  }
}

function pointedAt(relation: StatedRelation, { assetId, otherId }: Ends): StatedRelation {
  const turn = (entity: Entity): Entity =>
    entity.type === 'asset' && entity.id === otherId ? { type: 'asset', id: assetId } : entity
  return { ...relation, subject: turn(relation.subject), object: turn(relation.object) }
}

function touches({ subjectType, subjectId, objectType, objectId }: RelationRow, id: string): boolean {
  return (subjectType === 'asset' && subjectId === id) || (objectType === 'asset' && objectId === id)
}

function isBetween(row: RelationRow, { assetId, otherId }: Ends): boolean {
  return touches(row, assetId) && touches(row, otherId)
}

function keyOfRelation({ subject, predicate, object, source }: StatedRelation): string {
  return JSON.stringify([subject.type, subject.id, predicate, object.type, object.id, source.type])
}
