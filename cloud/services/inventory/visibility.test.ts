import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Entity, Relation } from '@millwright/api/inventory.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { dynamicStatement } from '../../platform/database/statement.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import type { Direction } from './graph.ts'
import { showRelation } from './relation.ts'
import { assetsRelatedBy } from './relation-filter.ts'
import { putRelations } from './relation-store.ts'
import { asset, givenAssets, givenCaller, node } from './testing.ts'

/** What callers see of relations, held against a model that looks at everything one by one. */

const groupCount = 3
const assetCount = 7
const nodeCount = 2
const thingCount = assetCount + nodeCount
const predicates = ['p', 'q']

const thing = fc.nat({ max: thingCount - 1 })
const predicate = fc.constantFrom(...predicates)

type Term =
  | { kind: 'end'; side: 'subject' | 'object'; things: number[] }
  | { kind: 'type'; side: 'subject' | 'object'; type: Entity['type'] }
  | { kind: 'predicate'; operator: 'eq' | 'ne'; predicate: string }
  | { kind: 'not'; term: Term }
  | { kind: 'and' | 'or'; terms: Term[] }

const side = fc.constantFrom('subject' as const, 'object' as const)
const { filter } = fc.letrec<{ filter: Term; leaf: Term }>((tie) => ({
  leaf: fc.oneof(
    fc.record({ kind: fc.constant('end' as const), side, things: fc.array(thing, { minLength: 1, maxLength: 2 }) }),
    fc.record({
      kind: fc.constant('type' as const),
      side,
      type: fc.constantFrom('asset' as const, 'node' as const),
    }),
    fc.record({
      kind: fc.constant('predicate' as const),
      operator: fc.constantFrom('eq' as const, 'ne' as const),
      predicate,
    }),
  ),
  filter: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    fc.record({ kind: fc.constant('not' as const), term: tie('filter') }),
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      terms: fc.array(tie('filter'), { minLength: 2, maxLength: 3 }),
    }),
  ),
}))

const world = fc.record({
  groups: fc.array(fc.nat({ max: groupCount - 1 }), { minLength: assetCount, maxLength: assetCount }),
  links: fc.uniqueArray(fc.tuple(thing, predicate, thing), { maxLength: 18, selector: String }),
  reader: fc.nat({ max: 2 ** groupCount - 1 }),
})

type World = typeof world extends fc.Arbitrary<infer Given> ? Given : never

const walk = fc.record({
  start: fc.nat({ max: assetCount - 1 }),
  depth: fc.integer({ min: 1, max: 4 }),
  direction: fc.constantFrom<Direction>('out', 'in', 'both'),
  only: fc.option(predicate, { nil: undefined }),
})

describe('what a caller sees of relations, for any groups and rights', () => {
  let hub: TestHub
  let groups: string[]
  /** By the groups they may read, a bit for each. */
  let readers: TestCaller[]

  before(async () => {
    hub = await testHub()
    const admin = await hub.as('administrator')
    groups = []
    for (let index = 0; index < groupCount; index++) {
      const made = await admin.authorization.createAccessGroup({ body: { data: { name: `group-${index}` } } })
      groups.push(made.data.id)
    }
    readers = []
    for (let mask = 0; mask < 2 ** groupCount; mask++) {
      const elsewhere = (await admin.authorization.createAccessGroup({ body: { data: { name: `other-${mask}` } } }))
        .data.id
      const readable = [...groups.filter((_, index) => mask & (1 << index)), elsewhere]
      readers.push(
        await givenCaller(
          hub,
          readable.map((accessGroupId) => ({ permissions: ['inventory_read_asset_data'] as const, accessGroupId })),
        ),
      )
    }
  })

  after(() => hub[Symbol.asyncDispose]())

  async function make({ groups: places, links, reader }: World) {
    const ids = await givenAssets(
      hub,
      places.map((place, index) => ({ name: `asset-${index}`, accessGroupId: groups[place] ?? '' })),
    )
    // The first node has the id of an asset: still another thing.
    const things = [...ids.map(asset), node(ids[0] ?? ''), node()]
    const mark = v7()
    const at = (index: number) => things[index] as Entity
    const put = await hub.context.database.transaction(hub.tenant, (tx) =>
      putRelations(
        tx,
        links.map(([from, name, to]) => ({
          subject: at(from),
          predicate: name,
          object: at(to),
          source: { type: 'discovery', value: mark },
        })),
      ),
    )
    // As the server does by itself, but for that of the tests: otherwise it believes that the tables are empty.
    await hub.asOwner((owner) => owner.query('analyze assets, relations'))
    const readable = new Set(ids.filter((_, index) => reader & (1 << (places[index] ?? 0))))
    const mayRead = ({ type, id }: Entity) => type === 'node' || readable.has(id)
    const relations = put.map(({ relation }) => showRelation(relation))
    const visible = relations.filter(({ subject, object }) => mayRead(subject) && mayRead(object))
    return { caller: readers[reader] as TestCaller, ids, at, mark, readable, visible }
  }

  test('the graph is the one that a naive walk over what may be read gives', async () => {
    await fc.assert(
      fc.asyncProperty(world, walk, async (given, { start, depth, direction, only }) => {
        const { caller, at, readable, visible } = await make(given)
        const query = { depth, direction, ...(only === undefined ? {} : { predicates: only }) }
        const asked = caller.inventory.readGraph({ params: { id: at(start).id }, query })
        if (!readable.has(at(start).id)) return assert.rejects(asked, { code: 'not_found' })
        const { data } = await asked
        const wanted = naiveWalk(
          visible.filter(({ predicate: name }) => only === undefined || name === only),
          {
            start: at(start),
            depth,
            direction,
          },
        )
        assert.deepEqual(Object.fromEntries(data.nodes.map((entity) => [keyOf(entity), entity.depth])), wanted.nodes)
        assert.deepEqual(
          data.edges.map(({ id }) => id),
          wanted.edges.toSorted(),
        )
        assert.equal(data.truncated, false)
      }),
      { numRuns: 60 },
    )
  })

  test('a path is as short as the shortest that a naive walk over what may be read finds', async () => {
    await fc.assert(
      fc.asyncProperty(world, walk, fc.nat({ max: assetCount - 1 }), async (given, { start, direction }, end) => {
        const { caller, at, readable, visible } = await make(given)
        if (!readable.has(at(start).id) || !readable.has(at(end).id)) return
        const { data } = await caller.inventory.readPath({
          params: { id: at(start).id },
          query: { to: at(end).id, direction },
        })
        const depth = naiveWalk(visible, { start: at(start), depth: 10, direction }).nodes[keyOf(at(end))]
        assert.equal(data.found, depth !== undefined)
        if (depth === undefined) return
        assert.deepEqual([data.nodes.length, data.edges.length], [depth + 1, depth])
        for (const [index, edge] of data.edges.entries()) {
          const ends = [keyOf(edge.subject), keyOf(edge.object)]
          const steps = data.nodes.slice(index, index + 2).map(keyOf)
          const along = [...(direction === 'in' ? [] : [steps]), ...(direction === 'out' ? [] : [steps.toReversed()])]
          assert.ok(along.some((step) => step.join() === ends.join()))
        }
      }),
      { numRuns: 60 },
    )
  })

  test('the relations of an asset are those whose other end may be read, in the count too', async () => {
    await fc.assert(
      fc.asyncProperty(world, walk, async (given, { start }) => {
        const { caller, at, readable, visible } = await make(given)
        const asked = caller.inventory.listAssetRelations({ params: { id: at(start).id } })
        if (!readable.has(at(start).id)) return assert.rejects(asked, { code: 'not_found' })
        const { data, meta } = await asked
        const key = keyOf(at(start))
        const wanted = visible.filter(({ subject, object }) => keyOf(subject) === key || keyOf(object) === key)
        assert.deepEqual(
          data.map(({ id }) => id),
          wanted.map(({ id }) => id).toSorted(),
        )
        assert.equal(meta.totalElements, wanted.length)
      }),
      { numRuns: 30 },
    )
  })

  test('relationsFilter finds the ends that each of its alternatives means, readable ones only', async () => {
    await fc.assert(
      fc.asyncProperty(world, filter, async (given, term) => {
        const { caller, at, mark, visible } = await make(given)
        const relationsFilter = `(${print(term, at)}) and source.value eq '${mark}'`
        const { data, meta } = await caller.inventory.listAssets({ query: { relationsFilter } })
        const wanted = naiveEnds(term, visible, at)
        assert.deepEqual(data.map(({ id }) => String(id)).toSorted(), wanted, relationsFilter)
        assert.equal(meta.totalElements, wanted.length)
        assert.deepEqual(await askEachAsset(relationsFilter, given.reader), wanted, relationsFilter)
      }),
      { numRuns: 100 },
    )
  })

  /** The form for many relations, which so few never get. */
  async function askEachAsset(relationsFilter: string, reader: number): Promise<string[]> {
    const readable = groups.filter((_, index) => reader & (1 << index))
    const { has, values } = assetsRelatedBy(relationsFilter, { firstParameter: 3, groups: readable })
    const rows = await hub.context.database.read(hub.tenant, (handle) =>
      handle.rows(
        dynamicStatement<{ id: string }>(
          `select a.id from assets a where a.tenant_id = $1 and a.access_group_id = any($2::uuid[]) and ${has}`,
        ),
        readable,
        ...values,
      ),
    )
    return rows.map(({ id }) => id).toSorted()
  }
})

function keyOf({ type, id }: Entity): string {
  return `${type}/${id}`
}

type Way = { start: Entity; depth: number; direction: Direction }

function naiveWalk(relations: readonly Relation[], { start, depth, direction }: Way) {
  const nodes: Record<string, number> = { [keyOf(start)]: 0 }
  const edges = new Set<string>()
  for (let level = 0; level < depth; level++) {
    for (const { id, subject, object } of relations) {
      const steps = [
        ...(direction === 'in' ? [] : [[subject, object] as const]),
        ...(direction === 'out' ? [] : [[object, subject] as const]),
      ]
      for (const [, to] of steps.filter(([near]) => nodes[keyOf(near)] === level)) {
        nodes[keyOf(to)] ??= level + 1
        edges.add(id)
      }
    }
  }
  return { nodes, edges: [...edges] }
}

type At = (index: number) => Entity

function print(term: Term, at: At): string {
  switch (term.kind) {
    case 'end': {
      const ids = term.things.map((index) => `'${at(index).id}'`)
      return ids.length === 1 ? `${term.side}.id eq ${ids[0]}` : `${term.side}/id in (${ids.join(', ')})`
    }
    case 'type':
      return `${term.side}.type eq '${term.type}'`
    case 'predicate':
      return `predicate ${term.operator} '${term.predicate}'`
    case 'not':
      return `not (${print(term.term, at)})`
    default:
      return term.terms.map((inner) => `(${print(inner, at)})`).join(` ${term.kind} `)
  }
}

function holds(term: Term, relation: Relation, at: At): boolean {
  switch (term.kind) {
    case 'end':
      return term.things.some((index) => at(index).id === relation[term.side].id)
    case 'type':
      return relation[term.side].type === term.type
    case 'predicate':
      return (relation.predicate === term.predicate) === (term.operator === 'eq')
    case 'not':
      return !holds(term.term, relation, at)
    case 'and':
      return term.terms.every((inner) => holds(inner, relation, at))
    case 'or':
      return term.terms.some((inner) => holds(inner, relation, at))
  }
}

/** The alternatives of a filter, multiplied out. */
function alternatives(term: Term): Term[][] {
  if (term.kind === 'or') return term.terms.flatMap(alternatives)
  if (term.kind !== 'and') return [[term]]
  return term.terms
    .map(alternatives)
    .reduce((before, next) => before.flatMap((some) => next.map((more) => [...some, ...more])), [[]] as Term[][])
}

function naiveEnds(filter: Term, relations: readonly Relation[], at: At): string[] {
  const found = new Set<string>()
  for (const terms of alternatives(filter)) {
    const given = new Set(terms.flatMap((term) => (term.kind === 'end' ? [term.side] : [])))
    const sides = (['subject', 'object'] as const).filter((end) => given.size !== 1 || !given.has(end))
    for (const relation of relations.filter((one) => terms.every((term) => holds(term, one, at)))) {
      for (const end of sides.map((name) => relation[name])) if (end.type === 'asset') found.add(end.id)
    }
  }
  return [...found].toSorted()
}
