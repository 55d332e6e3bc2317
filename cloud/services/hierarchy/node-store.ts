import type { PathNode, Rule, TemplateName } from '@millwright/api/hierarchy.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { lowestId } from '../../platform/database/id.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import { allGroups, type CountScope } from './count-store.ts'
import { bySiblingOrder, type Rank } from './rank-store.ts'

/** Statements on hierarchies and nodes. The id of a hierarchy is the parent of its top-level nodes. */

export type HierarchyRow = {
  id: string
  name: string
  description: string | null
  template: TemplateName | null
  rules: Rule[]
  rulesVersion: number
  nodes: number
  /** The size of the properties of all nodes, as JSON text. */
  propertyBytes: number
  /** Changes with every change of the nodes. */
  structure: number
  /** How often siblings got new ranks. */
  renumberings: number
  version: number
  createdAt: string
  modifiedAt: string
}

const hierarchyColumns = `h.id, h.name, h.description, h.template, h.rules, h.rules_version as "rulesVersion", h.nodes,
  h.property_bytes as "propertyBytes", h.structure, h.renumberings, h.version, h.created_at as "createdAt",
  h.modified_at as "modifiedAt"`

const findHierarchyStatement = statement<HierarchyRow>(
  `select ${hierarchyColumns} from hierarchies h where h.tenant_id = $1 and h.id = $2`,
)
const lockHierarchyStatement = statement<HierarchyRow>(
  `select ${hierarchyColumns} from hierarchies h where h.tenant_id = $1 and h.id = $2 for update`,
)

export function findHierarchy(handle: Handle, id: string): Promise<HierarchyRow | undefined> {
  return handle.row(findHierarchyStatement, id)
}

/** Locks a hierarchy. Other changes of its structure and of its counts wait until the end of the transaction. */
export function lockHierarchy(tx: Transaction, id: string): Promise<HierarchyRow | undefined> {
  return tx.row(lockHierarchyStatement, id)
}

const lockHierarchiesStatement = statement<{ id: string }>(
  `select h.id from hierarchies h where h.tenant_id = $1 and h.id = any($2::uuid[]) order by h.id for update`,
)

/** Locks hierarchies in the order of their ids, and returns the ids of those that exist. */
export async function lockHierarchies(tx: Transaction, ids: readonly string[]): Promise<Set<string>> {
  const rows = ids.length === 0 ? [] : await tx.rows(lockHierarchiesStatement, arrayOf('uuid', ids))
  return new Set(rows.map(({ id }) => id))
}

const listHierarchiesStatement = statement<HierarchyRow>(
  `select ${hierarchyColumns} from hierarchies h where h.tenant_id = $1 order by h.name limit $2 offset $3`,
)
const countHierarchiesStatement = statement<{ total: number }>(
  `select count(*) as total from hierarchies h where h.tenant_id = $1`,
)

export async function countHierarchies(handle: Handle): Promise<number> {
  return (await handle.row(countHierarchiesStatement))?.total ?? 0
}

export async function listHierarchies(handle: Handle, { limit, offset }: { limit: number; offset: number }) {
  return { rows: await handle.rows(listHierarchiesStatement, limit, offset), total: await countHierarchies(handle) }
}

const createLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7246))`)

/** Makes other creations of hierarchies wait until the end of the transaction, so that none exceeds the limit. */
export async function lockCreation(tx: Transaction): Promise<void> {
  await tx.run(createLockStatement)
}

const insertHierarchyStatement = statement(
  `insert into hierarchies (tenant_id, id, name, description, template, created_at, modified_at)
   values ($1, $2, $3, $4, $5, $6, $6)`,
)

type NewHierarchy = Pick<HierarchyRow, 'id' | 'name' | 'description' | 'template'>

export async function insertHierarchy(tx: Transaction, row: NewHierarchy, now: string): Promise<void> {
  await tx.run(insertHierarchyStatement, row.id, row.name, row.description, row.template, now)
}

const updateHierarchyStatement = statement(
  `update hierarchies set name = $3, description = $4, version = version + 1, modified_at = $5
   where tenant_id = $1 and id = $2`,
)

export async function updateHierarchy(
  tx: Transaction,
  { id, name, description }: Pick<HierarchyRow, 'id' | 'name' | 'description'>,
  now: string,
): Promise<void> {
  await tx.run(updateHierarchyStatement, id, name, description, now)
}

const rulesStatement = statement(
  `update hierarchies set rules = $3::json, rules_version = rules_version + 1 where tenant_id = $1 and id = $2`,
)

export async function replaceRules(tx: Transaction, id: string, rules: readonly Rule[]): Promise<void> {
  await tx.run(rulesStatement, id, jsonText(rules))
}

const deleteHierarchyStatement = statement(`delete from hierarchies where tenant_id = $1 and id = $2`)

export async function deleteHierarchy(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteHierarchyStatement, id)
}

/** A node without its counts. */
export type NodeRow = Rank & {
  id: string
  hierarchyId: string
  parentId: string
  name: string
  type: string | null
  properties: Record<string, string>
  version: number
  createdAt: string
  modifiedAt: string
}

/** A node with its place among its siblings and its counts. */
export type ListedNode = NodeRow & {
  position: number
  children: number
  assetsHere: number
  assets: number
  online: number
  offline: number
  undecided: number
  changed: number
}

const nodeColumns = (
  table: string,
) => `${table}.id, ${table}.hierarchy_id as "hierarchyId", ${table}.parent_id as "parentId",
  ${table}.name, ${table}.type, ${table}.properties, ${table}.rank, ${table}.rank_tail as tail, ${table}.version,
  ${table}.created_at as "createdAt", ${table}.modified_at as "modifiedAt"`

/** The columns that `nodeColumns` reads, for the recursion of a statement. The tokens of the name are left out. */
const storedColumns = (table: string) => `${table}.id, ${table}.hierarchy_id, ${table}.parent_id, ${table}.name,
  ${table}.type, ${table}.properties, ${table}.rank, ${table}.rank_tail, ${table}.version, ${table}.created_at,
  ${table}.modified_at`

/**
 * The condition that node `n` has children. If most nodes have the same parent, the planner expects many children of every
 * node and would read the whole table. The order makes it use the index.
 */
export const hasChildren = `(select true from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = n.id
    order by c.rank, c.rank_tail, c.id limit 1) is true`

/** Integers are summed several times as fast as big integers, whose sum is `numeric`. A count fits in an integer. */
const sums = ['assets', 'online', 'offline', 'undecided', 'changed']
  .map((name) => `coalesce(sum(c.${name}::integer), 0) as ${name}`)
  .join(', ')

/**
 * The condition that the row `c` of the counts belongs to the access groups in the parameters. A caller that reads gateways
 * in every group gets the gateways from the row of all groups, and the other assets from the rows of its groups.
 */
const isCounted = (groups: string, gateways: string) =>
  `c.access_group_id = any(${groups}::uuid[]) and (not ${gateways}::boolean or (c.access_group_id = '${allGroups}') = c.is_gateway)`

/** Joins the counts of node `n` for the access groups in the parameters. */
const countsOf = (groups: string, gateways: string) => `cross join lateral (
  select coalesce(sum(c.assets_here::integer), 0) as "assetsHere", ${sums}
  from hierarchy_counts c where c.tenant_id = $1 and c.node_id = n.id and ${isCounted(groups, gateways)}) as k`

const findNodeStatement = statement<NodeRow>(
  `select ${nodeColumns('n')} from hierarchy_nodes n where n.tenant_id = $1 and n.id = $2`,
)

export function findNode(handle: Handle, id: string): Promise<NodeRow | undefined> {
  return handle.row(findNodeStatement, id)
}

const findListedStatement = statement<ListedNode>(
  `select ${nodeColumns('n')}, (select count(*) from hierarchy_nodes s where s.tenant_id = $1 and s.parent_id = n.parent_id
       and (s.rank, s.rank_tail, s.id) < (n.rank, n.rank_tail, n.id)) as position,
     case when ${hasChildren} then (select count(*) from hierarchy_nodes c where c.tenant_id = $1 and c.parent_id = n.id)
       else 0 end as children,
     k."assetsHere", k.assets, k.online, k.offline, k.undecided, k.changed
   from hierarchy_nodes n ${countsOf('$3', '$4')} where n.tenant_id = $1 and n.id = $2`,
)

export function findListedNode(handle: Handle, id: string, scope: CountScope): Promise<ListedNode | undefined> {
  return handle.row(findListedStatement, id, scope.groups, scope.gateways)
}

/** A place in the order of siblings: the list continues after this node. */
export type After = Rank & { id: string; position: number }

/** A node in the structure of the tree, without its contents and counts. */
export type StructureRow = Pick<ListedNode, 'id' | 'parentId' | 'rank' | 'tail' | 'position'> & {
  hasChildren: boolean
}

const structureColumns = `n.id, n.parent_id as "parentId", n.rank, n.rank_tail as tail,
  ${hasChildren} as "hasChildren"`

type UnplacedRow = Omit<StructureRow, 'position'>

const childrenStatement = statement<UnplacedRow>(
  `select ${structureColumns} from (
     select c.id, c.parent_id, c.rank, c.rank_tail from hierarchy_nodes c
     where c.tenant_id = $1 and c.parent_id = $2 and (c.rank, c.rank_tail, c.id) > ($3, $4, $5::uuid)
     order by c.rank, c.rank_tail, c.id limit $6) as n`,
)

const before: After = { rank: -Number.MAX_SAFE_INTEGER, tail: '', id: lowestId, position: -1 }

/** Returns the children of a node in order. */
export async function listChildren(
  handle: Handle,
  parentId: string,
  { after = before, limit }: { after?: After | undefined; limit: number },
): Promise<StructureRow[]> {
  const { rank, tail, id, position } = after
  return placed(await handle.rows(childrenStatement, parentId, rank, tail, id, limit), position)
}

/** Sorts siblings and adds their positions. The first one has the position after `position`. */
function placed(siblings: UnplacedRow[], position: number): StructureRow[] {
  return siblings.sort(bySiblingOrder).map((row, index) => Object.assign(row, { position: position + 1 + index }))
}

const childrenOfManyStatement = statement<UnplacedRow>(
  `select ${structureColumns} from (
     select c.id, c.parent_id, c.rank, c.rank_tail from unnest($2::uuid[]) with ordinality as p (id, ordinal)
     cross join lateral (select x.id, x.parent_id, x.rank, x.rank_tail from hierarchy_nodes x
                         where x.tenant_id = $1 and x.parent_id = p.id
                         order by x.rank, x.rank_tail, x.id limit $3) as c
     order by p.ordinal, c.rank, c.rank_tail, c.id limit $3) as n`,
)

/**
 * Returns the children of many nodes, by the id of the parent. If the children of the first nodes reach the limit, the
 * children of the last nodes are left out.
 */
export async function listChildrenOfMany(
  handle: Handle,
  parentIds: readonly string[],
  { limit }: { limit: number },
): Promise<Map<string, StructureRow[]>> {
  const rows = await handle.rows(childrenOfManyStatement, arrayOf('uuid', parentIds), limit)
  const siblings = Map.groupBy(rows, ({ parentId }) => parentId)
  return new Map([...siblings].map(([parentId, children]) => [parentId, placed(children, before.position)]))
}

export type AssetCounts = Omit<ListedNode, keyof NodeRow | 'position' | 'children'>

/** The contents of a node in a list. `properties` is JSON text, which the response contains unchanged. */
export type NodeContents = Pick<NodeRow, 'id' | 'name' | 'type' | 'createdAt' | 'modifiedAt'> & { properties: string }

const contentsStatement = statement<NodeContents>(
  `select n.id, n.name, n.type, n.properties as "properties:text", n.created_at as "createdAt",
          n.modified_at as "modifiedAt"
   from hierarchy_nodes n where n.tenant_id = $1 and n.id = any($2::uuid[])`,
)
const countsStatement = statement<AssetCounts & { id: string }>(
  `select c.node_id as id, sum(c.assets_here::integer) as "assetsHere", ${sums} from hierarchy_counts c
   where c.tenant_id = $1 and c.node_id = any($2::uuid[]) and ${isCounted('$3', '$4')} group by c.node_id`,
)

const childCountsStatement = statement<{ id: string; children: number }>(
  `select c.parent_id as id, count(*) as children from hierarchy_nodes c
   where c.tenant_id = $1 and c.parent_id = any($2::uuid[]) group by c.parent_id`,
)

/**
 * Returns the contents of nodes, their counts of assets and their numbers of children, by the id of the node. A node without
 * assets has no counts, and a node without children has no number. Three scans are faster than scans for each node.
 */
export async function listContents(
  handle: Handle,
  nodes: readonly Pick<StructureRow, 'id' | 'hasChildren'>[],
  { groups, gateways }: CountScope,
) {
  const ids = arrayOf(
    'uuid',
    nodes.map(({ id }) => id),
  )
  const parentIds = nodes.filter(({ hasChildren }) => hasChildren).map(({ id }) => id)
  const [contents, counts, children] = await Promise.all([
    handle.rows(contentsStatement, ids),
    handle.rows(countsStatement, ids, groups, gateways),
    parentIds.length === 0 ? [] : handle.rows(childCountsStatement, arrayOf('uuid', parentIds)),
  ])
  return {
    contents: new Map(contents.map((row) => [row.id, row])),
    counts: new Map(counts.map((row) => [row.id, row])),
    children: new Map(children.map((row) => [row.id, row.children])),
  }
}

const pathStatement = statement<NodeRow>(
  `with recursive up as (
     select ${storedColumns('n')}, 0 as height from hierarchy_nodes n where n.tenant_id = $1 and n.id = $2
     union all
     select ${storedColumns('p')}, u.height + 1 from up u join hierarchy_nodes p on p.tenant_id = $1 and p.id = u.parent_id
   ) select ${nodeColumns('up')} from up order by up.height desc`,
)

/** Returns the nodes from the top level to a node. The list is empty if the node does not exist. */
export function pathTo(handle: Handle, id: string): Promise<NodeRow[]> {
  return handle.rows(pathStatement, id)
}

const pathsStatement = statement<{ leaf: string; id: string; name: string; type: string | null }>(
  `with recursive up as (
     select n.id as leaf, n.id, n.parent_id, n.name, n.type, 0 as height from hierarchy_nodes n
     where n.tenant_id = $1 and n.id = any($2::uuid[])
     union all
     select u.leaf, p.id, p.parent_id, p.name, p.type, u.height + 1 from up u
     join hierarchy_nodes p on p.tenant_id = $1 and p.id = u.parent_id
   ) select leaf, id, name, type from up order by leaf, height desc`,
)

/** Returns the paths of nodes by the id of the node. */
export async function pathsTo(handle: Handle, ids: readonly string[]): Promise<Map<string, PathNode[]>> {
  const rows = ids.length === 0 ? [] : await handle.rows(pathsStatement, arrayOf('uuid', [...new Set(ids)]))
  const paths = new Map<string, PathNode[]>()
  for (const { leaf, id, name, type } of rows)
    paths.set(leaf, [...(paths.get(leaf) ?? []), { id, name, ...(type === null ? {} : { type }) }])
  return paths
}

export type PlacedNode = Pick<NodeRow, 'id' | 'parentId' | 'name' | 'type'>

const nodesOnPathsStatement = statement<PlacedNode>(
  `with recursive up as (
     select n.id, n.parent_id, n.name, n.type from hierarchy_nodes n
     where n.tenant_id = $1 and n.id = any($2::uuid[])
     union
     select p.id, p.parent_id, p.name, p.type from up u
     join hierarchy_nodes p on p.tenant_id = $1 and p.id = u.parent_id
   ) select id, parent_id as "parentId", name, type from up limit $3`,
)

/** Returns nodes and the nodes above them by id, each once. Reads at most `limit` nodes. */
export async function nodesOnPaths(
  handle: Handle,
  ids: readonly string[],
  limit: number,
): Promise<Map<string, PlacedNode>> {
  const rows = ids.length === 0 ? [] : await handle.rows(nodesOnPathsStatement, arrayOf('uuid', ids), limit)
  return new Map(rows.map((row) => [row.id, row]))
}

type NamedChild = { hierarchyId: string; parentId: string; name: string }
const namedChildren = rowset<NamedChild>({ hierarchyId: 'uuid', parentId: 'uuid', name: 'text' })
const namedChildrenStatement = statement<{ id: string; parentId: string; name: string }>(
  `select n.id, n.parent_id as "parentId", n.name from ${namedChildren.rows}
   join hierarchy_nodes n on n.tenant_id = $1 and n.hierarchy_id = r."hierarchyId" and n.name = r.name
     and n.parent_id = r."parentId"`,
)

/** Returns the nodes with these names below these parents. */
export async function findChildren(handle: Handle, children: readonly NamedChild[]) {
  const distinct = new Map(children.map((child) => [JSON.stringify([child.parentId, child.name]), child]))
  return handle.rows(namedChildrenStatement, ...namedChildren.values([...distinct.values()]))
}

/**
 * The condition that the node `child` is a child of `parent`, for the recursion down a tree. If most nodes have the same
 * parent, the planner expects many children of every node and would join the whole table on every level. It does not
 * expect this of a range, and uses the index.
 */
export const isChildOf = (child: string, parent: string) => `${child}.parent_id between ${parent}.id and ${parent}.id`

const below = `with recursive below as (
     select n.id, 0 as height from hierarchy_nodes n where n.tenant_id = $1 and n.id = $2
     union all
     select c.id, b.height + 1 from below b join hierarchy_nodes c on c.tenant_id = $1 and ${isChildOf('c', 'b')}
   )`
const subtreeStatement = statement<{ id: string }>(`${below} select id from below order by id`)
/** Selects ids in order, 16 bytes each, as base64. PostgreSQL inserts line breaks. */
const packed = `coalesce(replace(encode(string_agg(uuid_send(id), ''::bytea order by id), 'base64'), chr(10), ''), '') as ids`
const packedSubtreeStatement = statement<{ ids: string }>(`${below} select ${packed} from below`)
const heightStatement = statement<{ height: number }>(`${below} select coalesce(max(height), 0) as height from below`)

/** Returns the ids of a node and of all nodes below it, in order. */
export async function subtreeOf(handle: Handle, id: string): Promise<string[]> {
  return (await handle.rows(subtreeStatement, id)).map((row) => row.id)
}

/**
 * Returns the ids of a node and of all nodes below it, in order, 16 bytes each, as base64. One text is read many times as
 * fast as a row for each node.
 */
export async function packedSubtreeOf(handle: Handle, id: string): Promise<string> {
  return (await handle.row(packedSubtreeStatement, id))?.ids ?? ''
}

const packedChildrenStatement = statement<PackedChild>(
  `with recursive top as (
     select n.id, n.name, n.type, row_number() over (order by n.rank, n.rank_tail, n.id) as place from hierarchy_nodes n
     where n.tenant_id = $1 and n.parent_id = $2 order by n.rank, n.rank_tail, n.id limit $3
   ), below as (
     select t.id, t.id as top, 0 as height from top t
     union all
     select c.id, b.top, b.height + 1 from below b
     join hierarchy_nodes c on c.tenant_id = $1 and ${isChildOf('c', 'b')}
   )
   select t.id, t.name, t.type, s.children, s.ids from top t
   join (select b.top, count(*) filter (where b.height = 1) as children,
                replace(encode(string_agg(uuid_send(b.id), ''::bytea), 'base64'), chr(10), '') as ids
         from below b group by b.top) as s on s.top = t.id
   order by t.place`,
)

/** A child of a node, with the ids of the child and of all nodes below it, 16 bytes each, as base64. */
export type PackedChild = Pick<NodeRow, 'id' | 'name' | 'type'> & { children: number; ids: string }

/** Returns the first children of a node in their order. The id of a hierarchy stands for the top level. */
export function listPackedChildren(handle: Handle, parentId: string, limit: number): Promise<PackedChild[]> {
  return handle.rows(packedChildrenStatement, parentId, limit)
}

const placedNodesStatement = statement<PlacedNode>(
  `select n.id, n.parent_id as "parentId", n.name, n.type from hierarchy_nodes n
   where n.tenant_id = $1 and n.hierarchy_id = $2 order by n.parent_id, n.rank, n.rank_tail, n.id limit $3`,
)

/** Returns the first nodes of a hierarchy. Siblings are in their order. */
export function listPlacedNodes(handle: Handle, hierarchyId: string, limit: number): Promise<PlacedNode[]> {
  return handle.rows(placedNodesStatement, hierarchyId, limit)
}

/** Returns the number of levels below a node. */
export async function heightOf(handle: Handle, id: string): Promise<number> {
  return (await handle.row(heightStatement, id))?.height ?? 0
}

const structureStatement = statement<{ structure: number }>(
  `select h.structure from hierarchy_nodes n join hierarchies h on h.tenant_id = $1 and h.id = n.hierarchy_id
   where n.tenant_id = $1 and n.id = $2`,
)

/** Returns the structure version of the hierarchy of a node, or undefined if the node does not exist. */
export async function structureOf(handle: Handle, nodeId: string): Promise<number | undefined> {
  return (await handle.row(structureStatement, nodeId))?.structure
}

const hierarchyNodesStatement = statement<{ id: string }>(
  `select n.id from hierarchy_nodes n where n.tenant_id = $1 and n.hierarchy_id = $2 order by n.id`,
)

export async function nodesOf(handle: Handle, hierarchyId: string): Promise<string[]> {
  return (await handle.rows(hierarchyNodesStatement, hierarchyId)).map(({ id }) => id)
}

const packedNodesStatement = statement<{ ids: string }>(
  `select ${packed} from hierarchy_nodes n where n.tenant_id = $1 and n.hierarchy_id = $2`,
)

/** Returns the ids of all nodes of a hierarchy as `packedSubtreeOf` does. */
export async function packedNodesOf(handle: Handle, hierarchyId: string): Promise<string> {
  return (await handle.row(packedNodesStatement, hierarchyId))?.ids ?? ''
}

const hierarchiesOfNodesStatement = statement<{ id: string; hierarchyId: string; name: string }>(
  `select n.id, n.hierarchy_id as "hierarchyId", n.name from hierarchy_nodes n
   where n.tenant_id = $1 and n.id = any($2::uuid[])`,
)

/** Returns the hierarchies and the names of nodes. Nodes that do not exist are left out. */
export function describeNodes(handle: Handle, ids: readonly string[]) {
  const once = [...new Set(ids)]
  return once.length === 0 ? Promise.resolve([]) : handle.rows(hierarchiesOfNodesStatement, arrayOf('uuid', once))
}

const rowsBelowStatement = statement<NodeRow>(
  `with recursive below as (
     select ${storedColumns('n')}, 0 as height from hierarchy_nodes n where n.tenant_id = $1 and n.id = $2
     union all
     select ${storedColumns('c')}, b.height + 1 from below b join hierarchy_nodes c on c.tenant_id = $1 and ${isChildOf('c', 'b')}
   ) select ${nodeColumns('below')} from below order by below.height, below.rank, below.rank_tail, below.id limit $3`,
)

const sizeBelowStatement = statement<{ nodes: number; bytes: number }>(
  `with recursive below as (
     select n.id from hierarchy_nodes n where n.tenant_id = $1 and n.id = $2
     union all
     select c.id from below b join hierarchy_nodes c on c.tenant_id = $1 and ${isChildOf('c', 'b')}
   ) select count(*) as nodes, coalesce(sum(octet_length(n.properties::text)), 0)::bigint as bytes
     from below b join hierarchy_nodes n on n.tenant_id = $1 and n.id = b.id`,
)

/** Returns the number of nodes of a subtree, and the size of their properties. */
export async function sizeOf(handle: Handle, id: string): Promise<{ nodes: number; bytes: number }> {
  return (await handle.row(sizeBelowStatement, id)) ?? { nodes: 0, bytes: 0 }
}

/** Returns a node and the nodes below it, upper levels first. */
export function listRowsBelow(handle: Handle, id: string, limit: number): Promise<NodeRow[]> {
  return handle.rows(rowsBelowStatement, id, limit)
}

export type TreeRow = Pick<NodeRow, 'id' | 'parentId' | 'name' | 'type' | 'properties' | 'rank' | 'tail'>

const treeRowsStatement = statement<TreeRow>(
  `select n.id, n.parent_id as "parentId", n.name, n.type, n.properties, n.rank, n.rank_tail as tail
   from hierarchy_nodes n
   where n.tenant_id = $1 and n.hierarchy_id = $2 and (n.name, n.id) > ($3, $4::uuid) order by n.name, n.id limit $5`,
)

/** Returns the next nodes of a hierarchy, by name. */
export function listTreeRows(
  handle: Handle,
  hierarchyId: string,
  { after, limit }: { after: { name: string; id: string }; limit: number },
): Promise<TreeRow[]> {
  return handle.rows(treeRowsStatement, hierarchyId, after.name, after.id, limit)
}

const childTypesStatement = statement<{ type: string | null }>(
  `select distinct n.type from hierarchy_nodes n where n.tenant_id = $1 and n.parent_id = $2`,
)

export async function childTypesOf(handle: Handle, id: string): Promise<(string | null)[]> {
  return (await handle.rows(childTypesStatement, id)).map(({ type }) => type)
}

const deletedWithStatement = statement<{ id: string }>(
  `select d.id from hierarchy_deleted_nodes d where d.tenant_id = $1 and d.deleted_with = $2`,
)
const deletedStatement = statement<{ id: string }>(
  `select d.id from hierarchy_deleted_nodes d where d.tenant_id = $1 and d.id = $2`,
)

/**
 * Returns the nodes that were deleted together with a node or a hierarchy. For a node that was deleted with a node above
 * it, this is the node itself.
 */
export async function deletedNodesOf(handle: Handle, id: string): Promise<string[]> {
  const together = await handle.rows(deletedWithStatement, id)
  const rows = together.length > 0 ? together : await handle.rows(deletedStatement, id)
  return rows.map((row) => row.id)
}

type MoveRow = {
  id: string
  nodeId: string
  fromParentId: string
  fromPosition: number
  toParentId: string
  toPosition: number
  principal: string | null
  principalName: string
  time: string
}

const insertMoveStatement = statement(
  `insert into hierarchy_moves (tenant_id, id, hierarchy_id, node_id, from_parent_id, from_position, to_parent_id,
                                to_position, principal_id, principal_name, time)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
)

export async function insertMove(tx: Transaction, hierarchyId: string, move: MoveRow): Promise<void> {
  const { id, nodeId, fromParentId, fromPosition, toParentId, toPosition, principal, principalName, time } = move
  const places = [fromParentId, fromPosition, toParentId, toPosition]
  await tx.run(insertMoveStatement, id, hierarchyId, nodeId, ...places, principal, principalName, time)
}

const listMovesStatement = statement<MoveRow>(
  `select m.id, m.node_id as "nodeId", m.from_parent_id as "fromParentId", m.from_position as "fromPosition",
          m.to_parent_id as "toParentId", m.to_position as "toPosition", m.principal_id as principal,
          m.principal_name as "principalName", m.time
   from hierarchy_moves m where m.tenant_id = $1 and m.node_id = $2 order by m.id desc limit $3 offset $4`,
)
const countMovesStatement = statement<{ total: number }>(
  `select count(*) as total from hierarchy_moves m where m.tenant_id = $1 and m.node_id = $2`,
)

export async function listMoves(handle: Handle, nodeId: string, { limit, offset }: { limit: number; offset: number }) {
  const rows = await handle.rows(listMovesStatement, nodeId, limit, offset)
  return { rows, total: (await handle.row(countMovesStatement, nodeId))?.total ?? 0 }
}
