import { type Static, Type } from 'typebox'
import { closed, data, page, pageQuery, Timestamp, Uuid } from '../envelope.ts'
import { byId, caseInsensitive, cursorQuery, filterText, inventoryLimits, oneOf, sourceTypes } from './shapes.ts'

/** Operations on relations between assets, and between assets and nodes of other systems. */

export const entityTypes = ['asset', 'node'] as const
const Entity = closed({ type: oneOf(entityTypes), id: Uuid })
export type Entity = Static<typeof Entity>

export const Relation = closed({
  id: Uuid,
  subject: Entity,
  predicate: Type.String(),
  object: Entity,
  source: closed({ type: oneOf(sourceTypes), value: Type.Optional(Type.String()) }),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type Relation = Static<typeof Relation>

const lastName = Type.Union([Type.String(), Type.Null()], {
  description: 'The name of the asset, or its last name if it was deleted; null if unknown, and for nodes',
})

export const RelationChange = closed({
  time: Timestamp,
  change: oneOf(['created', 'deleted'] as const),
  principal: Type.Union([Uuid, Type.Null()]),
  principalName: Type.Union([Type.String(), Type.Null()], {
    description: 'null for relations of versions that did not record the author',
  }),
  source: Relation.properties.source,
  relation: Relation,
  subjectName: lastName,
  objectName: lastName,
})
export type RelationChange = Static<typeof RelationChange>

/** A predicate: one line of text. */
export const Predicate = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'text without control characters',
})

/** A relation in a request. */
const RelationBody = closed({
  subject: Entity,
  predicate: Predicate,
  object: Entity,
  isBidirectional: Type.Optional(Type.Boolean()),
  source: Type.Optional(
    closed({
      type: Type.Optional(Type.Literal('manual')),
      value: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    }),
  ),
})
export type RelationBody = Static<typeof RelationBody>

/**
 * The result of one relation of a batch. The outcome is `created` if at least one direction of the relation is new.
 * The outcome is `failed`, with the problem, if the relation was not written.
 */
const RelationBatchResult = closed({
  outcome: oneOf(['created', 'refreshed', 'failed'] as const),
  ids: Type.Optional(Type.Array(Uuid, { description: 'The ids of the relation and of its reverse' })),
  type: Type.Optional(Type.String()),
  title: Type.Optional(Type.String()),
  status: Type.Optional(Type.Integer()),
  detail: Type.Optional(Type.String()),
  code: Type.Optional(
    Type.String({
      description: 'invalid_body, asset_not_found, forbidden or system_managed_predicate, as for a single relation',
    }),
  ),
  errors: Type.Optional(Type.Array(closed({ pointer: Type.String(), code: Type.String(), detail: Type.String() }))),
})
export type RelationBatchResult = Static<typeof RelationBatchResult>

export const relationOperations = {
  listRelations: {
    method: 'GET',
    path: '/relations',
    summary: 'List matching relations of the tenant',
    access: 'glb_inventory_read_relation_data',
    query: closed({
      ...pageQuery,
      ...cursorQuery,
      filter: Type.Optional(filterText),
      caseInsensitive,
      sort: Type.Optional(Type.String({ maxLength: 256 })),
    }),
    answers: { 200: page(Relation) },
    errors: ['invalid_filter', 'unknown_property', 'sort_on_array', 'invalid_cursor'],
  },
  createRelation: {
    method: 'POST',
    path: '/relations',
    summary: 'Create a relation, or update the timestamp of an existing one',
    access: 'glb_inventory_write_relation_data',
    body: data(RelationBody),
    answers: { 201: data(Type.Array(Relation)), 200: data(Type.Array(Relation)) },
    errors: ['asset_not_found', 'forbidden', 'system_managed_predicate', 'too_many_relations'],
  },
  createRelations: {
    method: 'POST',
    path: '/relations/batch',
    summary: 'Create up to 1,000 relations, with one result each',
    description: 'An invalid relation fails; the other relations are written.',
    batchItems: '/data/relations',
    access: 'glb_inventory_write_relation_data',
    bodyBytes: inventoryLimits.batchBytes,
    body: data(closed({ relations: Type.Array(RelationBody, { minItems: 1, maxItems: inventoryLimits.batch }) })),
    answers: {
      200: data(
        closed({
          created: Type.Integer(),
          refreshed: Type.Integer(),
          failed: Type.Integer(),
          results: Type.Array(RelationBatchResult, { description: 'In the order of the request' }),
        }),
      ),
    },
  },
  deleteRelations: {
    method: 'DELETE',
    path: '/relations',
    summary: 'Delete relations by id',
    access: 'glb_inventory_write_relation_data',
    body: data(
      closed({
        ids: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.relationsDeletedById, uniqueItems: true }),
      }),
    ),
    answers: { 200: data(closed({ deleted: Type.Integer(), notFound: Type.Array(Uuid) })) },
    errors: ['forbidden'],
  },
  deleteRelationsByFilter: {
    method: 'DELETE',
    path: '/relations/query-results',
    summary: 'Delete relations that match a specific filter, up to one hundred',
    access: 'glb_inventory_write_relation_data',
    query: closed({ relationsFilter: filterText, caseInsensitive }),
    answers: { 200: data(closed({ deletable: Type.Integer(), deleted: Type.Integer() })) },
    errors: ['forbidden', 'invalid_filter', 'unknown_property', 'filter_not_narrow'],
  },
  listPredicates: {
    method: 'GET',
    path: '/relations/predicates',
    summary: 'List the predicates in use, with counts',
    access: 'glb_inventory_read_relation_data',
    answers: { 200: data(Type.Array(closed({ predicate: Type.String(), count: Type.Integer() }))) },
  },
  listAssetRelations: {
    method: 'GET',
    path: '/assets/{id}/relations',
    summary: 'List the incoming and outgoing relations of an asset to readable assets',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(Relation) },
    errors: ['not_found'],
  },
  readRelationHistory: {
    method: 'GET',
    path: '/assets/{id}/relations/history',
    summary: 'List the changes of the relations of an asset, with their authors, newest first',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(RelationChange) },
    errors: ['not_found'],
  },
} as const
