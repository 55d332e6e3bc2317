import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Entity, inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import {
  applyWrite,
  asset,
  createAssets,
  createRelations,
  day,
  deleteAssetsAt,
  endRelationsAt,
  node,
} from '../testing.ts'

describe('GET /assets/{id}/graph/difference', () => {
  let hub: TestHub
  let admin: TestCaller
  let ofLine: TestCaller
  let line: string
  let office: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    line = await group('line')
    office = await group('office')
    ofLine = await hub.as('viewer', { accessGroupId: line })
  })

  after(() => hub[Symbol.asyncDispose]())

  const createNamed = async (names: string, accessGroupId = line) => {
    const ids = await createAssets(
      hub,
      [...names].map((name) => ({ name, accessGroupId, at: day(1) })),
    )
    return ids.map(asset) as [Entity, Entity, Entity, Entity, Entity]
  }

  async function difference(
    of: Entity,
    query: { from: string; to?: string } & Record<string, unknown>,
    caller = admin,
  ) {
    const { data } = await caller.inventory.readGraphDifference({
      params: { id: of.id },
      query: { depth: 5, ...query },
    })
    const names = (nodes: { name?: string; id: string }[]) => nodes.map(({ name, id }) => name ?? id).toSorted()
    return {
      ...data,
      came: names(data.added.nodes).join(' '),
      went: names(data.removed.nodes).join(' '),
      edges: [data.added.edges.length, data.removed.edges.length, data.changed.edges.length],
    }
  }

  test('returns added and removed nodes and relations with their names at the compared time', async () => {
    const [controller, old, unchanged, fresh, behind] = await createNamed('CokfB')
    const place = node()
    await createRelations(hub, [[unchanged, 'is_module_of', controller]], day(2))
    const ended = await createRelations(
      hub,
      [
        [old, 'is_module_of', controller],
        [behind, 'is_module_of', old],
        [controller, 'is_assigned_to_node', place],
      ],
      day(2),
    )
    await endRelationsAt(hub, ended.slice(0, 1), day(4))
    await createRelations(hub, [[fresh, 'is_module_of', controller]], day(5))

    const result = await difference(controller, { from: day(3), to: day(6) })
    assert.deepEqual([result.came, result.went, result.edges], ['f', 'B o', [1, 2, 0]])
    assert.deepEqual([result.from, result.to, result.changed.nodes], [day(3), day(6), []])
    assert.equal(result.removed.nodes.find(({ name }) => name === 'B')?.depth, 2)
    const now = await difference(controller, { from: day(3) })
    assert.deepEqual([now.came, now.went], ['f', 'B o'])
    const same = await difference(controller, { from: day(3), to: day(3) })
    assert.deepEqual([same.came, same.went, same.edges], ['', '', [0, 0, 0]])
    const one = await difference(controller, { from: day(3), to: day(6), direction: 'in', depth: 1 })
    assert.deepEqual([one.came, one.went], ['f', 'o'])
    const other = await difference(controller, { from: day(3), to: day(6), predicates: 'is_assigned_to_node' })
    assert.deepEqual([other.came, other.went], ['', ''])
  })

  test('returns changed fields of assets, and relations that ended and were created again', async () => {
    const [rack, module] = await createNamed('rm')
    const [first] = await createRelations(hub, [[module, 'is_module_of', rack]], day(2))
    assert.ok(first)
    const params = { id: module.id }
    await applyWrite(admin, 'setResponsible', { params, body: { data: { responsible: 'jane' } } })
    await applyWrite(admin, 'setAccessGroup', { params, body: { data: { access_group: 'office' } } })
    await endRelationsAt(hub, [first], day(3))
    const [second] = await createRelations(hub, [[module, 'is_module_of', rack]], day(4))

    const { changed, came, went } = await difference(rack, { from: day(2) })
    assert.deepEqual([came, went], ['', ''])
    assert.deepEqual(
      changed.edges.map((pair) => [pair.before.id, pair.after.id]),
      [[first.relation.id, second?.relation.id]],
    )
    assert.deepEqual(changed.nodes, [
      {
        type: 'asset',
        id: module.id,
        name: 'm',
        functional_object_type: 'Device',
        fromVersion: 1,
        toVersion: 3,
        changes: [
          { field: 'access_group', before: 'line', after: 'office' },
          { field: 'responsible', before: 'a test', after: 'jane' },
        ],
      },
    ])
  })

  test('follows relations only through readable assets at both times', async () => {
    const [a, b] = await createNamed('ab')
    const [hidden] = await createNamed('h', office)
    const ended = await createRelations(
      hub,
      [
        [a, 'x', hidden],
        [hidden, 'x', b],
      ],
      day(2),
    )
    await endRelationsAt(hub, ended, day(4))
    const result = await difference(a, { from: day(3), to: day(5) })
    assert.deepEqual([result.went, result.edges], ['b h', [0, 2, 0]])
    const mine = await difference(a, { from: day(3), to: day(5) }, ofLine)
    assert.deepEqual([mine.went, mine.edges], ['', [0, 0, 0]])
    for (const id of [hidden.id, v7()]) {
      const answer = await ofLine.exchange(inventory, 'readGraphDifference', {
        params: { id },
        query: { from: day(3) },
      })
      assert.deepEqual([answer.status, (answer.body as ProblemDocument).code], [404, 'not_found'])
    }
  })

  test('returns all nodes and relations as removed when the asset was deleted between the two times', async () => {
    const [a, b] = await createNamed('ab')
    await createRelations(hub, [[b, 'x', a]], day(2))
    await deleteAssetsAt(hub, { ids: [a.id], accessGroupId: line, at: day(4) })
    const result = await difference(a, { from: day(3), to: day(5) }, ofLine)
    assert.deepEqual([result.came, result.went, result.edges], ['', 'a b', [0, 1, 0]])
  })

  test('refuses to compare a truncated graph, and a start time after the end time', async () => {
    const [a, b, c] = await createNamed('abc')
    await createRelations(
      hub,
      [
        [a, 'x', b],
        [a, 'x', c],
      ],
      day(2),
    )
    const refused = async (query: Record<string, unknown>) => {
      const answer = await admin.exchange(inventory, 'readGraphDifference', { params: { id: a.id }, query })
      const { code, detail } = answer.body as ProblemDocument
      return [answer.status, code, detail]
    }
    const [status, code, detail] = await refused({ from: day(3), limit: 2 })
    assert.deepEqual([status, code], [400, 'graph_too_large'])
    assert.match(String(detail), /^The graph has more than 2 nodes/)
    assert.deepEqual((await refused({ from: day(5), to: day(3) })).slice(0, 2), [400, 'invalid_query'])
    assert.deepEqual((await refused({})).slice(0, 2), [400, 'invalid_query'])
    assert.deepEqual((await refused({ from: 'before' })).slice(0, 2), [400, 'invalid_query'])
  })
})
