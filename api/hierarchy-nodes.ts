import { type Static, Type } from 'typebox'
import { closed, describedPattern, Name, Timestamp, textPattern, Uuid, unprintable } from './envelope.ts'
import { hierarchyLimits } from './hierarchy-limits.ts'

/** The schemas of the nodes of the hierarchy service. */

/** The pattern of a node type: text without control characters. */
export const nodeTypePattern = describedPattern(
  `^[^${unprintable}]*$`,
  'must not contain line breaks or other control characters',
)

/** The pattern of the name of a property. */
export const propertyNamePattern = `^[^${unprintable}]{1,64}$`

const propertyNames = '1 to 64 characters without control characters'

export const nodeType = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: nodeTypePattern,
  description: 'The kind of place, for example `site` or `line`. Free text without a template',
})
export const removedType =
  'null removes the type. With a template, the node gets the default type: the next level below its parent'
export const nodeProperties = Type.Record(
  Type.String({ pattern: propertyNamePattern }),
  Type.String({ minLength: 1, maxLength: 512, pattern: textPattern }),
  {
    additionalProperties: false,
    maxProperties: hierarchyLimits.properties,
    propertyNames: { description: propertyNames },
    description: `Own properties of the node: names of ${propertyNames}, and texts of 1 to 512 characters`,
  },
)
export const position = Type.Integer({
  minimum: 0,
  maximum: hierarchyLimits.nodesPerHierarchy,
  description: 'The place among the siblings, from 0. A larger number than the number of siblings means the last place',
})
export const parentId = Type.Union([Uuid, Type.Null()], { description: 'The parent node. null means the top level' })

/** Counts of the readable assets of a node and of all nodes below it. */
export const NodeHealth = closed({
  online: Type.Integer({ description: 'Assets with the reachability state `reached`' }),
  offline: Type.Integer({ description: 'Assets with the reachability state `failed`' }),
  unknown: Type.Integer({ description: 'Assets with the reachability state `unknown`' }),
  undecided: Type.Integer({ description: 'Assets with the management state `unknown`' }),
  changed: Type.Integer({ description: 'Assets that changed in the last 24 hours' }),
})
export type NodeHealth = Static<typeof NodeHealth>

export const HierarchyNode = closed({
  id: Uuid,
  hierarchyId: Uuid,
  parentId,
  name: Name,
  type: Type.Optional(nodeType),
  properties: Type.Record(Type.String(), Type.String(), { description: 'Own properties of the node' }),
  position,
  level: Type.Integer({ description: 'The depth in the tree. Nodes of the top level have level 0' }),
  childCount: Type.Integer(),
  assetCount: Type.Integer({ description: 'Readable assets that are assigned to this node' }),
  totalAssetCount: Type.Integer({ description: 'Readable assets of this node and of all nodes below' }),
  health: NodeHealth,
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type HierarchyNode = Static<typeof HierarchyNode>

export const PathNode = closed({ id: Uuid, name: Type.String(), type: Type.Optional(Type.String()) })
export type PathNode = Static<typeof PathNode>

export const AssetPath = closed({ hierarchyId: Uuid, hierarchyName: Type.String(), path: Type.Array(PathNode) })
export type AssetPath = Static<typeof AssetPath>

export const NodeInput = closed({
  name: Name,
  type: Type.Optional(nodeType),
  parentId: Type.Optional(parentId),
  properties: Type.Optional(nodeProperties),
  position: Type.Optional(position),
})
export type NodeInput = Static<typeof NodeInput>

const nodeKey = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: textPattern,
  description: 'A text without NUL characters that identifies a node within this request',
})

export const BatchNode = closed({
  key: nodeKey,
  name: Name,
  type: Type.Optional(nodeType),
  parentKey: Type.Optional(nodeKey),
  parentId: Type.Optional(parentId),
  properties: Type.Optional(nodeProperties),
})
export type BatchNode = Static<typeof BatchNode>

/** A node in an export and in an import, identified by the names on its path. */
export const PathRow = closed({
  path: Type.Array(Name, { minItems: 1, maxItems: hierarchyLimits.levels, description: 'Names from the top level' }),
  occurrences: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: hierarchyLimits.nodesPerHierarchy }), {
      minItems: 1,
      maxItems: hierarchyLimits.levels,
      description:
        'Only if siblings have the same name: for each name of the path, the number of the node among the siblings with this name, from 1',
    }),
  ),
  type: Type.Optional(Type.Union([nodeType, Type.Null()], { description: removedType })),
  properties: Type.Optional(nodeProperties),
})
export type PathRow = Static<typeof PathRow>

export const Move = closed({
  id: Uuid,
  nodeId: Uuid,
  nodeName: Type.String(),
  fromParentId: parentId,
  fromPosition: Type.Integer(),
  toParentId: parentId,
  toPosition: Type.Integer(),
  principal: Type.Union([Uuid, Type.Null()]),
  principalName: Type.String(),
  time: Timestamp,
})
export type Move = Static<typeof Move>
