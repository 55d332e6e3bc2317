import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { Assignment } from '@millwright/api/hierarchy.ts'
import {
  type Caller,
  callerOf,
  databaseEnded,
  type Platform,
  startPlatform,
  temporaryFolder,
  until,
} from './platform.ts'
import { postgresOf } from './program.ts'

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
      await killEverything(platform)
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

async function createAssets(caller: Caller, from: number, to: number): Promise<string[]> {
  const documents = Array.from({ length: to - from }, (_, index) => ({
    functional_object_type: 'Device',
    functional_object_schema_url: baseSchemaUrl,
    name: `crash ${from + index}`,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `crash-${from + index}` }],
  }))
  const { data } = await caller.inventory.createAssets({ body: { data: { assets: documents } } })
  const read = async () =>
    (await caller.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })).data
  await until('the assets are written', async () => (await read()).state !== 'queued')
  const { state, detail } = await read()
  assert.equal(state, 'finished', JSON.stringify(detail).slice(0, 500))
  return (detail.result as { assetId: string }[]).map(({ assetId }) => assetId)
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

/** Kills the platform, the database server and its watcher at the same time. */
async function killEverything({ program }: Platform): Promise<void> {
  const { pid } = program.child
  for (const victim of [...(pid === undefined ? [] : [pid]), ...postgresOf(home.path)]) {
    try {
      process.kill(victim, 'SIGKILL')
    } catch (error) {
      if ((error as { code?: string }).code !== 'ESRCH') throw error
    }
  }
  await program.ended
  await databaseEnded(home.path)
}
