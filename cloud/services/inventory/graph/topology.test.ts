import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Entity, inventory } from '@millwright/api/inventory/inventory.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import {
  asset,
  createAssets,
  createRelations,
  day,
  deleteAssetsAt,
  type Edge,
  endRelationsAt,
  node,
} from '../testing.ts'

describe('GET /topology', () => {
  let hub: TestHub
  let viewer: TestCaller
  let ofLine: TestCaller
  let entities: Record<'controller' | 'drive' | 'panel' | 'hidden' | 'loner', Entity>
  const place = node()

  before(async () => {
    hub = await testHub()
    viewer = await hub.as('viewer')
    const admin = await hub.as('administrator')
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    const [line, office] = [await group('line'), await group('office')]
    ofLine = await hub.as('viewer', { accessGroupId: line })
    const names = ['controller', 'drive', 'panel', 'hidden', 'loner'] as const
    const ids = await createAssets(
      hub,
      names.map((name) => ({ name, accessGroupId: name === 'hidden' ? office : line, at: day(1) })),
    )
    entities = Object.fromEntries(names.map((name, index) => [name, asset(ids[index] ?? '')])) as typeof entities
    const { controller, drive, panel, hidden } = entities
    await createRelations(
      hub,
      [
        [drive, 'is_controlled_by', controller],
        [controller, 'is_assigned_to_node', place],
        [hidden, 'watches', controller],
      ],
      day(2),
    )
    const early: Edge[] = [[panel, 'shows', drive]]
    await endRelationsAt(hub, await createRelations(hub, early, day(2)), day(4))
    await deleteAssetsAt(hub, { ids: [panel.id], accessGroupId: line, at: day(5) })
  })

  after(() => hub[Symbol.asyncDispose]())

  async function topology(query: Record<string, unknown> = {}, caller = viewer) {
    const { data } = await caller.inventory.readTopology({ query })
    const summary = data.nodes.map(({ name, depth }) => `${name ?? 'place'}${depth}`).toSorted()
    return {
      ...data,
      summary: summary.join(' '),
      edgePredicates: data.edges.map(({ predicate }) => predicate).toSorted(),
    }
  }

  test('returns every asset with its relations and the fields that the console uses for colours', async () => {
    const { summary, edgePredicates, truncated, nodes } = await topology()
    assert.equal(summary, 'controller0 drive0 hidden0 loner0 place1')
    assert.deepEqual(edgePredicates, ['is_assigned_to_node', 'is_controlled_by', 'watches'])
    assert.equal(truncated, false)
    const { functional_object_type, management_state, reachability_state } =
      nodes.find(({ id }) => id === entities.drive.id) ?? {}
    assert.deepEqual([functional_object_type, management_state, reachability_state], ['Device', 'unknown', 'unknown'])
  })

  test('returns only readable assets in the topology', async () => {
    const { summary, edgePredicates } = await topology({}, ofLine)
    assert.equal(summary, 'controller0 drive0 loner0 place1')
    assert.deepEqual(edgePredicates, ['is_assigned_to_node', 'is_controlled_by'])
  })

  test('returns only assets that match the filter, and only relations with the given predicates', async () => {
    assert.equal((await topology({ filter: "name eq 'drive'" })).summary, 'controller1 drive0')
    assert.equal((await topology({ q: 'contr', predicates: 'watches' })).summary, 'controller0 hidden1')
  })

  test('returns a past topology with assets that were deleted since, and without later ones', async () => {
    const then = await topology({ at: day(3) })
    assert.equal(then.summary, 'controller0 drive0 hidden0 loner0 panel0 place1')
    assert.ok(then.edgePredicates.includes('shows'))
    assert.equal(then.nodes.find(({ id }) => id === entities.panel.id)?.functional_object_type, 'Device')
    assert.deepEqual((await topology({ at: day(1) })).edgePredicates, [])
    assert.equal((await topology({ at: '2024-12-31T00:00:00Z' })).summary, '')
    assert.equal((await topology({ at: day(3), filter: "name eq 'drive'" })).summary, 'controller1 drive0 panel1')
  })

  test('stops the topology at the limit and sets truncated', async () => {
    const cut = await topology({ limit: 2 })
    assert.deepEqual([cut.nodes.length, cut.truncated], [2, true])
    assert.deepEqual(
      [(await topology({ limit: 5 })).truncated, (await topology({ limit: 4 })).truncated],
      [false, true],
    )
    for (const limit of [0, 10_001]) {
      assert.equal((await viewer.exchange(inventory, 'readTopology', { query: { limit } })).status, 400)
    }
  })
})
