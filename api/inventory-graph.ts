import { type Static, Type } from 'typebox'
import { closed, data, Timestamp, Uuid } from './envelope.ts'
import { entityTypes, Relation } from './inventory-relations.ts'
import {
  byId,
  caseInsensitive,
  filterText,
  freeText,
  inventoryLimits,
  managementStates,
  oneOf,
  reachabilityStates,
} from './inventory-shapes.ts'

/** What hangs on an asset, now and before. */

const moment = (description: string) => Type.String({ format: 'date-time', description })

const wayQuery = {
  direction: Type.Optional(
    Type.Unsafe<'out' | 'in' | 'both'>(Type.String({ enum: ['out', 'in', 'both'], default: 'both' })),
  ),
  predicates: Type.Optional(
    Type.String({ minLength: 1, maxLength: 2048, description: 'Only these, separated by commas' }),
  ),
}

const at = Type.Optional(moment('The graph as it was at this time'))

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

/** A relation without what is said about it: of a whole plant there are many. */
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
  truncated: Type.Boolean({ description: 'The search was given up: there may be a way that was not found' }),
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
      description: 'Ended and stated again in between',
    }),
  }),
})

export const graphOperations = {
  readGraph: {
    method: 'GET',
    path: '/assets/{id}/graph',
    summary: 'What hangs on an asset: checked at every hop, safe with cycles, bounded',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed({ ...wayQuery, at, ...boundsQuery }),
    answers: { 200: data(Graph) },
    errors: ['not_found', 'history_gone'],
  },
  readTopology: {
    method: 'GET',
    path: '/topology',
    summary:
      'The plant as a graph: assets that match, what they are related to, and the relations between all of these',
    description:
      'Those that match have depth 0, what they are related to depth 1. Of a time before, those count which match now, ' +
      'and without filter and q also those that are gone by now.',
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
          truncated: Type.Boolean({ description: 'There is more than limit says' }),
        }),
      ),
    },
    errors: ['invalid_filter', 'unknown_property', 'history_gone'],
  },
  readGraphDifference: {
    method: 'GET',
    path: '/assets/{id}/graph/difference',
    summary: 'What hung on an asset at one time and not at another, and what was changed in between',
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed({
      ...wayQuery,
      from: moment('The earlier time'),
      to: Type.Optional(moment('The later time; now unless said otherwise')),
      ...boundsQuery,
    }),
    answers: { 200: data(GraphDifference) },
    errors: ['not_found', 'graph_too_large', 'history_gone'],
  },
  readPath: {
    method: 'GET',
    path: '/assets/{id}/path',
    summary: 'A shortest way from one asset to another, over what the caller may read',
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
