import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { type HierarchyNode, hierarchy, type PathRow } from '@millwright/api/hierarchy.ts'
import { v7 } from 'uuid'
import { anyWaiting } from '../../platform/events/store.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { anyUnprojected } from './count-store.ts'

/** Creates a hierarchy and returns its id. */
export async function createHierarchy(
  caller: TestCaller,
  name: string,
  template?: 'isa-95' | 'plant',
): Promise<string> {
  const body = { data: { name, ...(template === undefined ? {} : { template }) } }
  return (await caller.hierarchy.createHierarchy({ body })).data.id
}

type NodeOptions = { parentId?: string | null; type?: string; position?: number }

export async function createNode(
  caller: TestCaller,
  hierarchyId: string,
  name: string,
  options: NodeOptions = {},
): Promise<HierarchyNode> {
  const { data } = await caller.hierarchy.createNode({
    params: { id: hierarchyId },
    body: { data: { name, ...options } },
  })
  return data
}

export type TreeNode = Pick<HierarchyNode, 'id' | 'parentId' | 'name' | 'level'>

/** Returns the nodes of a hierarchy in the order of a printed tree, as lines with two spaces per level. */
export async function printTree(caller: TestCaller, hierarchyId: string): Promise<string[]> {
  return (await listTree(caller, hierarchyId)).map(({ level, name }) => `${'  '.repeat(level)}${name}`)
}

/** Returns the nodes of a hierarchy in the order of a printed tree. */
export async function listTree(caller: TestCaller, hierarchyId: string): Promise<TreeNode[]> {
  const nodes: TreeNode[] = []
  for (let cursor: string | undefined, isMore = true; isMore; ) {
    const query = { depth: 32, limit: 100, ...(cursor === undefined ? {} : { cursor }) }
    const page = await caller.hierarchy.listNodes({ params: { id: hierarchyId }, query })
    nodes.push(...page.data)
    cursor = page.meta.nextCursor
    isMore = cursor !== undefined
  }
  return nodes
}

/** Returns the nodes of the JSON export of a hierarchy. */
export async function exportedNodes(caller: TestCaller, hierarchyId: string): Promise<PathRow[]> {
  const { body } = await caller.exchange(hierarchy, 'exportNodes', { params: { id: hierarchyId } })
  return (body as { data: { nodes: PathRow[] } }).data.nodes
}

const deadlineMs = 120_000

/** Waits until the counts contain all changes so far. */
export async function projectAll({ context, tenant }: TestHub): Promise<void> {
  const isPending = () =>
    context.database.read(
      tenant,
      async (handle) =>
        (await handle.row(anyWaiting)) !== undefined || (await handle.row(anyUnprojected)) !== undefined,
    )
  const startedAt = performance.now()
  while (await isPending()) {
    assert.ok(performance.now() - startedAt < deadlineMs, 'The counts do not contain all changes')
    await setImmediate()
  }
}

export type TestAsset = { name: string; accessGroup?: string; address?: string; type?: string }

/** Creates assets through the API and returns their ids. */
export async function createAssets(caller: TestCaller, assets: readonly TestAsset[]): Promise<string[]> {
  const documents = assets.map(({ name, accessGroup, address, type = 'Device' }) => ({
    functional_object_type: type,
    functional_object_schema_url: baseSchemaUrl,
    name,
    ...(accessGroup === undefined ? {} : { access_group: accessGroup }),
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'test', value: v7() }],
    ...(address === undefined
      ? {}
      : { connection_points: [{ connection_point_type: 'Ipv4Connectivity', id: v7(), ipv4_address: address }] }),
  }))
  const { data } = await caller.inventory.createAssets({
    headers: { prefer: 'wait=30' },
    body: { data: { assets: documents } },
  })
  const results = data.detail?.result as { assetId?: string }[] | undefined
  assert.equal(data.state, 'finished', JSON.stringify(data))
  return (results ?? []).map(({ assetId }) => assetId ?? assert.fail(JSON.stringify(results)))
}
