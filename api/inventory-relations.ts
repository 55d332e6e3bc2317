import { type Static, Type } from 'typebox'
import { closed, data, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import {
  byId,
  caseInsensitive,
  cursorQuery,
  filterText,
  inventoryLimits,
  oneOf,
  sourceTypes,
} from './inventory-shapes.ts'

/** Relations between assets, and between them and the nodes of hierarchies. */

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
  description: 'What an asset is called, or was before it was deleted; null where that is not known, and for nodes',
})

export const RelationChange = closed({
  time: Timestamp,
  change: oneOf(['created', 'deleted'] as const),
  principal: Type.Union([Uuid, Type.Null()]),
  principalName: Type.Union([Type.String(), Type.Null()], {
    description: 'null when it was stated before it was kept who did',
  }),
  source: Relation.properties.source,
  relation: Relation,
  subjectName: lastName,
  objectName: lastName,
})
export type RelationChange = Static<typeof RelationChange>

/** One line of free text: what a predicate may be. */
export const Predicate = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'text without control characters',
})

/** A relation as somebody states it. */
const RelationStatement = closed({
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
export type RelationStatement = Static<typeof RelationStatement>

/** What became of one of many: `created` when at least one direction is new; with `failed` comes the problem. */
const StatementResult = closed({
  outcome: oneOf(['created', 'refreshed', 'failed'] as const),
  ids: Type.Optional(Type.Array(Uuid, { description: 'Of the relation, and of its reverse' })),
  type: Type.Optional(Type.String()),
  title: Type.Optional(Type.String()),
  status: Type.Optional(Type.Integer()),
  detail: Type.Optional(Type.String()),
  code: Type.Optional(
    Type.String({
      description: 'invalid_body, asset_not_found, forbidden or system_managed_predicate: as for one relation alone',
    }),
  ),
  errors: Type.Optional(Type.Array(closed({ pointer: Type.String(), code: Type.String(), detail: Type.String() }))),
})
export type StatementResult = Static<typeof StatementResult>

export const relationOperations = {
  listRelations: {
    method: 'GET',
    path: '/relations',
    summary: 'All relations of the tenant that match',
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
    summary: 'Relate two things; stating it again moves its timestamp',
    access: 'glb_inventory_write_relation_data',
    body: data(RelationStatement),
    answers: { 201: data(Type.Array(Relation)), 200: data(Type.Array(Relation)) },
    errors: ['asset_not_found', 'forbidden', 'system_managed_predicate'],
  },
  createRelations: {
    method: 'POST',
    path: '/relations/batch',
    summary: 'Create up to 1,000 relations, with one result each',
    description: 'A relation that is malformed or cannot be written fails alone; the others are written.',
    batchItems: '/data/relations',
    access: 'glb_inventory_write_relation_data',
    bodyBytes: inventoryLimits.batchBytes,
    body: data(closed({ relations: Type.Array(RelationStatement, { minItems: 1, maxItems: inventoryLimits.batch }) })),
    answers: {
      200: data(
        closed({
          created: Type.Integer(),
          refreshed: Type.Integer(),
          failed: Type.Integer(),
          results: Type.Array(StatementResult, { description: 'In the order given' }),
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
    summary: 'Delete relations that match a narrow filter, a hundred at a time',
    access: 'glb_inventory_write_relation_data',
    query: closed({ relationsFilter: filterText, caseInsensitive }),
    answers: { 200: data(closed({ deletable: Type.Integer(), deleted: Type.Integer() })) },
    errors: ['forbidden', 'invalid_filter', 'unknown_property', 'filter_not_narrow'],
  },
  listPredicates: {
    method: 'GET',
    path: '/relations/predicates',
    summary: 'Predicates in use, with counts',
    access: 'glb_inventory_read_relation_data',
    answers: { 200: data(Type.Array(closed({ predicate: Type.String(), count: Type.Integer() }))) },
  },
  listAssetRelations: {
    method: 'GET',
    path: '/assets/{id}/relations',
    summary: 'Relations of an asset, in and out; those to assets the caller may not read are not there',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(Relation) },
    errors: ['not_found'],
  },
  readRelationHistory: {
    method: 'GET',
    path: '/assets/{id}/relations/history',
    summary: 'Who related an asset to what and when, and who ended it; newest first',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed(pageQuery),
    answers: { 200: page(RelationChange) },
    errors: ['not_found'],
  },
} as const
