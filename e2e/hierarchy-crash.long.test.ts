import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Assignment } from '@millwright/api/hierarchy.ts'
import { createAssets, killEverything } from './crash.ts'
import { type Caller, callerOf, startPlatform, temporaryFolder, until } from './platform.ts'

const home = temporaryFolder()
after(() => home[Symbol.dispose]())

/** The number of times that the test kills the platform. More rounds find more faults. */
const rounds = Number(process.env.MILLWRIGHT_CRASHES ?? 1)
const assets = 1_500
/** Assets that already have another node of the hierarchy. */
const moved = 100

test('continues a bulk assignment after kill -9, with exact totals and one relation per asset', async () => {
  let platform = await startPlatform({ home: home.path })
  try {
    let caller = await callerOf(platform)
    const assetIds = [...(await createAssets(caller, 0, 1_000)), ...(await createAssets(caller, 1_000, assets))]
    const { data: tree } = await caller.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    const [first = '', second = ''] = await Promise.all(
      ['first', 'second'].map((name) => createNode(caller, tree.id, name)),
    )
    await caller.hierarchy.assignAssets({
      params: { id: first },
      body: { data: { assetIds: assetIds.slice(0, moved) } },
    })
    const { data: started } = await caller.hierarchy.assignAssets({
      params: { id: second },
      body: { data: { filter: "startswith(name, 'crash ')" } },
    })
    const { id } = started as Assignment
    for (let round = 1; round <= rounds; round++) {
      const done = async () => doneOf((await caller.hierarchy.readAssignment({ params: { id } })).data)
      const before = await done()
      await until('some assets are assigned', async () => (await done()) > before)
      await killEverything(platform, home.path)
      platform = await startPlatform({ home: home.path })
      caller = await callerOf(platform)
    }
    const read = async () => (await caller.hierarchy.readAssignment({ params: { id } })).data
    await until('the assignment has ended', async () => !['queued', 'running'].includes((await read()).state))
    const ended = await read()
    assert.deepEqual(
      [ended.state, ended.total, ended.assigned, ended.moved, ended.unchanged, ended.failed],
      ['finished', assets, assets - moved, moved, 0, 0],
    )
    const { data: node } = await caller.hierarchy.listNodeAssets({ params: { id: second }, query: { limit: 1 } })
    assert.equal(node.length, 1)
    // Events that the killed process was about to publish wait until its lease has expired.
    let created: string[] = []
    await until('the events of all relations are published', async () => {
      created = await createdRelations(caller, second)
      return new Set(created).size === assets
    })
    assert.equal(created.length, assets, 'a relation was created twice')
  } finally {
    await platform[Symbol.asyncDispose]()
  }
})

function doneOf({ assigned, moved: others, unchanged, failed }: Assignment): number {
  return assigned + others + unchanged + failed
}

async function createNode(caller: Caller, hierarchyId: string, name: string): Promise<string> {
  return (await caller.hierarchy.createNode({ params: { id: hierarchyId }, body: { data: { name } } })).data.id
}

/** Returns the assets of the events about new relations to a node. */
async function createdRelations(caller: Caller, nodeId: string): Promise<string[]> {
  const ids: string[] = []
  for (let position = 0; ; ) {
    const { data, meta } = await caller.events.listEvents({ query: { after: position, limit: 100 } })
    for (const event of data) {
      const { subject, object } = ((event.data as { relation?: unknown }).relation ?? {}) as {
        subject?: { id: string }
        object?: { id: string }
      }
      if (event.type.endsWith('inventory.relation.created') && object?.id === nodeId) ids.push(subject?.id ?? '')
    }
    if (meta.lastPosition === position) return ids
    position = meta.lastPosition
  }
}
