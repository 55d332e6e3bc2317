import type { Entity, Relation, RelationChange, SourceType } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { EventRecord } from '../../../platform/events/events.ts'

/** Subject, predicate and object, read from the subject to the object. */
export type Triple = { subject: Entity; predicate: string; object: Entity }

/** A relation to write. Its identity is the triple and the type of its source. */
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

/** A relation to write with its author. An existing relation keeps the author that it has. */
export type AuthoredRelation = RelationInput & { author: Author }

/** The principal that ends relations, and the time of the end (by default now). */
export type RelationEnd = Author & { at?: string }

/** Only system events write these predicates. Users may write `is_installed_on`, for software on its host. */
const reserved: ReadonlySet<string> = new Set(['found_by_gateway', 'found_by_asset_link', 'is_running_on'])

export function isReserved(predicate: string): boolean {
  return reserved.has(predicate)
}

/** The triples of a relation: a bidirectional one has a reverse too, unless it relates an entity to itself. */
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

/** The assets that a triple refers to. Nodes are pointers into another service: never resolved, never checked. */
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

/** The detail of an audit entry about a relation. */
export function relationDetail(row: RelationRow) {
  const { subject, predicate, object, source } = showRelation(row)
  return { subject, predicate, object, source }
}

/** The creation or the end of a relation. The principal is null for relations from before the author was stored. */
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

/** The events of relations that were created or deleted. A refresh of the timestamp has no event. */
export function relationEvents(change: 'created' | 'deleted', rows: readonly RelationRow[]): EventRecord[] {
  return rows.map((row) => ({
    type: `inventory.relation.${change}`,
    subject: `relation/${row.id}`,
    data: { relation: showRelation(row) },
  }))
}
