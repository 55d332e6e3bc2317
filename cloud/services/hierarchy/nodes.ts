import { isDeepStrictEqual } from 'node:util'
import { assignmentPredicate, type BatchNode, type hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { bytesOfId, newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { deleteProjected, shiftCounts } from './count-store.ts'
import { deleteCounted, lockedHierarchy, relationsOf } from './hierarchies.ts'
import { listNodes } from './node-list.ts'
import { countChildren } from './node-paging-store.ts'
import * as store from './node-store.ts'
import * as writes from './node-write-store.ts'
import { lastRanksOf, rankAt, rankGap } from './rank-store.ts'
import { RowErrors } from './row-errors.ts'
import {
  countScope,
  missingParent,
  type Parent,
  parentIn,
  requireLevels,
  requireNodes,
  showNode,
  typeBelow,
} from './tree.ts'

type Names =
  | 'createNode'
  | 'createNodes'
  | 'listNodes'
  | 'readNode'
  | 'updateNode'
  | 'deleteNode'
  | 'cleanupNode'
  | 'moveNode'
  | 'copyNode'
  | 'readPath'
  | 'listMoves'
  | 'listNodeAssets'
  | 'resolveNode'
  | 'resolveHierarchy'
  | 'resolveChildren'
  | 'resolveTree'

export function nodeHandlers(context: Context): Pick<Handlers<typeof hierarchy>, Names> {
  const { database, peers } = context
  return {
    async createNode({ params, body: { data } }, caller) {
      const id = newId()
      return database.transaction(caller, async (tx) => {
        const tree = await lockedHierarchy(tx, params.id)
        requireNodes(tree.nodes + 1)
        const parent = await parentIn(tx, tree.id, data.parentId ?? null)
        requireLevels(parent.level + 1, '/data/parentId')
        const type = typeBelow(tree.template, {
          type: data.type ?? null,
          parentType: parent.type,
          pointer: '/data/type',
        })
        const { name, properties = {}, position } = data
        const rank = await rankAt(tx, { hierarchyId: tree.id, parentId: parent.id, position, nodeId: id })
        await writes.insertNodes(tx, tree, [{ id, parentId: parent.id, name, type, ...rank, properties }], now())
        const node = await shownNode(tx, caller, id)
        await reportNode(tx, caller, { action: 'createNode', event: 'created', node })
        return answer(201, { data: node.shown }, { location: `/hierarchy/v1/nodes/${id}`, etag: etagOf(1) })
      })
    },

    async createNodes({ params, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const tree = await lockedHierarchy(tx, params.id)
        requireNodes(tree.nodes + data.nodes.length)
        const nodes = await batchNodes(tx, tree, data.nodes)
        await writes.insertNodes(tx, tree, nodes, now())
        const detail = { name: tree.name, nodes: nodes.length }
        const target = `hierarchy/${tree.id}`
        await record(tx, caller, { action: 'hierarchy.createNodes', target, detail })
        await emit(tx, { type: 'hierarchy.nodes.created', subject: target, data: detail })
        return answer(201, { data: data.nodes.map(({ key }, index) => ({ key, id: nodes[index]?.id ?? '' })) })
      })
    },

    async listNodes({ params, query }, caller) {
      return database.read(caller, (handle) => listNodes(handle, caller, { hierarchyId: params.id, ...query }))
    },

    async readNode({ params: { id } }, caller) {
      const { row, shown } = await database.read(caller, (handle) => shownNode(handle, caller, id))
      return answer(200, { data: shown }, { etag: etagOf(row.version) })
    },

    async updateNode({ params: { id }, headers, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const { tree, node: before } = await lockedNode(tx, id)
        requireMatch(headers['if-match'], before.version)
        const { name = before.name, properties = before.properties } = data
        const requested = data.type === undefined ? before.type : data.type
        if (isSame(before, { name, type: requested, properties })) {
          const { shown } = await shownNode(tx, caller, id)
          return answer(200, { data: shown }, { etag: etagOf(before.version) })
        }
        const type = requested === before.type ? before.type : await changedType(tx, tree, before, requested)
        await writes.updateNodes(tx, tree, [{ id, type, properties }], now())
        if (name !== before.name) await writes.renameNode(tx, tree.id, { id, name })
        const node = await shownNode(tx, caller, id)
        await reportNode(tx, caller, { action: 'updateNode', event: 'updated', node })
        return answer(200, { data: node.shown }, { etag: etagOf(node.row.version) })
      })
    },

    async deleteNode({ params: { id }, headers, query: { recursive = false, dryRun = false } }, caller) {
      const subtree = () =>
        database.read(caller, async (handle) => {
          const ids = await store.subtreeOf(handle, id)
          if (ids.length === 0) throw missingNode(id)
          return ids
        })
      return deleteCounted(
        context,
        caller,
        subtree,
        async (tx, { ids, remainingRelations, shownRelations, readableAssets, hiddenNote, requireCounted }) => {
          const { tree, node } = await lockedNode(tx, id)
          requireMatch(headers['if-match'], node.version)
          await requireCounted(tx, await store.subtreeOf(tx, id))
          const deleted = new Set(ids)
          const rules = tree.rules.filter(({ nodeId }) => !deleted.has(nodeId))
          const counts = { deletedNodes: ids.length, deletedRules: tree.rules.length - rules.length }
          if (dryRun) return { data: { ...counts, assignedAssets: readableAssets, remainingRelations: shownRelations } }
          if (!recursive && (ids.length > 1 || remainingRelations > 0))
            throw new Problem(
              'hierarchy_not_empty',
              `The node ${node.name} is not empty (nodes below it: ${ids.length - 1}, assigned assets: ${readableAssets}, rules: ${counts.deletedRules}).${hiddenNote} To delete the node with all nodes below it, add recursive=true. The assets are not deleted`,
              {
                counts: {
                  childNodes: ids.length - 1,
                  assignedAssets: readableAssets,
                  assignmentRules: counts.deletedRules,
                },
              },
            )
          const above = (await store.pathTo(tx, node.parentId)).map((parent) => parent.id)
          await shiftCounts(tx, { nodeId: id, from: above, to: [] })
          await deleteProjected(tx, ids)
          await writes.deleteNodes(tx, { ids, hierarchyId: tree.id, deletedWith: id, now: now() })
          if (counts.deletedRules > 0) await store.replaceRules(tx, tree.id, rules)
          const detail = { ...counts, remainingRelations }
          const subject = `node/${id}`
          const data = { hierarchyId: tree.id, name: node.name, ...detail }
          await record(tx, caller, { action: 'hierarchy.deleteNode', target: subject, detail: data })
          await emit(tx, { type: 'hierarchy.node.deleted', subject, data })
          return { data: { ...counts, assignedAssets: readableAssets, remainingRelations: shownRelations } }
        },
      )
    },

    async cleanupNode({ params: { id } }, caller) {
      const nodeIds = await database.read(caller, async (handle) => {
        if ((await store.findNode(handle, id)) !== undefined)
          throw new Problem('conflict', `The node ${id} still exists. Delete the node first, and then its relations`)
        return store.deletedNodesOf(handle, id)
      })
      if (nodeIds.length === 0) throw new Problem('not_found', `No deleted node or hierarchy has the id ${id}`)
      // The inventory checks these permissions too, but only if relations exist.
      requirePermission(caller, 'glb_inventory_write_relation_data')
      requirePermission(caller, 'glb_inventory_read_relation_data')
      return { data: await deleteRelations(context, caller, nodeIds) }
    },

    async moveNode({ params: { id }, headers, body: { data } }, caller) {
      if (data.parentId === undefined && data.position === undefined) {
        const detail = 'Send parentId, position or both'
        throw fieldProblem('invalid_body', '/data', detail)
      }
      return database.transaction(caller, async (tx) => {
        const { tree, node } = await lockedNode(tx, id)
        requireMatch(headers['if-match'], node.version)
        const from = await shownNode(tx, caller, id)
        const requestedParent = data.parentId === undefined ? node.parentId : (data.parentId ?? tree.id)
        const parent = await parentIn(tx, tree.id, requestedParent === tree.id ? null : requestedParent)
        const above = parent.path.map((one) => one.id)
        if (above.includes(id)) {
          const detail = `The node ${node.name} cannot be moved below itself or below one of its own nodes. Choose another parent`
          const errors = [{ pointer: '/data/parentId', code: 'node_below_itself', detail }]
          throw new Problem('node_below_itself', detail, { errors })
        }
        if (parent.id === node.parentId && (await isPlaceOf(tx, from.row, data.position)))
          return answer(200, { data: from.shown }, { etag: etagOf(node.version) })
        const former = (await store.pathTo(tx, node.parentId)).map((one) => one.id)
        // The levels below the node are counted only if they move down.
        if (parent.level > former.length)
          requireLevels(parent.level + (await store.heightOf(tx, id)) + 1, '/data/parentId')
        if (parent.id !== node.parentId && node.type !== null)
          typeBelow(tree.template, { type: node.type, parentType: parent.type, pointer: '/data/parentId' })
        const place = { hierarchyId: tree.id, parentId: parent.id }
        const rank = await rankAt(tx, { ...place, position: data.position, nodeId: id })
        await writes.placeNode(tx, { id, ...place, ...rank }, now())
        await shiftCounts(tx, { nodeId: id, from: former, to: above })
        const moved = await shownNode(tx, caller, id)
        await store.insertMove(tx, tree.id, {
          id: newId(),
          nodeId: id,
          fromParentId: node.parentId,
          fromPosition: from.row.position,
          toParentId: parent.id,
          toPosition: moved.row.position,
          principal: caller.principal.id,
          principalName: caller.principal.name,
          time: now(),
        })
        const detail = { fromParentId: from.shown.parentId, toParentId: moved.shown.parentId }
        await reportNode(tx, caller, { action: 'moveNode', event: 'moved', node: moved, detail })
        return answer(200, { data: moved.shown }, { etag: etagOf(moved.row.version) })
      })
    },

    async copyNode({ params: { id }, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const { tree, node } = await lockedNode(tx, id)
        const { nodesCopied, copyBytes } = hierarchyLimits
        const size = await store.sizeOf(tx, id)
        if (size.nodes > nodesCopied || size.bytes > copyBytes)
          throw new Problem(
            'conflict',
            `The node ${node.name} is too large to copy (nodes: ${size.nodes}, properties: ${size.bytes} bytes). The limits are ${nodesCopied} nodes and ${copyBytes} bytes, including the nodes below it`,
          )
        const originals = await store.listRowsBelow(tx, id, nodesCopied)
        requireNodes(tree.nodes + originals.length)
        const requestedParent = data.parentId === undefined ? node.parentId : (data.parentId ?? tree.id)
        const parent = await parentIn(tx, tree.id, requestedParent === tree.id ? null : requestedParent)
        const height = await store.heightOf(tx, id)
        requireLevels(parent.level + height + 1, '/data/parentId')
        if (node.type !== null)
          typeBelow(tree.template, { type: node.type, parentType: parent.type, pointer: '/data/parentId' })
        const ids = new Map(originals.map((original) => [original.id, newId()]))
        const top = ids.get(id) ?? ''
        const place = { hierarchyId: tree.id, parentId: parent.id }
        const rank = await rankAt(tx, { ...place, position: data.position, nodeId: top })
        const copies = originals.map((original) => ({
          ...original,
          id: ids.get(original.id) ?? '',
          parentId: ids.get(original.parentId) ?? parent.id,
          ...(original.id === id ? { ...rank, name: data.name ?? node.name, parentId: parent.id } : {}),
        }))
        await writes.insertNodes(tx, tree, copies, now())
        const copy = await shownNode(tx, caller, top)
        const detail = { copyOf: id, copiedNodes: copies.length }
        await reportNode(tx, caller, { action: 'copyNode', event: 'created', node: copy, detail })
        const headers = { location: `/hierarchy/v1/nodes/${top}` }
        return answer(201, { data: { node: copy.shown, copiedNodes: copies.length } }, headers)
      })
    },

    async readPath({ params: { id } }, caller) {
      const path = await database.read(caller, (handle) => store.pathsTo(handle, [id]))
      const nodes = path.get(id)
      if (nodes === undefined) throw missingNode(id)
      return { data: nodes }
    },

    async listMoves({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      return database.read(caller, async (handle) => {
        const node = await store.findNode(handle, id)
        if (node === undefined) throw missingNode(id)
        const { rows, total } = await store.listMoves(handle, id, { limit, offset })
        const parentOf = (parentId: string) => (parentId === node.hierarchyId ? null : parentId)
        const data = rows.map((move) => ({
          ...move,
          nodeName: node.name,
          fromParentId: parentOf(move.fromParentId),
          toParentId: parentOf(move.toParentId),
        }))
        return { data, meta: { totalElements: total, elements: data.length, offset } }
      })
    },

    async listNodeAssets({ params: { id }, query }, caller) {
      const found = await database.read(caller, (handle) => store.findNode(handle, id))
      if (found === undefined) throw missingNode(id)
      return peers(inventory, caller).listAssets({ query: { ...query, hierarchyNode: id } })
    },

    async resolveNode({ body: { data } }, caller) {
      requirePermission(caller, 'glb_hierarchy_read')
      const { nodeId, includeBelow, knownVersion } = data
      return database.read(caller, async (handle) => {
        // The version is read before the nodes. If the tree changes in between, the next request reads the nodes again.
        const version = await store.structureOf(handle, nodeId)
        if (version === undefined) throw new Problem('node_not_found', `Node ${nodeId} does not exist`)
        if (version === knownVersion) return { data: { version } }
        return {
          data: {
            version,
            nodes: includeBelow ? await store.packedSubtreeOf(handle, nodeId) : bytesOfId(nodeId).toString('base64'),
          },
        }
      })
    },

    async resolveHierarchy({ body: { data } }, caller) {
      requirePermission(caller, 'glb_hierarchy_read')
      const { hierarchyId, knownVersion } = data
      return database.read(caller, async (handle) => {
        const version = (await store.findHierarchy(handle, hierarchyId))?.structure
        if (version === undefined) throw new Problem('hierarchy_not_found', `Hierarchy ${hierarchyId} does not exist`)
        if (version === knownVersion) return { data: { version } }
        return { data: { version, nodes: await store.packedNodesOf(handle, hierarchyId) } }
      })
    },

    async resolveChildren({ body: { data } }, caller) {
      requirePermission(caller, 'glb_hierarchy_read')
      const { hierarchyId, parentId } = data
      const limit = hierarchyLimits.childrenResolved
      return database.read(caller, async (handle) => {
        const tree = await store.findHierarchy(handle, hierarchyId)
        if (tree === undefined) throw missingHierarchy(hierarchyId)
        const path = parentId === undefined ? [] : await store.pathTo(handle, parentId)
        if (parentId !== undefined && path.at(-1)?.hierarchyId !== hierarchyId)
          throw new Problem('node_not_found', `Node ${parentId} does not exist in the hierarchy ${tree.name}`)
        const children = await store.listPackedChildren(handle, parentId ?? hierarchyId, limit + 1)
        return {
          data: {
            hierarchyName: tree.name,
            path: path.map(pathNode),
            children: children
              .slice(0, limit)
              .map((child) => ({ ...pathNode(child), childCount: child.children, nodes: child.ids })),
            truncated: children.length > limit,
          },
        }
      })
    },

    async resolveTree({ body: { data } }, caller) {
      requirePermission(caller, 'glb_hierarchy_read')
      const { hierarchyId } = data
      const limit = hierarchyLimits.treeResolved
      return database.read(caller, async (handle) => {
        const tree = await store.findHierarchy(handle, hierarchyId)
        if (tree === undefined) throw missingHierarchy(hierarchyId)
        const nodes = await store.listPlacedNodes(handle, hierarchyId, limit + 1)
        return {
          data: {
            nodes: nodes.slice(0, limit).map((node) => ({
              ...pathNode(node),
              parentId: node.parentId === hierarchyId ? null : node.parentId,
            })),
            truncated: nodes.length > limit,
          },
        }
      })
    },
  }
}

function missingHierarchy(id: string): Problem {
  return new Problem('hierarchy_not_found', `Hierarchy ${id} does not exist. Choose another hierarchy`)
}

function now(): string {
  return new Date().toISOString()
}

function pathNode({ id, name, type }: Pick<store.NodeRow, 'id' | 'name' | 'type'>) {
  return { id, name, ...(type === null ? {} : { type }) }
}

export function missingNode(id: string): Problem {
  return new Problem('not_found', `Node ${id} does not exist`)
}

/** Locks the hierarchy of a node and reads the node again, because another request may have moved or deleted it. */
async function lockedNode(tx: Transaction, id: string) {
  const found = await store.findNode(tx, id)
  if (found === undefined) throw missingNode(id)
  const tree = await lockedHierarchy(tx, found.hierarchyId)
  const node = await store.findNode(tx, id)
  if (node === undefined) throw missingNode(id)
  return { tree, node }
}

async function shownNode(handle: Handle, caller: Caller, id: string) {
  const row = await store.findListedNode(handle, id, countScope(caller))
  if (row === undefined) throw missingNode(id)
  const level = (await store.pathTo(handle, id)).length - 1
  return { row, shown: showNode(row, level) }
}

type NodeContent = Pick<store.NodeRow, 'name' | 'type' | 'properties'>

function isSame(one: NodeContent, other: NodeContent): boolean {
  return one.name === other.name && one.type === other.type && isDeepStrictEqual(one.properties, other.properties)
}

/** Returns true if a node already has the requested place among its siblings. Without a position, it keeps its place. */
async function isPlaceOf(tx: Transaction, node: store.ListedNode, position: number | undefined): Promise<boolean> {
  if (position === undefined || position === node.position) return true
  return position > node.position && node.position === (await countChildren(tx, node.parentId)) - 1
}

/** Checks a new type against the types of the parent and of the children. */
async function changedType(tx: Transaction, tree: store.HierarchyRow, node: store.NodeRow, type: string | null) {
  const parentType = node.parentId === tree.id ? undefined : (await store.findNode(tx, node.parentId))?.type
  const changed = typeBelow(tree.template, { type, parentType, pointer: '/data/type' })
  for (const child of await store.childTypesOf(tx, node.id))
    if (child !== null) typeBelow(tree.template, { type: child, parentType: changed, pointer: '/data/type' })
  return changed
}

/** Returns the nodes of a batch with their ids, parents and ranks. Throws with the position of each invalid node. */
async function batchNodes(
  tx: Transaction,
  tree: store.HierarchyRow,
  inputs: readonly BatchNode[],
): Promise<writes.NewNode[]> {
  const byKey = new Map<string, { input: BatchNode; index: number; id: string }>()
  for (const [index, input] of inputs.entries())
    if (!byKey.has(input.key)) byKey.set(input.key, { input, index, id: newId() })
  const errors: FieldError[] = []
  const fail = (index: number, field: string, detail: string) =>
    errors.push({ pointer: `/data/nodes/${index}/${field}`, code: 'invalid_body', detail })
  for (const [index, { key, parentKey, parentId }] of inputs.entries()) {
    if (byKey.get(key)?.index !== index)
      fail(index, 'key', `Two nodes have the key ${key}. Use a different key for each node`)
    if (parentKey !== undefined && !byKey.has(parentKey))
      fail(index, 'parentKey', `No node of this request has the key ${parentKey}`)
    if (parentKey !== undefined && parentId !== undefined)
      fail(index, 'parentId', 'Send either parentKey or parentId, not both')
  }
  if (errors.length === 0) {
    const keysInCycles = nodesInCycles(byKey)
    for (const [index, { key }] of inputs.entries())
      if (keysInCycles.has(key))
        fail(index, 'parentKey', `The node with the key ${key} is below itself. Change its parentKey`)
  }
  if (errors[0] !== undefined) throw new Problem('invalid_body', errors[0].detail, { errors })
  const parentIds = inputs.flatMap(({ parentKey, parentId }) => (parentKey === undefined ? (parentId ?? []) : []))
  const paths = await store.pathsTo(tx, parentIds)
  const named = new Map((await store.describeNodes(tx, parentIds)).map((node) => [node.id, node]))
  const ranks = await lastRanksOf(tx, [tree.id, ...parentIds])
  const placed = new Map<string, { level: number; type: string | null }>()
  const nodes = new Map<string, writes.NewNode>()
  const rowErrors = new RowErrors()
  const place = (key: string): { id: string; level: number; type: string | null | undefined } => {
    const entry = byKey.get(key)
    if (entry === undefined) throw new TypeError(`The batch has no node ${key}`)
    const done = placed.get(key)
    if (done !== undefined) return { id: entry.id, ...done }
    const { input, index, id } = entry
    const parent =
      input.parentKey === undefined ? existingParent(input.parentId ?? null, index) : place(input.parentKey)
    rowErrors.check(index, () => requireLevels(parent.level + 1, `/data/nodes/${index}`), undefined)
    const requested = { type: input.type ?? null, parentType: parent.type, pointer: `/data/nodes/${index}/type` }
    const type = rowErrors.check(index, () => typeBelow(tree.template, requested), requested.type)
    const rank = (ranks.get(parent.id) ?? 0) + rankGap
    ranks.set(parent.id, rank)
    const { name, properties = {} } = input
    nodes.set(key, { id, parentId: parent.id, name, type, rank, tail: '', properties })
    placed.set(key, { level: parent.level + 1, type })
    return { id, level: parent.level + 1, type }
  }
  const existingParent = (parentId: string | null, index: number): Omit<Parent, 'path'> => {
    if (parentId === null) return { id: tree.id, level: 0, type: undefined }
    const path = paths.get(parentId)
    if (path === undefined || named.get(parentId)?.hierarchyId !== tree.id) {
      rowErrors.add(index, missingParent(parentId, `/data/nodes/${index}/parentId`))
      return { id: parentId, level: 0, type: null }
    }
    return { id: parentId, level: path.length, type: path.at(-1)?.type ?? null }
  }
  for (const { key } of inputs) {
    if (rowErrors.isFull) break
    place(key)
  }
  rowErrors.throwFirst()
  return inputs.flatMap(({ key }) => nodes.get(key) ?? [])
}

/** Returns the keys of the nodes that are in a cycle or below one. It visits each node once. */
function nodesInCycles(byKey: ReadonlyMap<string, { input: BatchNode }>): Set<string> {
  const inCycles = new Set<string>()
  const visited = new Set<string>()
  for (const key of byKey.keys()) {
    const path = new Set<string>()
    let next: string | undefined = key
    for (; next !== undefined && !visited.has(next); next = byKey.get(next)?.input.parentKey) {
      visited.add(next)
      path.add(next)
    }
    if (next !== undefined && (path.has(next) || inCycles.has(next))) for (const one of path) inCycles.add(one)
  }
  return inCycles
}

/** The number of nodes in one filter. The length of a filter is limited. */
const nodesPerFilter = 50

/** Deletes relations to deleted nodes with the rights of the caller, up to the limit of one request. */
async function deleteRelations(context: Context, caller: Caller, nodeIds: readonly string[]) {
  const inventoryOf = context.peers(inventory, caller)
  const related = await relationsOf(context, caller, nodeIds)
  const total = related.reduce((sum, { relations }) => sum + relations, 0)
  let deletedRelations = 0
  for (let start = 0; start < related.length; start += nodesPerFilter) {
    const ids = related.slice(start, start + nodesPerFilter).map(({ nodeId }) => `'${nodeId}'`)
    const isOfNodes = `object.type eq 'node' and object.id in (${ids.join(', ')})`
    const relationsFilter = `${isOfNodes} and predicate eq '${assignmentPredicate}'`
    for (let more = true; more; ) {
      if (deletedRelations >= hierarchyLimits.relationsCleaned) break
      const { data } = await inventoryOf.deleteRelationsByFilter({ query: { relationsFilter } })
      deletedRelations += data.deleted
      more = data.deleted > 0 && data.deletable > data.deleted
    }
    if (deletedRelations >= hierarchyLimits.relationsCleaned) break
  }
  return { deletedRelations, remainingRelations: Math.max(0, total - deletedRelations) }
}

type NodeChange = {
  action: string
  event: string
  node: Awaited<ReturnType<typeof shownNode>>
  detail?: Record<string, unknown>
}

/** Writes the audit entry and the event of a change of a node. Neither contains counts of assets. */
async function reportNode(tx: Transaction, caller: Caller, { action, event, node, detail = {} }: NodeChange) {
  const { id, hierarchyId, parentId, name, type } = node.shown
  const subject = `node/${id}`
  const data = { hierarchyId, parentId, name, ...(type === undefined ? {} : { type }), ...detail }
  await record(tx, caller, { action: `hierarchy.${action}`, target: subject, detail: data })
  await emit(tx, { type: `hierarchy.node.${event}`, subject, data })
}
