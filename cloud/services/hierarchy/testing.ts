import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
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

export type NodeOptions = { parentId?: string | null; type?: string; position?: number }

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

/** Returns the nodes below a node in the order of a printed tree, as lines with two spaces per level. */
export async function printTree(caller: TestCaller, hierarchyId: string): Promise<string[]> {
  const lines: string[] = []
  for (let cursor: string | undefined, isMore = true; isMore; ) {
    const query = { depth: 32, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) }
    const page = await caller.hierarchy.listNodes({ params: { id: hierarchyId }, query })
    lines.push(...page.data.map(({ level, name }) => `${'  '.repeat(level)}${name}`))
    cursor = page.meta.nextCursor
    isMore = cursor !== undefined
  }
  return lines
}

const deadlineMs = 60_000

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
