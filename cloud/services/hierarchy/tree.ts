import {
  type HierarchyNode,
  hierarchyLimits,
  hierarchyTemplates,
  type TemplateName,
} from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith, may } from '../../platform/access/rights.ts'
import type { Handle } from '../../platform/database/database.ts'
import { allGroups, type CountScope } from './count-store.ts'
import type { After, ListedNode, StructureRow } from './node-store.ts'
import * as store from './node-store.ts'

/** The rules of a tree, and pages of a subtree in the order of a printed tree: each node is followed by its children. */

/** Returns the access groups whose assets the caller counts. */
export function countScope(caller: Pick<Caller, 'rights'>): CountScope {
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  if (groups === 'all') return { groups: [allGroups], gateways: false }
  const gateways = may(caller, 'glb_inventory_read_gateway_data')
  return { groups: gateways ? [...groups, allGroups] : groups, gateways }
}

export function showNode(row: ListedNode, level: number): HierarchyNode {
  const { id, hierarchyId, parentId, name, type, properties, position, assets, online, offline } = row
  return {
    id,
    hierarchyId,
    parentId: parentId === hierarchyId ? null : parentId,
    name,
    ...(type === null ? {} : { type }),
    properties,
    position,
    level,
    childCount: row.children,
    assetCount: row.assetsHere,
    totalAssetCount: assets,
    health: {
      online,
      offline,
      unknown: assets - online - offline,
      undecided: row.undecided,
      changed: row.changed,
    },
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

/**
 * Returns the type of a new or moved node. In a hierarchy with a template, the type must be a level below the type of the
 * parent. A node without a type gets the next level.
 */
export function typeBelow(
  template: TemplateName | null,
  { type, parentType, pointer }: { type: string | null; parentType: string | null | undefined; pointer: string },
): string | null {
  if (template === null) return type
  const levels: readonly string[] = hierarchyTemplates[template].levels
  const above = parentType === undefined || parentType === null ? -1 : levels.indexOf(parentType)
  const allowed = levels.slice(above + 1)
  if (type !== null && allowed.includes(type)) return type
  if (type === null && allowed[0] !== undefined) return allowed[0]
  const node = type === null ? 'a node' : `a node of the type ${type}`
  const parent = parentType === null ? 'a node without a type' : `a node of the type ${parentType}`
  const place = parentType === undefined ? 'at the top level' : `below ${parent}`
  const choice =
    allowed.length === 0 ? `${parentType} is the last level of the template` : `Allowed types: ${allowed.join(', ')}`
  const detail = `The template ${template} does not allow ${node} ${place}. ${choice}`
  throw new Problem('invalid_node_type', detail, { errors: [{ pointer, code: 'invalid_node_type', detail }] })
}

export function requireLevels(levels: number, pointer: string): void {
  if (levels <= hierarchyLimits.levels) return
  const detail = `The hierarchy would have ${levels} levels. The limit is ${hierarchyLimits.levels}`
  throw new Problem('conflict', detail, { errors: [{ pointer, code: 'conflict', detail }] })
}

export function requireNodes(nodes: number): void {
  if (nodes > hierarchyLimits.nodesPerHierarchy)
    throw new Problem(
      'conflict',
      `The hierarchy would have ${nodes} nodes. The limit is ${hierarchyLimits.nodesPerHierarchy}`,
    )
}

/** A part of a page: the children of a node after a place, with the levels below them. */
type Section = { parentId: string; after?: After; depth: number; level: number }

type PlacedNode = { row: ListedNode; level: number }

type TreePage = { depth: number; limit: number; scope: CountScope; afterNode: string | undefined }

/**
 * Returns the next nodes below a node in the order of a printed tree. `afterNode` is the last node of the previous page. A
 * page reads the structure of at most `limit` nodes of each level, and the contents of the nodes on the page.
 */
export async function listTree(
  handle: Handle,
  top: { id: string; level: number },
  { depth, limit, scope, afterNode }: TreePage,
): Promise<PlacedNode[]> {
  const sections =
    afterNode === undefined
      ? [{ parentId: top.id, depth, level: top.level }]
      : await sectionsAfter(handle, top, { depth, afterNode })
  const placed: { row: StructureRow; level: number }[] = []
  for (const section of sections) {
    if (placed.length >= limit) break
    placed.push(...(await listSection(handle, section, limit - placed.length)))
  }
  const counted = await store.countedNodes(
    handle,
    placed.map(({ row }) => row.id),
    scope,
  )
  // A node that was deleted since the structure was read is left out.
  return placed.flatMap(({ row: { id, position }, level }) => {
    const node = counted.get(id)
    return node === undefined ? [] : [{ row: { ...node, position }, level }]
  })
}

async function sectionsAfter(
  handle: Handle,
  top: { id: string; level: number },
  { depth, afterNode }: { depth: number; afterNode: string },
): Promise<Section[]> {
  const path = await store.pathTo(handle, afterNode)
  const start = path.findIndex(({ parentId }) => parentId === top.id)
  const below = start === -1 ? [] : path.slice(start)
  const last = below.at(-1)
  if (last === undefined || below.length > depth)
    throw new Problem('invalid_cursor', 'The node of the cursor was deleted or moved. Start again without a cursor')
  const positions = await store.positionsOf(
    handle,
    below.map(({ id }) => id),
  )
  const sections: Section[] = []
  if (below.length < depth)
    sections.push({ parentId: last.id, depth: depth - below.length, level: top.level + below.length })
  for (const [index, node] of [...below.entries()].toReversed()) {
    const after = { rank: node.rank, id: node.id, position: positions.get(node.id) ?? 0 }
    sections.push({ parentId: node.parentId, after, depth: depth - index, level: top.level + index })
  }
  return sections
}

/** The number of nodes whose children one step reads. After the first steps, each step reads twice as many as the last. */
const firstStep = { nodes: 16, steps: 6 } as const

/**
 * Returns the first nodes of a section. Each step reads the children of the next nodes of the page that have children. A
 * page of a deep tree therefore reads few nodes that are not on it.
 */
async function listSection(
  handle: Handle,
  section: Section,
  limit: number,
): Promise<{ row: StructureRow; level: number }[]> {
  const { parentId, after, depth, level } = section
  const childrenOf = new Map([[parentId, await store.listChildren(handle, parentId, { after, limit })]])
  for (let step = 1; ; step++) {
    const placed = printed(section, childrenOf, limit)
    const unread = placed
      .filter(({ row, level: at }) => row.hasChildren && at - level + 1 < depth && !childrenOf.has(row.id))
      .slice(0, firstStep.nodes * 2 ** Math.max(0, step - firstStep.steps))
      .map(({ row }) => row.id)
    if (unread.length === 0) return placed
    const children = Map.groupBy(await store.listChildrenOfMany(handle, unread, { limit }), (child) => child.parentId)
    // The children of the last nodes are left out if the children of the nodes before them fill the page.
    for (const id of unread) childrenOf.set(id, children.get(id) ?? [])
  }
}

/** Returns the nodes in the order of a printed tree. */
function printed(
  { parentId, level }: Section,
  childrenOf: ReadonlyMap<string, readonly StructureRow[]>,
  limit: number,
): { row: StructureRow; level: number }[] {
  const placed: { row: StructureRow; level: number }[] = []
  const visit = (id: string, at: number) => {
    for (const row of childrenOf.get(id) ?? []) {
      if (placed.length >= limit) return
      placed.push({ row, level: at })
      visit(row.id, at + 1)
    }
  }
  visit(parentId, level)
  return placed
}
