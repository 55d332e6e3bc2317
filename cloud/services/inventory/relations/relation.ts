import type { Entity, Relation, RelationChange, SourceType } from '@millwright/api/inventory.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { EventRecord } from '../../../platform/events/events.ts'

/** Subject, predicate, object: read from the subject's side. */
export type Triple = { subject: Entity; predicate: string; object: Entity }

/** A relation as somebody states it; what it is recognised by is the triple and the type of its source. */
export type StatedRelation = Triple & { source: { type: SourceType; value?: string | undefined } }

/** A relation as it is kept. */
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

/** Who states relations, or ends them. */
export type Author = { principalId: string | null; principalName: string }

export function authorOf({ principal }: Caller): Author {
  return { principalId: principal.id, principalName: principal.name }
}

/** A relation that somebody states: if it is new, it is theirs. */
export type AuthoredRelation = StatedRelation & { author: Author }

/** Who ended relations, and when; without a time, now. */
export type Ending = Author & { at?: string }

/** Written by system events alone. `is_installed_on` is not among them: people say it of software and its host. */
const reserved: ReadonlySet<string> = new Set(['found_by_gateway', 'found_by_asset_link', 'is_running_on'])

export function isReserved(predicate: string): boolean {
  return reserved.has(predicate)
}

/** What a statement says: with the reverse when it holds both ways. A thing's relation to itself is its own reverse. */
export function triplesOf({
  subject,
  predicate,
  object,
  isBidirectional = false,
}: Triple & { isBidirectional?: boolean }) {
  const stated: Triple = { subject, predicate, object }
  const reverse: Triple = { subject: object, predicate, object: subject }
  return isBidirectional && !sameEntity(subject, object) ? [stated, reverse] : [stated]
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

/** What the audit trail says of a relation. */
export function relationDetail(row: RelationRow) {
  const { subject, predicate, object, source } = showRelation(row)
  return { subject, predicate, object, source }
}

/** What became of a relation, and by whom. Nobody knows who stated one before that was kept. */
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

/** What is told of relations that came or went. A timestamp that moved is not told. */
export function relationEvents(what: 'created' | 'deleted', rows: readonly RelationRow[]): EventRecord[] {
  return rows.map((row) => ({
    type: `inventory.relation.${what}`,
    subject: `relation/${row.id}`,
    data: { relation: showRelation(row) },
  }))
}
