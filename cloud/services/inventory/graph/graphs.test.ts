import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Entity, inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
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

describe('GET /assets/{id}/graph and /path', () => {
  let hub: TestHub
  let viewer: TestCaller
  let lineGroup: string
  let officeGroup: string
  let ofLine: TestCaller

  before(async () => {
    hub = await testHub()
    viewer = await hub.as('viewer')
    const admin = await hub.as('administrator')
    const group = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    lineGroup = await group('line')
    officeGroup = await group('office')
    ofLine = await hub.as('viewer', { accessGroupId: lineGroup })
  })

  after(() => hub[Symbol.asyncDispose]())

  async function createNamed(names: string, { group, at }: { group?: string; at?: string } = {}) {
    const where = { ...(group === undefined ? {} : { accessGroupId: group }), ...(at === undefined ? {} : { at }) }
    const ids = await createAssets(
      hub,
      [...names].map((name) => ({ name, ...where })),
    )
    return Object.fromEntries([...names].map((name, index) => [name, asset(ids[index] ?? '')])) as Record<
      string,
      Entity
    >
  }

  const link = (links: Edge[], at?: string) => createRelations(hub, links, at)

  async function graph(of: Entity | undefined, query: Record<string, unknown> = {}, caller = viewer) {
    const { data } = await caller.inventory.readGraph({ params: { id: of?.id ?? '' }, query })
    const summary = data.nodes.map(({ name, id, depth }) => `${name ?? id}${depth}`).toSorted()
    return { ...data, summary: summary.join(' '), links: data.edges.length }
  }

  test('returns more nodes for a greater depth, each node once with its name and type', async () => {
    const { a, b, c, d } = await createNamed('abcd')
    await link([
      [a, 'x', b],
      [b, 'x', c],
      [c, 'x', d],
      [d, 'x', a],
    ] as Edge[])
    assert.equal((await graph(a)).summary, 'a0 b1 d1')
    const complete = await graph(a, { depth: 2 })
    assert.equal(complete.summary, 'a0 b1 c2 d1')
    assert.deepEqual([complete.links, complete.truncated], [4, false])
    assert.deepEqual(await graph(a, { depth: 10 }), complete)
    assert.equal(complete.nodes.find(({ id }) => id === c?.id)?.functional_object_type, 'Device')
  })

  test('follows relations only in the given directions and with the given predicates', async () => {
    const { a, b, c, d } = await createNamed('abcd')
    await link([
      [a, 'x', b],
      [c, 'x', a],
      [b, 'y', d],
      [a, 'y', a],
    ] as Edge[])
    assert.equal((await graph(a, { direction: 'out', depth: 3 })).summary, 'a0 b1 d2')
    assert.equal((await graph(a, { direction: 'in', depth: 3 })).summary, 'a0 c1')
    assert.equal((await graph(a, { direction: 'both', depth: 3, predicates: 'x' })).summary, 'a0 b1 c1')
    assert.equal((await graph(a, { depth: 3, predicates: 'x, y' })).links, 4)
    assert.equal((await graph(a, { depth: 3, predicates: 'z' })).summary, 'a0')
  })

  test('follows relations through nodes of other systems', async () => {
    const { a, b } = await createNamed('ab')
    const [place, above] = [node(), node()]
    await link([
      [a, 'is_assigned_to_node', place],
      [b, 'is_assigned_to_node', place],
      [place, 'is_part_of', above],
    ] as Edge[])
    const { nodes } = await graph(a, { depth: 2 })
    assert.deepEqual(
      nodes.map(({ type, id, depth }) => [type, id, depth]).toSorted(),
      [
        ['asset', a?.id, 0],
        ['asset', b?.id, 2],
        ['node', above.id, 2],
        ['node', place.id, 1],
      ].toSorted(),
    )
  })

  test('hides an unreadable asset and all nodes that are reachable only through it', async () => {
    const { a, b, c } = await createNamed('abc', { group: lineGroup })
    const { h } = await createNamed('h', { group: officeGroup })
    const place = node()
    await link([
      [a, 'x', h],
      [h, 'x', b],
      [a, 'x', c],
      [h, 'x', place],
      [c, 'x', h],
    ] as Edge[])
    const mine = await graph(a, { depth: 10 }, ofLine)
    assert.equal(mine.summary, 'a0 c1')
    assert.deepEqual([mine.links, mine.truncated], [1, false])
    assert.equal((await graph(a, { depth: 10 })).nodes.length, 5)
  })

  test('does not count hidden assets towards the limit of a graph', async () => {
    const { a } = await createNamed('a', { group: lineGroup })
    const { b } = await createNamed('b', { group: lineGroup })
    const hidden = await createAssets(
      hub,
      Array.from({ length: 30 }, () => ({ name: 'h', accessGroupId: officeGroup })),
    )
    await link([...hidden.map((id): Edge => [a as Entity, 'x', asset(id)]), [a, 'y', b] as Edge])
    const mine = await graph(a, { limit: 2 }, ofLine)
    assert.deepEqual([mine.summary, mine.truncated], ['a0 b1', false])
    assert.ok((await graph(a, { limit: 2 })).truncated)
  })

  test('stops the graph at the limit and sets truncated', async () => {
    const { a } = await createNamed('a')
    const others = await createAssets(
      hub,
      Array.from({ length: 12 }, () => ({ name: 'o' })),
    )
    await link(others.map((id): Edge => [a as Entity, 'x', asset(id)]))
    const cut = await graph(a, { limit: 5, depth: 3 })
    assert.deepEqual([cut.nodes.length, cut.links, cut.truncated], [5, 4, true])
    assert.deepEqual((await graph(a, { limit: 13 })).truncated, false)
    assert.deepEqual((await graph(a, { limit: 12 })).truncated, true)
  })

  test('returns the same 404 for a missing and a hidden asset', async () => {
    const { h } = await createNamed('h', { group: officeGroup })
    for (const query of [{}, { at: day(1) }]) {
      const ask = async (id: string) => {
        const answer = await ofLine.exchange(inventory, 'readGraph', { params: { id }, query })
        return [answer.status, (answer.body as ProblemDocument).code]
      }
      assert.deepEqual(await ask(h?.id ?? ''), [404, 'not_found'])
      assert.deepEqual(await ask(v7()), [404, 'not_found'])
    }
  })

  test('accepts a graph depth of 1 to 10 and a limit of 1 to 2000', async () => {
    const { a } = await createNamed('a')
    for (const query of [
      { depth: 0 },
      { depth: 11 },
      { limit: 0 },
      { limit: 2001 },
      { direction: 'up' },
      { at: 'now' },
    ]) {
      const answer = await viewer.exchange(inventory, 'readGraph', { params: { id: a?.id ?? '' }, query })
      assert.equal(answer.status, 400, JSON.stringify(query))
    }
  })

  test('returns a past graph without relations that were created later or had already ended', async () => {
    const { a, b, c } = await createNamed('abc', { at: day(1) })
    await endRelationsAt(hub, await link([[a, 'x', b]] as Edge[], day(2)), day(3))
    await link([[a, 'x', c]] as Edge[], day(4))
    const summaryAt = async (at: string, depth = 1) => (await graph(a, { at, depth })).summary
    assert.equal(await summaryAt(day(1)), 'a0')
    assert.equal(await summaryAt(day(2)), 'a0 b1')
    assert.equal(await summaryAt('2025-01-03T00:59:59.999+01:00', 5), 'a0 b1')
    assert.equal(await summaryAt(day(3)), 'a0')
    assert.equal(await summaryAt(day(5)), 'a0 c1')
    assert.equal(await summaryAt('9999-12-31T23:59:60Z'), 'a0 c1')
    assert.equal((await graph(a)).summary, 'a0 c1')
  })

  test('returns deleted assets in a past graph to callers who can read their last access group', async () => {
    const { a, b } = await createNamed('ab', { group: lineGroup, at: day(1) })
    const { h } = await createNamed('h', { group: officeGroup, at: day(1) })
    await link(
      [
        [a, 'x', b],
        [a, 'x', h],
        [h, 'x', b],
      ] as Edge[],
      day(2),
    )
    await deleteAssetsAt(hub, { ids: [b?.id ?? ''], accessGroupId: lineGroup, at: day(5) })
    await deleteAssetsAt(hub, { ids: [h?.id ?? ''], accessGroupId: officeGroup, at: day(5) })

    assert.equal((await graph(a, { depth: 3 })).summary, 'a0')
    assert.equal((await graph(a, { depth: 3, at: day(3) })).summary, 'a0 b1 h1')
    assert.equal((await graph(a, { depth: 3, at: day(3) }, ofLine)).summary, 'a0 b1')
    assert.equal((await graph(b, { at: day(3) }, ofLine)).summary, 'a1 b0')
    for (const [of, at] of [
      [b, day(6)],
      [b, undefined],
      [h, day(3)],
      [a, '2024-12-31T00:00:00Z'],
    ] as const) {
      const query = at === undefined ? {} : { at }
      const answer = await ofLine.exchange(inventory, 'readGraph', { params: { id: of?.id ?? '' }, query })
      assert.equal(answer.status, 404)
    }
  })

  test('returns a shortest path with its relations in order', async () => {
    const { a, b, c, d, e } = await createNamed('abcde')
    await link([
      [a, 'x', b],
      [b, 'x', c],
      [c, 'x', d],
      [e, 'x', a],
      [e, 'y', d],
    ] as Edge[])
    const path = async (query: Record<string, unknown>, caller = viewer) => {
      const { data } = await caller.inventory.readPath({
        params: { id: a?.id ?? '' },
        query: { to: d?.id ?? '', ...query },
      })
      return [data.found, data.nodes.map(({ name }) => name).join(''), data.edges.length]
    }
    assert.deepEqual(await path({}), [true, 'aed', 2])
    assert.deepEqual(await path({ direction: 'out' }), [true, 'abcd', 3])
    assert.deepEqual(await path({ direction: 'out', depth: 2 }), [false, '', 0])
    assert.deepEqual(await path({ direction: 'in' }), [false, '', 0])
    assert.deepEqual(await path({ predicates: 'x' }), [true, 'abcd', 3])
    assert.deepEqual(await path({ to: a?.id }), [true, 'a', 0])
  })

  test('prefers a path over devices to a shorter path over the gateway that found them', async () => {
    const { a, s, t, b, g } = await createNamed('astbg')
    await link([
      [a, 'is_connected_to', s],
      [s, 'is_connected_to', t],
      [t, 'is_connected_to', b],
      [a, 'found_by_gateway', g],
      [b, 'found_by_gateway', g],
    ] as Edge[])
    const path = async (query: Record<string, unknown>) => {
      const input = { params: { id: a?.id ?? '' }, query: { to: b?.id ?? '', ...query } }
      return (await viewer.inventory.readPath(input)).data.nodes.map(({ name }) => name).join('')
    }
    assert.equal(await path({}), 'astb')
    assert.equal(await path({ predicates: 'found_by_gateway' }), 'agb')
  })

  test('finds a path only through readable assets and to a readable asset', async () => {
    const { a, b } = await createNamed('ab', { group: lineGroup })
    const { h } = await createNamed('h', { group: officeGroup })
    await link([
      [a, 'x', h],
      [h, 'x', b],
    ] as Edge[])
    const params = { id: a?.id ?? '' }
    const { data } = await ofLine.inventory.readPath({ params, query: { to: b?.id ?? '' } })
    assert.equal(data.found, false)
    for (const to of [h?.id ?? '', v7()]) {
      const answer = await ofLine.exchange(inventory, 'readPath', { params, query: { to } })
      assert.deepEqual([answer.status, (answer.body as ProblemDocument).code], [422, 'asset_not_found'])
    }
  })

  test('finds a path through a node with very many relations without reading all of them', async () => {
    const { a, g, b } = await createNamed('agb')
    const links = Array.from({ length: 9000 }, (): Edge => [node(), 'found_by_gateway', g as Entity])
    await link([...links, [a, 'found_by_gateway', g], [b, 'found_by_gateway', g]] as Edge[])
    const { data } = await viewer.inventory.readPath({ params: { id: a?.id ?? '' }, query: { to: b?.id ?? '' } })
    assert.deepEqual(
      data.nodes.map(({ name }) => name),
      ['a', 'g', 'b'],
    )
  })
})
