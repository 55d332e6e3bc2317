import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Entity, inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { asset, createAssets, createRelations, type Edge, node } from '../testing.ts'

describe('relationsFilter with a depth', () => {
  let hub: TestHub
  let viewer: TestCaller
  let ofLine: TestCaller
  let line: string

  before(async () => {
    hub = await testHub()
    viewer = await hub.as('viewer')
    const admin = await hub.as('administrator')
    line = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line' } } })).data.id
    ofLine = await hub.as('viewer', { accessGroupId: line })
  })

  after(() => hub[Symbol.asyncDispose]())

  const createNamed = async (names: string, group?: string) => {
    const where = group === undefined ? {} : { accessGroupId: group }
    const ids = await createAssets(
      hub,
      [...names].map((name) => ({ name, ...where })),
    )
    return Object.fromEntries([...names].map((name, index) => [name, asset(ids[index] ?? '')])) as Record<
      string,
      Entity
    >
  }
  const relate = (links: [Entity | undefined, string, Entity | undefined][]) => createRelations(hub, links as Edge[])

  async function names(relationsFilter: string, query: Record<string, unknown> = {}, caller = viewer) {
    const { data, meta } = await caller.inventory.listAssets({ query: { relationsFilter, sort: 'name', ...query } })
    assert.equal(meta.totalElements, data.length)
    return data.map(({ name }) => name).join('')
  }

  test('finds the assets that are reachable by at most the given number of relations', async () => {
    const { a, b, c, d, e } = await createNamed('abcde')
    await relate([
      [b, 'is_module_of', a],
      [c, 'is_module_of', b],
      [d, 'is_module_of', c],
      [e, 'is_connected_to', b],
    ])
    const below = `object.id eq '${a?.id}' and predicate eq 'is_module_of'`
    assert.equal(await names(below), 'b')
    assert.equal(await names(below, { depth: 1 }), 'b')
    assert.equal(await names(below, { depth: 2 }), 'bc')
    assert.equal(await names(below, { depth: 10 }), 'bcd')
    assert.equal(await names(`subject.id eq '${d?.id}'`, { depth: 2 }), 'bc')
    assert.equal(await names(`object.id eq '${a?.id}'`, { depth: 2 }), 'bce')
    const both = `subject.id eq '${c?.id}' or object.id in ('${c?.id}') and predicate ne 'x'`
    assert.equal(await names(both, { depth: 5 }), 'abd')
    assert.equal(await names(below, { depth: 10, filter: "name ne 'c'" }), 'bd')
  })

  test('follows relations through nodes and cycles, and returns each asset once and no nodes', async () => {
    const { a, b, c } = await createNamed('abc')
    const place = node()
    await relate([
      [a, 'x', b],
      [b, 'x', a],
      [b, 'x', place],
      [place, 'x', c],
    ])
    assert.equal(await names(`subject.id eq '${a?.id}' and predicate eq 'x'`, { depth: 1 }), 'b')
    assert.equal(await names(`subject.id eq '${a?.id}' and predicate eq 'x'`, { depth: 10 }), 'abc')
    assert.equal(await names(`subject.id eq '${a?.id}' and object.type eq 'asset'`, { depth: 10 }), 'ab')
    assert.equal(await names(`subject.id eq '${place.id}'`, { depth: 2 }), 'c')
  })

  test('relationsFilter with a depth does not follow relations through unreadable assets', async () => {
    const { a, b, c } = await createNamed('abc', line)
    const { h } = await createNamed('h')
    await relate([
      [a, 'x', h],
      [h, 'x', b],
      [a, 'x', c],
    ])
    assert.equal(await names(`subject.id eq '${a?.id}'`, { depth: 3 }), 'bch')
    assert.equal(await names(`subject.id eq '${a?.id}'`, { depth: 3 }, ofLine), 'c')
    assert.equal(await names(`subject.id eq '${h?.id}'`, { depth: 3 }, ofLine), '')
  })

  test('returns 400 when a filter alternative names no start entity, or depth is given without relationsFilter', async () => {
    const { a, b } = await createNamed('ab')
    const refused = async (query: Record<string, unknown>) => {
      const answer = await viewer.exchange(inventory, 'listAssets', { query })
      return [answer.status, (answer.body as ProblemDocument).code]
    }
    const depth = 2
    for (const relationsFilter of [
      `predicate eq 'x'`,
      `object.id eq '${a?.id}' or predicate eq 'x'`,
      `object.id eq '${a?.id}' and subject.id eq '${b?.id}'`,
      `not (object.id eq '${a?.id}')`,
    ]) {
      assert.deepEqual(await refused({ relationsFilter, depth }), [400, 'invalid_filter'], relationsFilter)
    }
    const relationsFilter = `object.id eq '${a?.id}'`
    assert.deepEqual(await refused({ depth }), [400, 'invalid_query'])
    for (const wrong of [0, inventoryLimits.graphDepth + 1])
      assert.deepEqual(await refused({ relationsFilter, depth: wrong }), [400, 'invalid_query'])
  })

  test('refuses to follow more relations than the limit, without counting hidden ones', async () => {
    const { a, b } = await createNamed('ab', line)
    const count = inventoryLimits.relationsFollowed + 1
    await relate(Array.from({ length: count }, () => [node(), 'x', a]))
    await relate([[b, 'y', a]])
    const relationsFilter = `object.id eq '${a?.id}' and predicate in ('x', 'y')`
    const answer = await viewer.exchange(inventory, 'listAssets', { query: { relationsFilter, depth: 3 } })
    const problem = answer.body as ProblemDocument
    assert.deepEqual([answer.status, problem.code], [400, 'graph_too_large'])
    assert.match(problem.detail, /^More than 10000 relations are within depth 3/)
    assert.equal(await names(relationsFilter.replace(`'x', `, ''), { depth: 3 }), 'b')
  })

  test('returns pages by cursor, and refuses a cursor from a request with another depth', async () => {
    const { a, b, c, d } = await createNamed('abcd')
    await relate([
      [b, 'x', a],
      [c, 'x', b],
      [d, 'x', c],
    ])
    const query = { relationsFilter: `object.id eq '${a?.id}'`, depth: 3, sort: 'name', limit: 2 }
    const first = await viewer.inventory.listAssets({ query })
    const cursor = first.meta.nextCursor ?? ''
    const second = await viewer.inventory.listAssets({ query: { ...query, cursor } })
    assert.deepEqual(
      [...first.data, ...second.data].map(({ name }) => name),
      ['b', 'c', 'd'],
    )
    const other = await viewer.exchange(inventory, 'listAssets', { query: { ...query, depth: 2, cursor } })
    assert.equal((other.body as ProblemDocument).code, 'invalid_cursor')
  })
})
