import { Type } from 'typebox'
import { closed, data, Uuid } from './envelope.ts'
import { hierarchyLimits } from './hierarchy-limits.ts'
import { oneOf } from './inventory/shapes.ts'

/** Operations with which the import service places assets in hierarchies, in the name of a user. */

const path = Type.String({ maxLength: 8192, description: 'The name of the hierarchy and the names of the nodes' })
const ResolvedPath = closed({
  hierarchyId: Type.Optional(Uuid),
  nodeId: Type.Optional(Uuid),
  detail: Type.Optional(Type.String({ description: 'Why the path does not name a node' })),
})

const Placement = closed({ assetId: Uuid, hierarchyId: Uuid, nodeId: Uuid })
const PlacementResult = closed({
  outcome: oneOf(['changed', 'unchanged', 'failed'] as const),
  code: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
})

export const placementOperations = {
  resolvePaths: {
    method: 'POST',
    path: '/resolve/named-paths',
    summary: 'Find the nodes of paths, for a service',
    access: 'on-behalf',
    readOnly: true,
    bodyBytes: hierarchyLimits.importBytes,
    body: data(closed({ paths: Type.Array(path, { minItems: 1, maxItems: hierarchyLimits.assetsAssigned }) })),
    answers: { 200: data(Type.Array(ResolvedPath)) },
    errors: ['forbidden'],
  },
  placeAssets: {
    method: 'POST',
    path: '/assets/placements',
    summary: 'Assign assets to nodes, with one result each, for a service',
    access: 'on-behalf',
    body: data(
      closed({
        placements: Type.Array(Placement, { minItems: 1, maxItems: 2 * hierarchyLimits.assetsAssigned }),
        dryRun: Type.Boolean(),
      }),
    ),
    answers: { 200: data(Type.Array(PlacementResult)) },
    errors: ['forbidden'],
  },
} as const
