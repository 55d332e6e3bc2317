import { Type } from 'typebox'
import { closed, data, Timestamp, Uuid } from '../envelope.ts'
import { inventoryLimits, managementStates, oneOf, reachabilityStates } from './shapes.ts'

/** Operations with which the hierarchy service reads and writes the relations from assets to nodes. */

const nodeIds = Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.nodesPerQuery })
const assetIds = Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.classified })

/**
 * The outcomes for one asset. `stale` means that the asset has a node that is not in `knownNodeIds` of the request. The
 * hierarchy service then reads the asset again and repeats the request.
 */
export const assignmentResults = ['assigned', 'moved', 'unchanged', 'removed', 'failed', 'stale'] as const

const AssignedAsset = closed({
  id: Uuid,
  accessGroupId: Uuid,
  isGateway: Type.Boolean({ description: 'Whether the asset is a gateway or an asset link' }),
  reachabilityState: oneOf(reachabilityStates),
  managementState: oneOf(managementStates),
  modifiedTimestamp: Timestamp,
  nodes: Type.Array(closed({ nodeId: Uuid, relationId: Uuid }), { description: 'Oldest relation first' }),
})

export const nodeAssignmentOperations = {
  describeAssignedAssets: {
    method: 'POST',
    path: '/node-assignments/assets',
    summary: 'The states and the nodes of assets; deleted assets are left out',
    access: 'peer',
    readOnly: true,
    body: data(closed({ assetIds })),
    answers: { 200: data(Type.Array(AssignedAsset)) },
  },
  listAssetsOfNodes: {
    method: 'POST',
    path: '/node-assignments/nodes/assets',
    summary: 'The ids of the assets that are assigned to nodes, in order',
    access: 'peer',
    readOnly: true,
    body: data(closed({ nodeIds, after: Type.Optional(Uuid) })),
    answers: { 200: data(Type.Array(Uuid, { description: `At most ${inventoryLimits.classified}` })) },
  },
  countNodeRelations: {
    method: 'POST',
    path: '/node-assignments/nodes',
    summary: 'The number of assigned assets per node; nodes without assets are left out',
    access: 'peer',
    readOnly: true,
    body: data(closed({ nodeIds })),
    answers: { 200: data(Type.Array(closed({ nodeId: Uuid, relations: Type.Integer() }))) },
  },
  assignNodes: {
    method: 'POST',
    path: '/node-assignments',
    summary: 'Assign assets to nodes in the name of a user, and end the relations to other nodes',
    access: 'on-behalf',
    body: data(
      closed({
        assets: Type.Array(
          closed({
            assetId: Uuid,
            nodeId: Type.Union([Uuid, Type.Null()], { description: 'The new node. null only ends relations' }),
            otherNodeIds: Type.Array(Uuid, { description: 'The nodes whose relations end' }),
            knownNodeIds: Type.Array(Uuid, { description: 'All nodes that the asset had when the service read it' }),
          }),
          { minItems: 1, maxItems: inventoryLimits.batch },
        ),
      }),
    ),
    answers: {
      200: data(
        Type.Array(
          closed({
            assetId: Uuid,
            outcome: oneOf(assignmentResults),
            previousNodeId: Type.Optional(Uuid),
            status: Type.Optional(Type.Integer()),
            code: Type.Optional(Type.String()),
            detail: Type.Optional(Type.String()),
          }),
        ),
      ),
    },
    errors: ['forbidden'],
  },
  endNodeRelations: {
    method: 'POST',
    path: '/node-assignments/end',
    summary: 'End relations to nodes because the asset has a newer node in the same hierarchy',
    access: 'peer',
    body: data(closed({ relationIds: Type.Array(Uuid, { minItems: 1, maxItems: inventoryLimits.batch }) })),
    answers: { 200: data(closed({ ended: Type.Integer() })) },
  },
  matchAssets: {
    method: 'POST',
    path: '/node-assignments/matches',
    summary: 'Readable assets by name, subnet and gateway, in order of their ids',
    access: 'on-behalf',
    readOnly: true,
    body: data(
      closed({
        namePattern: Type.Optional(Type.String({ maxLength: 128 })),
        subnet: Type.Optional(Type.String({ maxLength: 64 })),
        gatewayId: Type.Optional(Uuid),
        assetIds: Type.Optional(
          Type.Array(Uuid, { maxItems: inventoryLimits.batch, description: 'Only these assets are compared' }),
        ),
        after: Type.Optional(Uuid),
      }),
    ),
    answers: {
      200: data(
        closed({
          assets: Type.Array(closed({ id: Uuid, name: Type.Union([Type.String(), Type.Null()]) })),
          next: Type.Optional(Uuid),
        }),
      ),
    },
  },
} as const

export const nodeSelection = {
  hierarchyNode: Type.Optional(
    Type.String({ ...Uuid, description: 'Only assets that are assigned to this node of a hierarchy' }),
  ),
  includeBelow: Type.Optional(
    Type.Boolean({ default: false, description: 'With `hierarchyNode`: also assets of all nodes below' }),
  ),
  unassignedIn: Type.Optional(Type.String({ ...Uuid, description: 'Only assets without a node in this hierarchy' })),
}
