import { type Static, Type } from 'typebox'
import { contract, media } from './contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, textPattern, Uuid } from './envelope.ts'
import {
  Assignment,
  AssignmentResult,
  assignmentOutcomes,
  ItemResult,
  Proposal,
  Rule,
} from './hierarchy-assignments.ts'
import { hierarchyLimits } from './hierarchy-limits.ts'
import {
  AssetPath,
  BatchNode,
  HierarchyNode,
  Move,
  NodeInput,
  nodeProperties,
  nodeType,
  PathNode,
  PathRow,
  parentId,
  position,
  removedType,
} from './hierarchy-nodes.ts'
import { placementOperations } from './hierarchy-placement.ts'
import { resolutionOperations } from './hierarchy-resolution.ts'
import { templateNames } from './hierarchy-templates.ts'
import { byId, Document, filterText, inventoryLimits, oneOf } from './inventory/shapes.ts'

/** The contract of the hierarchy service: trees of nodes, and the assignment of assets to nodes. */

export { assignmentPredicate } from './assignment-predicate.ts'
export {
  Assignment,
  assignmentOutcomes,
  assignmentStates,
  type ItemResult,
  type Proposal,
  type Rule,
  unfinishedStates,
} from './hierarchy-assignments.ts'
export { hierarchyLimits } from './hierarchy-limits.ts'
export {
  type AssetPath,
  type BatchNode,
  HierarchyNode,
  type Move,
  NodeHealth,
  type NodeInput,
  nodeTypePattern,
  type PathNode,
  PathRow,
  propertyNamePattern,
} from './hierarchy-nodes.ts'
export { hierarchyTemplates, type TemplateName, templateNames } from './hierarchy-templates.ts'

const description = Type.String({ maxLength: 1024, pattern: textPattern })
export const Hierarchy = closed({
  id: Uuid,
  name: Name,
  description: Type.Optional(description),
  template: Type.Optional(oneOf(templateNames)),
  levels: Type.Optional(Type.Array(Type.String(), { description: 'The levels of the template, top level first' })),
  nodeCount: Type.Integer(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type Hierarchy = Static<typeof Hierarchy>

const idsOfAssets = (maxItems: number) => Type.Array(Uuid, { minItems: 1, maxItems, uniqueItems: true })
const assetIds = idsOfAssets(hierarchyLimits.assetsAssigned)

const deletionQuery = closed({
  recursive: Type.Optional(Type.Boolean({ default: false })),
  dryRun: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'true deletes nothing and returns the numbers of a deletion with `recursive=true`',
    }),
  ),
})

const Deletion = closed({
  deletedNodes: Type.Integer(),
  deletedRules: Type.Integer({ description: 'Assignment rules of the deleted nodes' }),
  assignedAssets: Type.Integer({ description: 'Readable assets that are assigned to the deleted nodes' }),
  remainingRelations: Type.Integer({ description: 'Relations of assets to the deleted nodes' }),
})

const hierarchyInput = {
  name: Name,
  description: Type.Optional(description),
  template: Type.Optional(oneOf(templateNames)),
}

/** The body of an operation without parameters. It may be omitted. */
const emptyBody = Type.Optional(closed({}))

const includeBelow = Type.Optional(
  Type.Boolean({ default: false, description: 'true includes the assets of all nodes below' }),
)

export const hierarchy = contract({
  name: 'hierarchy',
  title: 'Hierarchies',
  description: 'Trees of nodes (sites, buildings, lines, cells) and the assignment of assets to nodes.',
  version: '1.0.0',
  prefix: '/hierarchy/v1',
  operations: {
    listHierarchies: {
      method: 'GET',
      path: '/hierarchies',
      summary: 'List the hierarchies by name',
      access: 'glb_hierarchy_read',
      query: closed(pageQuery),
      answers: { 200: page(Hierarchy) },
    },
    createHierarchy: {
      method: 'POST',
      path: '/hierarchies',
      summary: 'Create a hierarchy',
      access: 'glb_hierarchy_write',
      body: data(closed(hierarchyInput)),
      answers: { 201: data(Hierarchy) },
      errors: ['already_exists', 'conflict'],
    },
    listTemplates: {
      method: 'GET',
      path: '/templates',
      summary: 'List the templates with their levels',
      access: 'glb_hierarchy_read',
      answers: {
        200: data(
          Type.Array(closed({ name: oneOf(templateNames), title: Type.String(), levels: Type.Array(Type.String()) })),
        ),
      },
    },
    readHierarchy: {
      method: 'GET',
      path: '/hierarchies/{id}',
      summary: 'Read a hierarchy',
      access: 'glb_hierarchy_read',
      params: byId,
      tagged: true,
      answers: { 200: data(Hierarchy) },
      errors: ['not_found'],
    },
    updateHierarchy: {
      method: 'PATCH',
      path: '/hierarchies/{id}',
      summary: 'Change the name or the description of a hierarchy',
      access: 'glb_hierarchy_write',
      params: byId,
      headers: ['if-match'],
      body: data(
        closed({
          name: Type.Optional(Name),
          description: Type.Optional(Type.Union([description, Type.Null()])),
        }),
      ),
      answers: { 200: data(Hierarchy) },
      errors: ['not_found', 'already_exists', 'precondition_failed'],
    },
    deleteHierarchy: {
      method: 'DELETE',
      path: '/hierarchies/{id}',
      summary: 'Delete a hierarchy. With nodes, `recursive=true` is required',
      description: 'The relations of assets to the deleted nodes remain in the inventory.',
      access: 'glb_hierarchy_write',
      params: byId,
      headers: ['if-match'],
      query: deletionQuery,
      answers: { 200: data(Deletion) },
      errors: ['not_found', 'hierarchy_not_empty', 'conflict', 'precondition_failed'],
    },
    createNode: {
      method: 'POST',
      path: '/hierarchies/{id}/nodes',
      summary: 'Create a node',
      access: 'glb_hierarchy_write',
      params: byId,
      body: data(NodeInput),
      answers: { 201: data(HierarchyNode) },
      errors: ['not_found', 'node_not_found', 'conflict', 'invalid_node_type'],
    },
    createNodes: {
      method: 'POST',
      path: '/hierarchies/{id}/nodes/batch',
      summary: 'Create up to 1,000 nodes: all or none',
      description: 'A node names its parent by `parentKey` (a node of this request, in any order) or by `parentId`.',
      access: 'glb_hierarchy_write',
      params: byId,
      bodyBytes: hierarchyLimits.importBytes,
      body: data(closed({ nodes: Type.Array(BatchNode, { minItems: 1, maxItems: hierarchyLimits.nodesPerBatch }) })),
      answers: { 201: data(Type.Array(closed({ key: Type.String(), id: Uuid }))) },
      errors: ['not_found', 'node_not_found', 'conflict', 'invalid_node_type'],
    },
    listNodes: {
      method: 'GET',
      path: '/hierarchies/{id}/nodes',
      summary: 'List the children of a node, or the nodes whose name contains a text',
      description:
        'Without `parentId`, the list starts at the top level. With `depth`, each node is followed by its children. With `q`, the list contains the matching nodes at any depth below `parentId`, by name. A cursor remains valid if nodes are created, moved or deleted. Only after hundreds of changes at the same place can it be refused: start again without a cursor. Send either `cursor` or `offset`. With a `depth` greater than 1, `offset` is not available: use `cursor`.',
      access: 'glb_hierarchy_read',
      params: byId,
      query: closed({
        parentId: Type.Optional(Uuid),
        depth: Type.Optional(Type.Integer({ minimum: 1, maximum: hierarchyLimits.levels, default: 1 })),
        q: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'A part of the name' })),
        limit: pageQuery.limit,
        offset: pageQuery.offset,
        cursor: Type.Optional(Type.String({ maxLength: 4096, description: '`meta.nextCursor` of the previous page' })),
        count: Type.Optional(
          Type.Boolean({
            description:
              'false omits `meta.totalElements`. Without this parameter, the total is omitted only if `depth` or `q` is used and the list has several pages',
          }),
        ),
      }),
      answers: { 200: page(HierarchyNode) },
      errors: ['not_found', 'node_not_found', 'invalid_cursor'],
    },
    exportNodes: {
      method: 'GET',
      path: '/hierarchies/{id}/export',
      summary: 'Export all nodes as CSV or JSON, one row or object per node',
      description:
        'The output can be imported again: JSON is the body of an import. CSV has the columns `Path`, `Type` and one column per property. If siblings have the same name, each of their nodes, and each node below them, also has `occurrences`: for each name of the path, the number of the node among the siblings with this name. Without `format`, the `Accept` header selects CSV (`text/csv`) or JSON. The connection is closed if the client has not read the export completely after one hour.',
      access: 'glb_hierarchy_read',
      params: byId,
      headers: ['accept'],
      query: closed({ format: Type.Optional(oneOf(['csv', 'json'] as const)) }),
      waits: true,
      answers: { 200: media('application/json; charset=utf-8', 'text/csv; charset=utf-8') },
      errors: ['not_found', 'conflict'],
    },
    importNodes: {
      method: 'POST',
      path: '/hierarchies/{id}/import',
      summary: 'Import nodes from CSV or JSON: all or none',
      description:
        'Nodes are matched by their path. Missing nodes on a path are created. No node is deleted or moved. In JSON, `properties` replaces all properties of the node. In CSV, an empty cell removes the type or the property. With a template, a node whose type is removed gets the default type: the next level below its parent. A missing member and a missing column change nothing. With `dryRun`, the result shows what would change.',
      access: 'glb_hierarchy_write',
      params: byId,
      bodyBytes: hierarchyLimits.importBytes,
      body: data(
        closed({
          csv: Type.Optional(Type.String({ description: 'The content of a CSV file with the columns of the export' })),
          nodes: Type.Optional(Type.Array(PathRow, { maxItems: hierarchyLimits.nodesImported })),
          dryRun: Type.Optional(Type.Boolean({ default: false })),
        }),
      ),
      answers: {
        200: data(
          closed({
            created: Type.Integer(),
            updated: Type.Integer(),
            unchanged: Type.Integer(),
            defaultTypes: Type.Integer({
              description: 'The nodes with a default type of the template, because the file removes their type',
            }),
            dryRun: Type.Boolean(),
          }),
        ),
      },
      errors: ['not_found', 'invalid_body', 'conflict', 'invalid_node_type'],
    },
    rebuildCounts: {
      method: 'POST',
      path: '/hierarchies/{id}/rebuild',
      summary: 'Compute the stored counts of a hierarchy again, in the background',
      access: 'glb_hierarchy_write',
      params: byId,
      body: emptyBody,
      answers: { 202: data(closed({ hierarchyId: Uuid })) },
      errors: ['not_found'],
    },
    readNode: {
      method: 'GET',
      path: '/nodes/{id}',
      summary: 'Read a node with its counts',
      access: 'glb_hierarchy_read',
      params: byId,
      tagged: true,
      answers: { 200: data(HierarchyNode) },
      errors: ['not_found'],
    },
    updateNode: {
      method: 'PATCH',
      path: '/nodes/{id}',
      summary: 'Change the name, the type or the properties of a node',
      access: 'glb_hierarchy_write',
      params: byId,
      headers: ['if-match'],
      body: data(
        closed({
          name: Type.Optional(Name),
          type: Type.Optional(Type.Union([nodeType, Type.Null()], { description: removedType })),
          properties: Type.Optional(nodeProperties),
        }),
      ),
      answers: { 200: data(HierarchyNode) },
      errors: ['not_found', 'conflict', 'precondition_failed', 'invalid_node_type'],
    },
    deleteNode: {
      method: 'DELETE',
      path: '/nodes/{id}',
      summary: 'Delete a node. With nodes below or assigned assets, `recursive=true` is required',
      description:
        'A node to which only assets are assigned that the caller cannot read is not empty either. The relations of assets to the deleted nodes remain in the inventory. `cleanup` deletes them afterwards. Assignment rules of the deleted nodes are deleted too. If the deletion interrupts an assignment to the node, the assignment fails with `node_not_found` for the assets whose results are not stored yet, and these assets return to their previous nodes. The response may count their relations, so it can count more relations than remain, but never fewer. If a previous node was deleted too, the relation to it remains.',
      access: 'glb_hierarchy_write',
      params: byId,
      headers: ['if-match'],
      query: deletionQuery,
      answers: { 200: data(Deletion) },
      errors: ['not_found', 'hierarchy_not_empty', 'conflict', 'precondition_failed'],
    },
    cleanupNode: {
      method: 'POST',
      path: '/nodes/{id}/cleanup',
      summary: 'Delete the relations that remain after the deletion of a node and of the nodes below it',
      description: `Deletes up to ${hierarchyLimits.relationsCleaned} relations. Requires \`glb_inventory_read_relation_data\` and \`glb_inventory_write_relation_data\`, and no permissions for the assets. Repeat the call until \`remainingRelations\` is 0.`,
      access: 'glb_hierarchy_write',
      params: byId,
      body: emptyBody,
      answers: { 200: data(closed({ deletedRelations: Type.Integer(), remainingRelations: Type.Integer() })) },
      errors: ['not_found', 'conflict', 'forbidden'],
    },
    moveNode: {
      method: 'POST',
      path: '/nodes/{id}/move',
      summary: 'Move a node with everything below it, or change its place among its siblings',
      description:
        'Send `parentId`, `position` or both. Without `position`, a node gets the last place below its new parent. A move to the current place changes nothing.',
      access: 'glb_hierarchy_write',
      params: byId,
      headers: ['if-match'],
      body: data(closed({ parentId: Type.Optional(parentId), position: Type.Optional(position) })),
      answers: { 200: data(HierarchyNode) },
      errors: [
        'not_found',
        'node_not_found',
        'node_below_itself',
        'conflict',
        'precondition_failed',
        'invalid_node_type',
      ],
    },
    copyNode: {
      method: 'POST',
      path: '/nodes/{id}/copy',
      summary: 'Copy a node with everything below it. Assets are not copied',
      access: 'glb_hierarchy_write',
      params: byId,
      body: data(
        closed({
          parentId: Type.Optional(parentId),
          position: Type.Optional(position),
          name: Type.Optional(Name),
        }),
      ),
      answers: { 201: data(closed({ node: HierarchyNode, copiedNodes: Type.Integer() })) },
      errors: ['not_found', 'node_not_found', 'conflict', 'invalid_node_type'],
    },
    readPath: {
      method: 'GET',
      path: '/nodes/{id}/path',
      summary: 'List the nodes from the top level to this node',
      access: 'glb_hierarchy_read',
      params: byId,
      answers: { 200: data(Type.Array(PathNode)) },
      errors: ['not_found'],
    },
    listMoves: {
      method: 'GET',
      path: '/nodes/{id}/moves',
      summary: 'List the moves of a node, newest first',
      description: `Moves are stored for ${hierarchyLimits.retentionDays} days.`,
      access: 'glb_hierarchy_read',
      params: byId,
      query: closed(pageQuery),
      answers: { 200: page(Move) },
      errors: ['not_found'],
    },
    listNodeAssets: {
      method: 'GET',
      path: '/nodes/{id}/assets',
      summary: 'List the readable assets of a node',
      access: 'glb_hierarchy_read',
      params: byId,
      query: closed({
        ...pageQuery,
        cursor: Type.Optional(Type.String({ maxLength: 1024 })),
        count: Type.Optional(Type.Boolean({ default: true })),
        filter: Type.Optional(filterText),
        relationsFilter: Type.Optional(filterText),
        depth: Type.Optional(Type.Integer({ minimum: 1, maximum: inventoryLimits.graphDepth, default: 1 })),
        caseInsensitive: Type.Optional(Type.Boolean({ default: false })),
        sort: Type.Optional(Type.String({ maxLength: 1024 })),
        q: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
        fields: Type.Optional(Type.String({ maxLength: 1024 })),
        includeBelow,
      }),
      answers: { 200: page(Document) },
      errors: ['not_found', 'invalid_filter', 'unknown_property', 'sort_on_array', 'invalid_cursor', 'graph_too_large'],
    },
    assignAssets: {
      method: 'POST',
      path: '/nodes/{id}/assets',
      summary: 'Assign assets to a node, by their ids or by a filter',
      description:
        'An asset has at most one node per hierarchy: an asset that has another node in the same hierarchy is moved. Requires the same permissions as `POST /inventory/v2/relations`. With `assetIds`, each asset has its own result. With `filter`, the assignment runs in the background: follow the `Location` header. The assignments of a tenant run one after the other, in the order of their creation. An assignment whose attempts exceed a time limit of the database runs after the others.',
      access: 'glb_hierarchy_write',
      params: byId,
      body: data(
        closed({
          assetIds: Type.Optional(assetIds),
          filter: Type.Optional(filterText),
        }),
      ),
      answers: { 200: data(AssignmentResult), 202: data(Assignment) },
      errors: ['not_found', 'forbidden', 'conflict', 'invalid_filter', 'unknown_property'],
    },
    unassignAssets: {
      method: 'DELETE',
      path: '/nodes/{id}/assets',
      summary: 'Remove assets from a node',
      access: 'glb_hierarchy_write',
      params: byId,
      body: data(
        closed({
          assetIds,
          includeBelow: Type.Optional(
            Type.Boolean({ default: false, description: 'Also remove assets from the nodes below' }),
          ),
        }),
      ),
      answers: { 200: data(AssignmentResult) },
      errors: ['not_found', 'forbidden'],
    },
    listAssetPaths: {
      method: 'GET',
      path: '/assets/{id}/paths',
      summary: 'List the nodes of an asset, with their paths: one per hierarchy',
      access: 'glb_hierarchy_read',
      params: byId,
      answers: { 200: data(Type.Array(AssetPath)) },
      errors: ['not_found'],
    },
    listPathsOfAssets: {
      method: 'POST',
      path: '/assets/paths',
      summary: 'List the nodes of up to 100 assets, with their paths. Assets that are not readable are left out',
      description: `If the paths have more than ${hierarchyLimits.pathNodes} nodes in total, the response is 409. Then request fewer assets: the paths of three assets never exceed this limit.`,
      access: 'glb_hierarchy_read',
      readOnly: true,
      body: data(closed({ assetIds: idsOfAssets(hierarchyLimits.assetsWithPaths) })),
      answers: { 200: data(Type.Array(closed({ assetId: Uuid, paths: Type.Array(AssetPath) }))) },
      errors: ['conflict'],
    },
    listAssignments: {
      method: 'GET',
      path: '/assignments',
      summary: 'List assignments, newest first',
      description:
        'A caller that cannot read all assets sees only its own assignments, because the counts include assets of all access groups.',
      access: 'glb_hierarchy_read',
      query: closed({ ...pageQuery, hierarchyId: Type.Optional(Uuid) }),
      answers: { 200: page(Assignment) },
    },
    readAssignment: {
      method: 'GET',
      path: '/assignments/{id}',
      summary: 'Read an assignment with its progress',
      access: 'glb_hierarchy_read',
      params: byId,
      answers: { 200: data(Assignment) },
      errors: ['not_found'],
    },
    listAssignmentResults: {
      method: 'GET',
      path: '/assignments/{id}/results',
      summary: 'List the readable assets of an assignment with their results, including unchanged assets',
      description:
        'The results of a request with ids are in the order of the request. Assets that failed with `asset_not_found` are only counted in the assignment.',
      access: 'glb_hierarchy_read',
      params: byId,
      query: closed({
        limit: pageQuery.limit,
        outcome: Type.Optional(oneOf(assignmentOutcomes)),
        cursor: Type.Optional(Type.String({ maxLength: 64 })),
      }),
      answers: {
        200: closed({
          data: Type.Array(ItemResult),
          meta: closed({
            totalElements: Type.Integer({
              description: 'The number of results with this outcome, including assets that the caller cannot read',
            }),
            elements: Type.Integer(),
            offset: Type.Integer({ description: 'The number of these results before this page' }),
            nextCursor: Type.Optional(Type.String()),
          }),
        }),
      },
      errors: ['not_found', 'invalid_cursor'],
    },
    cancelAssignment: {
      method: 'POST',
      path: '/assignments/{id}/cancel',
      summary: 'Cancel an assignment. Assets that are already assigned stay assigned',
      description:
        'To cancel an assignment of another user, the caller also needs `glb_access_manage`. If assets are being assigned at this moment, the state is `canceling` until their results are stored, and then `canceled`.',
      access: 'glb_hierarchy_write',
      params: byId,
      body: emptyBody,
      answers: { 200: data(Assignment) },
      errors: ['not_found', 'forbidden', 'conflict'],
    },
    undoAssignment: {
      method: 'POST',
      path: '/assignments/{id}/undo',
      summary: 'Return the assets of an assignment to their previous nodes',
      description:
        'An asset that has another node since then, or whose previous node was deleted, stays where it is: its result is `unchanged` with a reason. Runs in the background: follow the `Location` header. Requires the same permissions as `POST /inventory/v2/relations`. If an undo was canceled, or did not return all assets, the assignment can be undone again. An assignment that has changed no assets cannot be undone (409).',
      access: 'glb_hierarchy_write',
      params: byId,
      body: emptyBody,
      answers: { 202: data(Assignment) },
      errors: ['not_found', 'forbidden', 'conflict'],
    },
    readRules: {
      method: 'GET',
      path: '/hierarchies/{id}/rules',
      summary: 'Read the assignment rules of a hierarchy',
      access: 'glb_hierarchy_read',
      params: byId,
      tagged: true,
      answers: { 200: data(closed({ rules: Type.Array(Rule) })) },
      errors: ['not_found'],
    },
    replaceRules: {
      method: 'PUT',
      path: '/hierarchies/{id}/rules',
      summary: 'Replace the assignment rules of a hierarchy',
      description:
        'A rule proposes a node for the assets that match all its conditions. The first matching rule applies. Rules never assign assets: a person applies the proposals. A gateway must be readable by the caller.',
      access: 'glb_hierarchy_write',
      params: byId,
      headers: ['if-match'],
      body: data(closed({ rules: Type.Array(Rule, { maxItems: hierarchyLimits.rules }) })),
      answers: { 200: data(closed({ rules: Type.Array(Rule) })) },
      errors: ['not_found', 'node_not_found', 'asset_not_found', 'invalid_range', 'precondition_failed'],
    },
    listProposals: {
      method: 'GET',
      path: '/hierarchies/{id}/proposals',
      summary: 'List the assets that the rules would assign or move',
      access: 'glb_hierarchy_read',
      params: byId,
      query: closed({
        onlyUnassigned: Type.Optional(
          Type.Boolean({ default: true, description: 'false includes assets that already have another node' }),
        ),
      }),
      answers: {
        200: closed({
          data: Type.Array(Proposal),
          meta: closed({
            elements: Type.Integer(),
            isComplete: Type.Boolean({
              description: `false if there are more than ${hierarchyLimits.proposals}, or if the search took too long`,
            }),
            inOtherNode: Type.Integer({
              description:
                'The number of matching assets that have another node. `onlyUnassigned=true` leaves them out of the list',
            }),
          }),
        }),
      },
      errors: ['not_found'],
    },
    applyProposals: {
      method: 'POST',
      path: '/hierarchies/{id}/proposals/apply',
      summary: 'Assign assets as the rules propose',
      description:
        'Only assets and nodes that the rules propose now are assigned. Any other pair fails with `not_proposed`. An asset that has another node in the hierarchy is moved.',
      access: 'glb_hierarchy_write',
      params: byId,
      body: data(
        closed({
          assets: Type.Array(closed({ assetId: Uuid, nodeId: Uuid }), {
            minItems: 1,
            maxItems: hierarchyLimits.proposals,
          }),
        }),
      ),
      answers: { 200: data(AssignmentResult) },
      errors: ['not_found', 'node_not_found', 'forbidden'],
    },
    ...resolutionOperations,
    ...placementOperations,
  },
})
