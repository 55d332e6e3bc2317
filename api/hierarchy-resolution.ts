import { Type } from 'typebox'
import { closed, data, Uuid } from './envelope.ts'

/** Operations with which the inventory resolves the nodes of a query. */

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
} as const
