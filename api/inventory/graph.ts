import { type Static, Type } from 'typebox'
import { closed, data, Timestamp, Uuid } from '../envelope.ts'
import { entityTypes, Relation } from './relations.ts'
import {
  byId,
  caseInsensitive,
  filterText,
  freeText,
  inventoryLimits,
  managementStates,
  oneOf,
  reachabilityStates,
} from './shapes.ts'

/** Operations on the graph of assets, now and at an earlier time. */

const moment = (description: string) => Type.String({ format: 'date-time', description })

const wayQuery = {
  direction: Type.Optional(
    Type.Unsafe<'out' | 'in' | 'both'>(Type.String({ enum: ['out', 'in', 'both'], default: 'both' })),
  ),
  predicates: Type.Optional(
    Type.String({ minLength: 1, maxLength: 2048, description: 'Only these predicates, separated by commas' }),
  ),
}

const at = Type.Optional(moment('The graph at this time'))

const boundsQuery = {
  depth: Type.Optional(Type.Integer({ minimum: 1, maximum: inventoryLimits.graphDepth, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: inventoryLimits.graphNodes, default: 500 })),
}

const GraphNode = closed({
  type: oneOf(entityTypes),
  id: Uuid,
  name: Type.Optional(Type.String()),
  functional_object_type: Type.Optional(Type.String()),
  manufacturer: Type.Optional(Type.String()),
  management_state: Type.Optional(oneOf(managementStates)),
  reachability_state: Type.Optional(oneOf(reachabilityStates)),
  depth: Type.Integer({ minimum: 0 }),
})
export type GraphNode = Static<typeof GraphNode>

/** A relation without its metadata. A topology contains many relations, so the response must stay small. */
const Edge = closed({
  id: Relation.properties.id,
  subject: Relation.properties.subject,
  predicate: Relation.properties.predicate,
  object: Relation.properties.object,
})
export type GraphEdge = Static<typeof Edge>

const Graph = closed({ nodes: Type.Array(GraphNode), edges: Type.Array(Relation), truncated: Type.Boolean() })

const Path = closed({
  found: Type.Boolean(),
  nodes: Type.Array(GraphNode),
  edges: Type.Array(Relation),
  truncated: Type.Boolean({ description: 'The search stopped at its limit: a path may exist' }),
})

const ChangedNode = closed({
  type: Type.Literal('asset'),
  id: Uuid,
  name: Type.Optional(Type.String()),
  functional_object_type: Type.Optional(Type.String()),
  fromVersion: Type.Integer({ minimum: 1 }),
  toVersion: Type.Integer({ minimum: 1 }),
  changes: Type.Array(closed({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() })),
})

const Part = closed({ nodes: Type.Array(GraphNode), edges: Type.Array(Relation) })

const GraphDifference = closed({
  from: Timestamp,
  to: Timestamp,
  added: Part,
  removed: Part,
  changed: closed({
    nodes: Type.Array(ChangedNode),
    edges: Type.Array(closed({ before: Relation, after: Relation }), {
      description: 'Deleted and created again in between',
    }),
  }),
})

export const graphOperations = {
  readGraph: {
    method: 'GET',
    path: '/assets/{id}/graph',
    summary: 'Read the graph of an asset; permissions are checked for every node',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed({ ...wayQuery, at, ...boundsQuery }),
    answers: { 200: data(Graph) },
    errors: ['not_found', 'history_gone'],
  },
  readTopology: {
    method: 'GET',
    path: '/topology',
    summary: 'Read the topology: matching assets, their related nodes, and the relations between them',
    description:
      'Matching assets have depth 0, related nodes depth 1. For an earlier time, the filter applies to current assets, ' +
      'and without `filter` and `q`, deleted assets are included.',
    access: 'inventory_read_asset_data',
    query: closed({
      filter: Type.Optional(filterText),
      caseInsensitive,
      q: freeText,
      predicates: wayQuery.predicates,
      at,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: inventoryLimits.topologyNodes, default: 2000 })),
    }),
    answers: {
      200: data(
        closed({
          nodes: Type.Array(GraphNode),
          edges: Type.Array(Edge),
          truncated: Type.Boolean({ description: 'The result is truncated at `limit`' }),
        }),
      ),
    },
    errors: ['invalid_filter', 'unknown_property', 'history_gone'],
  },
  readGraphDifference: {
    method: 'GET',
    path: '/assets/{id}/graph/difference',
    summary: 'Compare the graph of an asset at two times',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed({
      ...wayQuery,
      from: moment('The earlier time'),
      to: Type.Optional(moment('The later time; default: now')),
      ...boundsQuery,
    }),
    answers: { 200: data(GraphDifference) },
    errors: ['not_found', 'graph_too_large', 'history_gone'],
  },
  readPath: {
    method: 'GET',
    path: '/assets/{id}/path',
    summary: 'Find a shortest path between two assets, over readable assets',
    description:
      'Relations that say how an asset was found or where it is assigned are followed only if no other path exists, or if ' +
      '`predicates` names them.',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed({
      ...wayQuery,
      at,
      depth: Type.Optional(
        Type.Integer({ minimum: 1, maximum: inventoryLimits.graphDepth, default: inventoryLimits.graphDepth }),
      ),
      to: Uuid,
    }),
    answers: { 200: data(Path) },
    errors: ['not_found', 'asset_not_found', 'history_gone'],
  },
} as const
