import type { Entity, Relation, RelationChange, SourceType } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { EventRecord } from '../../../platform/events/events.ts'

/** A subject, a predicate and an object. The predicate is read from the subject to the object. */
export type Triple = { subject: Entity; predicate: string; object: Entity }

/** A relation to write. The triple and the type of the source identify it. */
export type RelationInput = Triple & { source: { type: SourceType; value?: string | undefined } }

/** A stored relation. */
export type RelationRow = {
  id: string
  subjectType: Entity['type']
  subjectId: string
  predicate: string
  objectType: Entity['type']
  objectId: string
  sourceType: SourceType
  sourceValue: string | null
  createdAt: string
  modifiedAt: string
}

/** The principal that creates or ends relations. */
export type Author = { principalId: string | null; principalName: string }

export function authorOf({ principal }: Caller): Author {
  return { principalId: principal.id, principalName: principal.name }
}

/** A relation to write, with its author. An existing relation keeps its stored author. */
export type AuthoredRelation = RelationInput & { author: Author }

/** The principal that ends relations, and the time of the end. The default time is now. */
export type RelationEnd = Author & { at?: string }

/**
 * The predicates that only system events write. `is_installed_on` is not reserved, because users also write it to
 * relate software to its host.
 */
const reserved: ReadonlySet<string> = new Set(['found_by_gateway', 'found_by_asset_link', 'is_running_on'])

export function isReserved(predicate: string): boolean {
  return reserved.has(predicate)
}

/**
 * Returns the triples of a relation. A bidirectional relation also has the reverse triple, unless it relates an entity to
 * itself.
 */
export function triplesOf({
  subject,
  predicate,
  object,
  isBidirectional = false,
}: Triple & { isBidirectional?: boolean }) {
  const forward: Triple = { subject, predicate, object }
  const reverse: Triple = { subject: object, predicate, object: subject }
  return isBidirectional && !sameEntity(subject, object) ? [forward, reverse] : [forward]
}

export function sameEntity(one: Entity, other: Entity): boolean {
  return one.id === other.id && one.type === other.type
}

/**
 * Returns the assets that a triple refers to. Nodes belong to another service, so the inventory never resolves or
 * checks them.
 */
export function assetsOf({ subject, object }: Triple): string[] {
  return [...new Set([subject, object].filter(({ type }) => type === 'asset').map(({ id }) => id))]
}

export function showRelation(row: RelationRow): Relation {
  return {
    id: row.id,
    subject: { type: row.subjectType, id: row.subjectId },
    predicate: row.predicate,
    object: { type: row.objectType, id: row.objectId },
    source: { type: row.sourceType, ...(row.sourceValue === null ? {} : { value: row.sourceValue }) },
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

/** Returns the detail of an audit entry about a relation. */
export function relationDetail(row: RelationRow) {
  const { subject, predicate, object, source } = showRelation(row)
  return { subject, predicate, object, source }
}

/** The creation or the end of a relation. The principal is null for old relations that were stored without an author. */
export type RelationChangeRow = RelationRow & {
  time: string
  change: 'created' | 'deleted'
  principal: string | null
  principalName: string | null
  subjectName: string | null
  objectName: string | null
}

export function showRelationChange(row: RelationChangeRow): RelationChange {
  const { time, change, principal, principalName, subjectName, objectName } = row
  const relation = showRelation(row)
  return { time, change, principal, principalName, source: relation.source, relation, subjectName, objectName }
}

/** Returns the events of relations that were created or deleted. A refresh of the timestamp has no event. */
export function relationEvents(change: 'created' | 'deleted', rows: readonly RelationRow[]): EventRecord[] {
  return rows.map((row) => ({
    type: `inventory.relation.${change}`,
    subject: `relation/${row.id}`,
    data: { relation: showRelation(row) },
  }))
}
