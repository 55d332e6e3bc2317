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
import { fieldProblem } from '../../platform/field-problem.ts'
import { allGroups, type CountScope } from './count-store.ts'
import { childAt, positionsAt } from './node-paging-store.ts'
import type { After, AssetCounts, ListedNode, NodeContents, NodeRow, StructureRow } from './node-store.ts'
import * as store from './node-store.ts'
import type { Rank } from './rank-store.ts'

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

type PrintedNode = Omit<StructureRow, keyof Rank>

type ListedText = {
  row: PrintedNode
  contents: NodeContents
  counts: AssetCounts
  children: number
  level: number
  hierarchyId: string
}

/** Returns the JSON text of a node as `showNode` does. A page of many nodes is written several times as fast. */
function nodeText({ row, contents, counts, children, level, hierarchyId }: ListedText): string {
  const { name, type, properties, createdAt, modifiedAt } = contents
  const { assetsHere, assets, online, offline, undecided, changed } = counts
  const parentId = row.parentId === hierarchyId ? 'null' : `"${row.parentId}"`
  const typeMember = type === null ? '' : `"type":${JSON.stringify(type)},`
  const unknown = assets - online - offline
  return `{"id":"${row.id}","hierarchyId":"${hierarchyId}","parentId":${parentId},"name":${JSON.stringify(name)},${typeMember}"properties":${properties},"position":${row.position},"level":${level},"childCount":${children},"assetCount":${assetsHere},"totalAssetCount":${assets},"health":{"online":${online},"offline":${offline},"unknown":${unknown},"undecided":${undecided},"changed":${changed}},"createdTimestamp":"${createdAt}","lastModifiedTimestamp":"${modifiedAt}"}`
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
  throw fieldProblem('invalid_node_type', pointer, detail)
}

export type Parent = { id: string; level: number; type: string | null | undefined; path: readonly NodeRow[] }

/** Returns the parent of a node. Null means the top level, whose parent is the hierarchy. */
export async function parentIn(
  handle: Handle,
  hierarchyId: string,
  parentId: string | null,
  pointer = '/data/parentId',
): Promise<Parent> {
  if (parentId === null) return { id: hierarchyId, level: 0, type: undefined, path: [] }
  const path = await store.pathTo(handle, parentId)
  const node = path.at(-1)
  if (node === undefined || node.hierarchyId !== hierarchyId) throw missingParent(parentId, pointer)
  return { id: node.id, level: path.length, type: node.type, path }
}

export function missingParent(id: string, pointer: string): Problem {
  const detail = `Node ${id} does not exist in this hierarchy`
  return fieldProblem('node_not_found', pointer, detail)
}

export function requireLevels(levels: number, pointer: string): void {
  if (levels <= hierarchyLimits.levels) return
  const detail = `The hierarchy would have ${levels} levels. The limit is ${hierarchyLimits.levels}`
  throw fieldProblem('conflict', pointer, detail)
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

/** The place of a node in a list: the nodes from the first level of the list to this node. */
export type TreePlace = readonly (Rank & { id: string })[]

type TreePage = {
  hierarchyId: string
  depth: number
  limit: number
  offset: number
  scope: CountScope
  after: TreePlace | undefined
}

const noAssets: AssetCounts = { assetsHere: 0, assets: 0, online: 0, offline: 0, undecided: 0, changed: 0 }

type LeveledNode = { row: StructureRow; level: number }

/** Returns the JSON texts of nodes with their contents and counts. */
export async function printNodes(
  handle: Handle,
  nodes: readonly { row: PrintedNode; level: number }[],
  { hierarchyId, scope }: Pick<TreePage, 'hierarchyId' | 'scope'>,
): Promise<string[]> {
  const rows = nodes.map(({ row }) => row)
  const { contents, counts, children } = await store.listContents(handle, rows, scope)
  // A node that was deleted since the structure was read is left out.
  return nodes.flatMap(({ row, level }) => {
    const found = contents.get(row.id)
    if (found === undefined) return []
    const numbers = { children: children.get(row.id) ?? 0, counts: counts.get(row.id) ?? noAssets }
    return [nodeText({ row, contents: found, ...numbers, level, hierarchyId })]
  })
}

/**
 * Returns the JSON texts of the next nodes below a node in the order of a printed tree. `after` is the place of the last
 * node of the previous page, and `next` the place of the last node of this page if more nodes follow. A page reads the
 * structure of at most `limit` nodes of each level, and the contents of the nodes on the page.
 */
export async function listTree(
  handle: Handle,
  top: { id: string; level: number },
  { hierarchyId, depth, limit, offset, scope, after }: TreePage,
): Promise<{ nodes: string[]; next: TreePlace | undefined }> {
  const sections =
    after === undefined
      ? await sectionAtOffset(handle, { parentId: top.id, depth, level: top.level }, offset)
      : await sectionsAfter(handle, top, { depth, place: after })
  const placed: LeveledNode[] = []
  for (const section of sections) {
    if (placed.length > limit) break
    placed.push(...(await listSection(handle, section, limit + 1 - placed.length)))
  }
  const page = placed.slice(0, limit)
  const nodes = await printNodes(handle, page, { hierarchyId, scope })
  return { nodes, next: placed.length > limit ? lastPlace(top, page, after ?? []) : undefined }
}

/** Returns the place of the last node of a page. The nodes above it are on this page or in the place of the previous page. */
function lastPlace(top: { id: string }, page: readonly { row: StructureRow }[], after: TreePlace): TreePlace {
  const rows = new Map(page.map(({ row }) => [row.id, row]))
  const place: (Rank & { id: string })[] = []
  for (let row = page.at(-1)?.row; row !== undefined; row = rows.get(row.parentId)) {
    place.unshift({ rank: row.rank, tail: row.tail, id: row.id })
    if (row.parentId !== top.id && !rows.has(row.parentId))
      return [...after.slice(0, after.findIndex(({ id }) => id === row?.parentId) + 1), ...place]
  }
  return place
}

/** Returns the parts of a list after a place. The nodes of the place may have been deleted or moved since then. */
async function sectionsAfter(
  handle: Handle,
  top: { id: string; level: number },
  { depth, place }: { depth: number; place: TreePlace },
): Promise<Section[]> {
  const places = place.map((node, index) => ({ ...node, parentId: place[index - 1]?.id ?? top.id }))
  const positions = await positionsAt(handle, places)
  const sections: Section[] = []
  for (const [index, { parentId, ...sibling }] of places.entries()) {
    const { position, isCurrent } = positions[index] ?? { position: -1, isCurrent: false }
    sections.unshift({ parentId, after: { ...sibling, position }, depth: depth - index, level: top.level + index })
    // The children of a deleted node do not exist, and those of a moved node are at another place.
    if (!isCurrent) return sections
  }
  const last = place.at(-1)
  if (last !== undefined && place.length < depth)
    sections.unshift({ parentId: last.id, depth: depth - place.length, level: top.level + place.length })
  return sections
}

/** Returns the children of a node after the first `offset` children, with the levels below them. */
async function sectionAtOffset(handle: Handle, section: Section, offset: number): Promise<Section[]> {
  if (offset === 0) return [section]
  const skipped = await childAt(handle, section.parentId, offset - 1)
  return skipped === undefined ? [] : [{ ...section, after: { ...skipped, position: offset - 1 } }]
}

/** The number of nodes whose children one step reads. After the first steps, each step reads twice as many as the last. */
const firstStep = { nodes: 16, steps: 6 } as const

/**
 * Returns the first nodes of a section. Each step reads the children of the next nodes of the page that have children. A
 * page of a deep tree therefore reads few nodes that are not on it.
 */
async function listSection(handle: Handle, section: Section, limit: number): Promise<LeveledNode[]> {
  const { parentId, after, depth, level } = section
  const childrenOf = new Map([[parentId, await store.listChildren(handle, parentId, { after, limit })]])
  for (let step = 1; ; step++) {
    const placed = printed(section, childrenOf, limit)
    const unread = placed
      .filter(({ row, level: at }) => row.hasChildren && at - level + 1 < depth && !childrenOf.has(row.id))
      .slice(0, firstStep.nodes * 2 ** Math.max(0, step - firstStep.steps))
      .map(({ row }) => row.id)
    if (unread.length === 0) return placed
    const children = await store.listChildrenOfMany(handle, unread, { limit })
    // The children of the last nodes are left out if the children of the nodes before them fill the page.
    for (const id of unread) childrenOf.set(id, children.get(id) ?? [])
  }
}

/** Returns the nodes in the order of a printed tree. */
function printed(
  { parentId, level }: Section,
  childrenOf: ReadonlyMap<string, readonly StructureRow[]>,
  limit: number,
): LeveledNode[] {
  const placed: LeveledNode[] = []
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
