import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, type Lexemes, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import { createYield } from '../../platform/event-loop.ts'
import { nameTokens } from './name-tokens.ts'
import type { HierarchyRow, NodeRow } from './node-store.ts'

/**
 * Statements that change nodes. The hierarchy must be locked. Each change updates the number of nodes and the size of the
 * properties, which are stored with the hierarchy. Many nodes are written in parts, so that other requests do not wait.
 */

/** The number of nodes that one statement writes. */
const nodesPerStatement = 1_000

type LockedHierarchy = Pick<HierarchyRow, 'id' | 'propertyBytes'>

const changeStatement = statement(
  `update hierarchies set nodes = nodes + $3, property_bytes = property_bytes + $4, structure = structure + 1
   where tenant_id = $1 and id = $2`,
)

/** Notes a change of the structure, and changes the stored number of nodes and the stored size of the properties. */
async function noteStructure(
  tx: Transaction,
  hierarchyId: string,
  { nodes = 0, bytes = 0 }: { nodes?: number; bytes?: number },
): Promise<void> {
  await tx.run(changeStatement, hierarchyId, nodes, bytes)
}

function requirePropertyBytes({ propertyBytes }: LockedHierarchy, added: number): void {
  if (added <= 0 || propertyBytes + added <= hierarchyLimits.propertyBytes) return
  const detail = `The properties of all nodes of the hierarchy would have ${propertyBytes + added} bytes as JSON text. The limit is ${hierarchyLimits.propertyBytes}. Use shorter or fewer properties`
  throw new Problem('conflict', detail)
}

/** Returns nodes with their properties as JSON text, and the size of these texts. */
async function withTexts<Node extends Pick<NodeRow, 'properties'>>(tx: Transaction, nodes: readonly Node[]) {
  const yieldTurn = createYield(tx.tenantId)
  const rows: (Omit<Node, 'properties'> & { properties: string })[] = []
  let bytes = 0
  for (const node of nodes) {
    const properties = jsonText(node.properties)
    bytes += Buffer.byteLength(properties)
    rows.push({ ...node, properties })
    await yieldTurn()
  }
  return { rows, bytes }
}

function* partsOf<Row>(rows: readonly Row[]): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += nodesPerStatement)
    yield rows.slice(start, start + nodesPerStatement)
}

export type NewNode = Pick<NodeRow, 'id' | 'parentId' | 'name' | 'type' | 'rank' | 'tail' | 'properties'>

const newNodes = rowset<Omit<NewNode, 'properties'> & { tokens: Lexemes; properties: string }>({
  id: 'uuid',
  parentId: 'uuid',
  name: 'text',
  tokens: 'tsvector',
  type: 'text',
  rank: 'bigint',
  tail: 'text',
  properties: 'json',
})
const insertStatement = statement<{ id: string }>(
  `insert into hierarchy_nodes (tenant_id, id, hierarchy_id, parent_id, name, name_tokens, type, rank, rank_tail,
                                properties, created_at, modified_at)
   select $1, id, $10::uuid, "parentId", name, tokens, type, rank, tail, properties, $11::timestamptz, $11::timestamptz
   from ${newNodes.rows} returning id`,
)

/** Inserts nodes. Returns the size of their properties. */
export async function insertNodes(
  tx: Transaction,
  hierarchy: LockedHierarchy,
  nodes: readonly NewNode[],
  now: string,
): Promise<number> {
  if (nodes.length === 0) return 0
  const yieldTurn = createYield(tx.tenantId)
  const { rows, bytes } = await withTexts(tx, nodes)
  requirePropertyBytes(hierarchy, bytes)
  for (const part of partsOf(rows)) {
    const tokened: ((typeof part)[number] & { tokens: Lexemes })[] = []
    for (const row of part) {
      tokened.push({ ...row, tokens: nameTokens(hierarchy.id, row.name) })
      await yieldTurn()
    }
    await tx.rows(insertStatement, ...newNodes.values(tokened), hierarchy.id, now)
  }
  await noteStructure(tx, hierarchy.id, { nodes: nodes.length, bytes })
  return bytes
}

export type ChangedNode = Pick<NodeRow, 'id' | 'type' | 'properties'>

const changedNodes = rowset<Omit<ChangedNode, 'properties'> & { properties: string }>({
  id: 'uuid',
  type: 'text',
  properties: 'json',
})
const bytesStatement = statement<{ bytes: number }>(
  `select coalesce(sum(octet_length(n.properties::text)), 0)::bigint as bytes from hierarchy_nodes n
   where n.tenant_id = $1 and n.id = any($2::uuid[])`,
)
const updateStatement = statement(
  `update hierarchy_nodes n set type = r.type, properties = r.properties, version = n.version + 1, modified_at = $5
   from ${changedNodes.rows} where n.tenant_id = $1 and n.id = r.id`,
)

/** Changes the types and the properties of nodes. Their names stay, so the tokens of the names are not written again. */
export async function updateNodes(
  tx: Transaction,
  hierarchy: LockedHierarchy,
  nodes: readonly ChangedNode[],
  now: string,
): Promise<void> {
  if (nodes.length === 0) return
  const ids = nodes.map(({ id }) => id)
  const before = (await tx.row(bytesStatement, arrayOf('uuid', ids)))?.bytes ?? 0
  const { rows, bytes } = await withTexts(
    tx,
    nodes.map(({ id, type, properties }) => ({ id, type, properties })),
  )
  requirePropertyBytes(hierarchy, bytes - before)
  for (const part of partsOf(rows)) await tx.run(updateStatement, ...changedNodes.values(part), now)
  await noteStructure(tx, hierarchy.id, { bytes: bytes - before })
}

const names = rowset<Pick<NodeRow, 'id' | 'name'> & { tokens: Lexemes }>({
  id: 'uuid',
  name: 'text',
  tokens: 'tsvector',
})
const renameStatement = statement(
  `update hierarchy_nodes n set name = r.name, name_tokens = r.tokens from ${names.rows}
   where n.tenant_id = $1 and n.id = r.id`,
)

/** Changes the name of a node. The version and the time of the node are changed by `updateNodes`. */
export async function renameNode(
  tx: Transaction,
  hierarchyId: string,
  { id, name }: Pick<NodeRow, 'id' | 'name'>,
): Promise<void> {
  await tx.run(renameStatement, ...names.values([{ id, name, tokens: nameTokens(hierarchyId, name) }]))
}

const placeStatement = statement(
  `update hierarchy_nodes set parent_id = $3, rank = $4, rank_tail = $5, version = version + 1, modified_at = $6
   where tenant_id = $1 and id = $2`,
)

/** Moves a node. */
export async function placeNode(
  tx: Transaction,
  { id, hierarchyId, parentId, rank, tail }: Pick<NodeRow, 'id' | 'hierarchyId' | 'parentId' | 'rank' | 'tail'>,
  now: string,
): Promise<void> {
  await tx.run(placeStatement, id, parentId, rank, tail, now)
  await noteStructure(tx, hierarchyId, {})
}

const deleteStatement = statement(`delete from hierarchy_nodes where tenant_id = $1 and id = any($2::uuid[])`)
const rememberStatement = statement<{ id: string }>(
  `insert into hierarchy_deleted_nodes (tenant_id, id, hierarchy_id, deleted_with, deleted_at)
   select $1, d.id, $3::uuid, $4::uuid, $5::timestamptz from unnest($2::uuid[]) as d (id)
   on conflict (tenant_id, id) do nothing returning id`,
)

/** Deletes nodes and stores their ids, so that the remaining relations can be found. */
export async function deleteNodes(
  tx: Transaction,
  {
    ids,
    hierarchyId,
    deletedWith,
    now,
  }: { ids: readonly string[]; hierarchyId: string; deletedWith: string; now: string },
): Promise<void> {
  const array = arrayOf('uuid', ids)
  const { bytes } = (await tx.row(bytesStatement, array)) ?? { bytes: 0 }
  await tx.run(deleteStatement, array)
  await tx.rows(rememberStatement, array, hierarchyId, deletedWith, now)
  await noteStructure(tx, hierarchyId, { nodes: -ids.length, bytes: -bytes })
}
