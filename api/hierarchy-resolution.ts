import { Type } from 'typebox'
import { media } from './contract.ts'
import { closed, data, Uuid } from './envelope.ts'
import { hierarchyLimits } from './hierarchy-limits.ts'
import { PathNode } from './hierarchy-nodes.ts'
import { inventoryLimits } from './inventory/shapes.ts'

/** Operations with which other services resolve nodes. */

const knownVersion = Type.Optional(
  Type.Integer({ description: 'The version of the nodes that the service already has' }),
)
const ResolvedNodes = closed({
  version: Type.Integer({ description: 'Changes with every change of the nodes of the hierarchy' }),
  nodes: Type.Optional(
    Type.String({
      description:
        'The ids of the nodes in order, 16 bytes each, as base64. Omitted if the version is the known version.',
    }),
  ),
})

export const resolutionOperations = {
  resolveNode: {
    method: 'POST',
    path: '/resolve/node',
    summary: 'List the ids of a node and of all nodes below, for a service',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ nodeId: Uuid, includeBelow: Type.Boolean(), knownVersion })),
    answers: { 200: data(ResolvedNodes) },
    errors: ['node_not_found', 'forbidden'],
  },
  resolveHierarchy: {
    method: 'POST',
    path: '/resolve/hierarchy',
    summary: 'List the ids of all nodes of a hierarchy, for a service',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ hierarchyId: Uuid, knownVersion })),
    answers: { 200: data(ResolvedNodes) },
    errors: ['hierarchy_not_found', 'forbidden'],
  },
  resolveChildren: {
    method: 'POST',
    path: '/resolve/children',
    summary: 'The children of a node, or of the top level, with the ids of all nodes below each of them, for a service',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ hierarchyId: Uuid, parentId: Type.Optional(Uuid) })),
    answers: {
      200: data(
        closed({
          hierarchyName: Type.String(),
          path: Type.Array(PathNode, { description: 'From the top level to the parent' }),
          children: Type.Array(
            closed({
              ...PathNode.properties,
              childCount: Type.Integer(),
              nodes: Type.String({
                description: 'The ids of the child and of all nodes below it, 16 bytes each, as base64',
              }),
            }),
            { description: `In their order, at most ${hierarchyLimits.childrenResolved}` },
          ),
          truncated: Type.Boolean({ description: 'The parent has more children' }),
        }),
      ),
    },
    errors: ['hierarchy_not_found', 'node_not_found', 'forbidden'],
  },
  resolveTree: {
    method: 'POST',
    path: '/resolve/tree',
    summary: 'The nodes of a hierarchy with their names and parents, for a service',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ hierarchyId: Uuid })),
    answers: {
      200: data(
        closed({
          nodes: Type.Array(closed({ ...PathNode.properties, parentId: Type.Union([Uuid, Type.Null()]) }), {
            description: `Siblings in their order, at most ${hierarchyLimits.treeResolved} nodes`,
          }),
          truncated: Type.Boolean({ description: 'The hierarchy has more nodes' }),
        }),
      ),
    },
    errors: ['hierarchy_not_found', 'forbidden'],
  },
  exportTree: {
    method: 'POST',
    path: '/export-pages',
    summary: 'The nodes of one hierarchy in the order of the tree, for the export service',
    access: 'on-behalf',
    readOnly: true,
    body: data(
      closed({
        hierarchyId: Type.Optional(Uuid),
        cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,6}$', description: 'The number of the hierarchy' })),
      }),
    ),
    answers: { 200: media('application/x-ndjson') },
    errors: ['hierarchy_not_found', 'forbidden', 'conflict'],
  },
  describeNodePaths: {
    method: 'POST',
    path: '/resolve/paths',
    summary: 'The paths of nodes, for a service; nodes that do not exist are left out',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ nodeIds: Type.Array(Uuid, { minItems: 1, maxItems: hierarchyLimits.nodesPerBatch }) })),
    answers: {
      200: data(
        Type.Array(
          closed({
            nodeId: Uuid,
            hierarchyId: Uuid,
            names: Type.Array(Type.String(), { description: 'The name of the hierarchy, then the names on the path' }),
          }),
        ),
      ),
    },
    errors: ['forbidden'],
  },
  describeAssetNodes: {
    method: 'POST',
    path: '/resolve/asset-nodes',
    summary: 'The nodes of assets, and the nodes above them, for a service; assets without nodes are left out',
    access: 'peer',
    readOnly: true,
    bodyBytes: inventoryLimits.batchBytes,
    body: data(closed({ assetIds: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.devices }) })),
    answers: {
      200: data(
        closed({
          assets: Type.Array(closed({ assetId: Uuid, nodeIds: Type.Array(Uuid) })),
          parents: Type.Array(closed({ nodeId: Uuid, parentId: Uuid }), {
            description:
              'The parent of each of these nodes and of each node above them. Nodes of the top level have none',
          }),
        }),
      ),
    },
  },
} as const
