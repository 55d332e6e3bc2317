import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inbox } from '@millwright/api/inbox.ts'
import type { Impact } from '@millwright/api/inventory/impact.ts'
import { type Entity, inventory, type Relation } from '@millwright/api/inventory/inventory.ts'
import { restKey } from '@millwright/api/inventory/topology-groups.ts'
import { randomCases } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { dynamicStatement } from '../../platform/database/statement.ts'
import { EventReader } from '../../platform/testing/event-reader.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import type { Direction } from './graph/graph.ts'
import { showRelation } from './relations/relation.ts'
import { assetsRelatedBy } from './relations/relation-filter.ts'
import { putRelations } from './relations/relation-store.ts'
import {
  applyWrite,
  asset,
  createAssets,
  createReaders,
  createRelations,
  type Edge,
  node,
  withTestAuthor,
} from './testing.ts'

type ActivityCase = { ids: string[]; readable: ReadonlySet<string>; from: string }
type TopologyCase = { filter: string; readable: ReadonlySet<string>; visible: readonly Relation[] }
type ImpactCase = { start: string; readable: ReadonlySet<string>; visible: readonly Relation[] }

/** These tests compare the assets and relations that callers can read with a naive model, for random data and groups. */

const groupCount = 3
const assetCount = 7
const nodeCount = 2
const entityCount = assetCount + nodeCount
const predicates = ['p', 'q']

/** Reduces the number of runs when the services run in separate processes, because visibility does not depend on that. */
const runs = (count: number) => ({
  numRuns:
    process.env.MILLWRIGHT_TEST_ARRANGEMENT === 'split' ? Math.ceil(count / 6) : randomCases(Math.ceil(count / 4)),
})

const entityIndex = fc.nat({ max: entityCount - 1 })
const predicate = fc.constantFrom(...predicates)

type Term =
  | { kind: 'end'; side: 'subject' | 'object'; entities: number[] }
  | { kind: 'type'; side: 'subject' | 'object'; type: Entity['type'] }
  | { kind: 'predicate'; operator: 'eq' | 'ne'; predicate: string }
  | { kind: 'not'; term: Term }
  | { kind: 'and' | 'or'; terms: Term[] }

const side = fc.constantFrom('subject' as const, 'object' as const)
const { filter } = fc.letrec<{ filter: Term; leaf: Term }>((tie) => ({
  leaf: fc.oneof(
    fc.record({
      kind: fc.constant('end' as const),
      side,
      entities: fc.array(entityIndex, { minLength: 1, maxLength: 2 }),
    }),
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
  links: fc.uniqueArray(fc.tuple(entityIndex, predicate, entityIndex), { maxLength: 18, selector: String }),
  reader: fc.nat({ max: 2 ** groupCount - 1 }),
})

type World = typeof world extends fc.Arbitrary<infer Sample> ? Sample : never

const someAsset = fc.nat({ max: assetCount - 1 })
const duplicatePairs = fc.uniqueArray(
  fc.tuple(someAsset, someAsset).filter(([one, other]) => one < other),
  { maxLength: 3, selector: String },
)

const traversal = fc.record({
  start: fc.nat({ max: assetCount - 1 }),
  depth: fc.integer({ min: 1, max: 4 }),
  direction: fc.constantFrom<Direction>('out', 'in', 'both'),
  only: fc.option(predicate, { nil: undefined }),
})

describe('visibility for random groups and permissions', () => {
  let hub: TestHub
  let groups: string[]
  let readers: TestCaller[]
  let ownGroups: string[]
  let worlds = 0

  before(async () => {
    hub = await testHub()
    ;({ groups, readers, ownGroups } = await createReaders(hub, groupCount))
  })

  after(() => hub[Symbol.asyncDispose]())

  async function make({ groups: places, links, reader }: World) {
    const ids = await createAssets(
      hub,
      places.map((place, index) => ({ name: `asset-${index}`, accessGroupId: groups[place] ?? '' })),
    )
    // The first node has the same id as an asset, but it is a different entity.
    const entities = [...ids.map(asset), node(ids[0] ?? ''), node()]
    const mark = v7()
    const at = (index: number) => entities[index] as Entity
    const put = await hub.context.database.transaction(hub.tenant, (tx) =>
      putRelations(
        tx,
        withTestAuthor(
          links.map(([from, name, to]) => ({
            subject: at(from),
            predicate: name,
            object: at(to),
            source: { type: 'discovery', value: mark },
          })),
        ),
      ),
    )
    // The test analyses the tables, because autovacuum is off in tests. Without statistics the planner would assume empty
    // tables.
    worlds++
    if (Number.isInteger(Math.log2(worlds))) await hub.asOwner((owner) => owner.query('analyze assets, relations'))
    const readable = new Set(ids.filter((_, index) => reader & (1 << (places[index] ?? 0))))
    const mayRead = ({ type, id }: Entity) => type === 'node' || readable.has(id)
    const relations = put.map(({ relation }) => showRelation(relation))
    const visible = relations.filter(({ subject, object }) => mayRead(subject) && mayRead(object))
    return { caller: readers[reader] as TestCaller, ids, at, mark, readable, visible }
  }

  test('returns the same graph as a naive traversal of readable assets', async () => {
    await fc.assert(
      fc.asyncProperty(world, traversal, async (sample, { start, depth, direction, only }) => {
        const { caller, at, readable, visible } = await make(sample)
        const query = { depth, direction, ...(only === undefined ? {} : { predicates: only }) }
        const request = caller.inventory.readGraph({ params: { id: at(start).id }, query })
        if (!readable.has(at(start).id)) return assert.rejects(request, { code: 'not_found' })
        const { data } = await request
        const expected = naiveTraversal(
          visible.filter(({ predicate: name }) => only === undefined || name === only),
          {
            start: at(start),
            depth,
            direction,
          },
        )
        assert.deepEqual(Object.fromEntries(data.nodes.map((entity) => [keyOf(entity), entity.depth])), expected.nodes)
        assert.deepEqual(
          data.edges.map(({ id }) => id),
          expected.edges.toSorted(),
        )
        assert.equal(data.truncated, false)
      }),
      runs(60),
    )
  })

  test('returns a path of the same length as a naive traversal of readable assets', async () => {
    await fc.assert(
      fc.asyncProperty(world, traversal, fc.nat({ max: assetCount - 1 }), async (sample, { start, direction }, end) => {
        const { caller, at, readable, visible } = await make(sample)
        if (!readable.has(at(start).id) || !readable.has(at(end).id)) return
        const { data } = await caller.inventory.readPath({
          params: { id: at(start).id },
          query: { to: at(end).id, direction },
        })
        const depth = naiveTraversal(visible, { start: at(start), depth: 10, direction }).nodes[keyOf(at(end))]
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
      runs(60),
    )
  })

  test('lists and counts relations of an asset and their history only when the other end is readable', async () => {
    await fc.assert(
      fc.asyncProperty(world, traversal, async (sample, { start }) => {
        const { caller, at, readable, visible } = await make(sample)
        const request = caller.inventory.listAssetRelations({ params: { id: at(start).id } })
        if (!readable.has(at(start).id)) return assert.rejects(request, { code: 'not_found' })
        const { data, meta } = await request
        const key = keyOf(at(start))
        const expected = visible.filter(({ subject, object }) => keyOf(subject) === key || keyOf(object) === key)
        assert.deepEqual(
          data.map(({ id }) => id),
          expected.map(({ id }) => id).toSorted(),
        )
        assert.equal(meta.totalElements, expected.length)
        const past = await caller.inventory.readRelationHistory({ params: { id: at(start).id } })
        assert.deepEqual(past.data.map(({ relation }) => relation).toReversed(), data)
        assert.equal(past.meta.totalElements, expected.length)
      }),
      runs(30),
    )
  })

  test('relationsFilter finds the readable assets that its alternatives select', async () => {
    await fc.assert(
      fc.asyncProperty(world, filter, async (sample, term) => {
        const { caller, at, mark, visible } = await make(sample)
        const relationsFilter = `(${print(term, at)}) and source.value eq '${mark}'`
        const { data, meta } = await caller.inventory.listAssets({ query: { relationsFilter } })
        const expected = naiveEnds(term, visible, at)
        assert.deepEqual(data.map(({ id }) => String(id)).toSorted(), expected, relationsFilter)
        assert.equal(meta.totalElements, expected.length)
        assert.deepEqual(await probeEachAsset(relationsFilter, sample.reader), expected, relationsFilter)
      }),
      runs(100),
    )
  })

  test('relationsFilter with a depth finds the same assets as a naive traversal of readable assets', async () => {
    await fc.assert(
      fc.asyncProperty(world, traversal, entityIndex, async (sample, { depth, direction, only }, start) => {
        const { caller, at, mark, visible } = await make(sample)
        const [near, far] = direction === 'in' ? (['object', 'subject'] as const) : (['subject', 'object'] as const)
        const begins = `${near}.id eq '${at(start).id}' and source.value eq '${mark}'`
        const relationsFilter = only === undefined ? begins : `${begins} and predicate eq '${only}'`
        const { data, meta } = await caller.inventory.listAssets({ query: { relationsFilter, depth } })
        const along = visible.filter(({ predicate: name }) => only === undefined || name === only)
        const expected = naiveReach(along, { start: at(start).id, depth, near, far })
        assert.deepEqual(data.map(({ id }) => String(id)).toSorted(), expected, relationsFilter)
        assert.equal(meta.totalElements, expected.length)
      }),
      runs(40),
    )
  })

  test('returns exactly the readable assets in all other operations', async () => {
    const admin = await hub.as('administrator')
    const before = await totals()
    const created: { id: string; place: number }[] = []
    const put = async (assets: object[]) => {
      if (assets.length === 0) return []
      const { result } = await applyWrite(admin, 'createAssets', { body: { data: { assets } } })
      return (result as unknown as { assetId: string }[]).map(({ assetId }) => assetId)
    }

    await fc.assert(
      fc.asyncProperty(world, duplicatePairs, traversal, async (sample, pairs, { start, depth, direction }) => {
        const mark = v7()
        const started = new Date().toISOString()
        const tag = (index: number) => ({
          asset_identifier_type: 'CustomIdentifier',
          name: 'tag',
          value: `${mark}-${index}`,
        })
        const ids = await put(
          sample.groups.map((place, index) => ({
            functional_object_type: 'Device',
            name: `${mark} ${index}`,
            access_group: groups[place],
            asset_identifiers: [tag(index)],
          })),
        )
        created.push(...ids.map((id, index) => ({ id, place: sample.groups[index] ?? 0 })))
        await put(
          pairs.map(([one, other]) => ({
            functional_object_type: 'Device',
            asset_identifiers: [tag(one), tag(other)],
          })),
        )
        const from = new Date().toISOString()
        const entities = [...ids.map(asset), node(), node()]
        const relations = await createRelations(
          hub,
          sample.links.map(([one, name, other]) => [entities[one], name, entities[other]] as Edge),
          new Date(Date.parse(from) + 1).toISOString(),
        )
        const mayRead = (place: number) => (sample.reader & (1 << place)) !== 0
        const readable = new Set(ids.filter((_, index) => mayRead(sample.groups[index] ?? 0)))
        const isVisible = ({ type, id }: Entity) => type === 'node' || readable.has(id)
        const visible = relations
          .map(({ relation }) => showRelation(relation))
          .filter(({ subject, object }) => isVisible(subject) && isVisible(object))
        const caller = readers[sample.reader] as TestCaller

        const filter = `startswith(name,'${mark}')`
        for (const query of [{ filter }, { q: mark }, { filter, sort: '-name', caseInsensitive: true }]) {
          const { data, meta } = await caller.inventory.listAssets({ query })
          assert.deepEqual(new Set(data.map(({ id }) => id)), readable)
          assert.equal(meta.totalElements, readable.size)
        }
        const facets = await caller.inventory.readFacets({ query: { by: 'access_group', filter } })
        const counted = Map.groupBy(sample.groups.filter(mayRead), (place) => `group-${place}`)
        assert.deepEqual(
          new Map(facets.data.map(({ value, count }) => [value, count])),
          new Map([...counted].map(([name, members]) => [name, members.length])),
        )
        for (const id of ids) {
          for (const [operation, input] of [
            ['readAsset', {}],
            ['readAsset', { query: { at: from } }],
            ['readIdentifiers', {}],
            ['readHistory', {}],
            ['readFieldSources', {}],
            ['listMerges', {}],
            ['readImpact', {}],
            ['exportImpact', { query: { mode: 'fails' } }],
          ] as const) {
            const { status } = await caller.exchange(inventory, operation, { params: { id }, ...input })
            assert.equal(status, readable.has(id) ? 200 : 404, `${operation} ${JSON.stringify(input)} ${sample.reader}`)
          }
          const { status } = await caller.exchange(inbox, 'readInboxAsset', { params: { id } })
          assert.equal(status, readable.has(id) ? 200 : 404, 'readInboxAsset')
        }
        await checkActivity(caller, { ids, readable, from: started })
        await checkTopology(caller, { filter, readable, visible })
        const dependentsOf = (id: string) =>
          relations.filter(({ relation }) => showRelation(relation).object.id === id).length
        // Most assets have no dependents, so that the readable asset with the most relations is checked too.
        const busiest = [...readable].toSorted((one, other) => dependentsOf(other) - dependentsOf(one)).slice(0, 1)
        for (const id of new Set([ids[start] ?? '', ...busiest]))
          await checkImpact(caller, { start: id, readable, visible })
        const { data: inboxFacets } = await caller.inbox.readInboxFacets({ query: { q: mark } })
        for (const values of Object.values(inboxFacets))
          assert.equal(
            values.reduce((sum, { count }) => sum + count, 0),
            readable.size,
            'the facets of the inbox',
          )
        for (const pair of pairs) {
          const [one = '', other = ''] = pair.map((index) => ids[index])
          const { meta } = await caller.inventory.listDuplicates({ query: { asset: one } })
          const mine = pairs.filter((others) => others.map((index) => ids[index]).includes(one))
          const shown = mine.filter((both) => both.every((index) => readable.has(ids[index] ?? '')))
          assert.equal(meta.totalElements, shown.length, `${one} ${other}`)
        }
        const request = caller.exchange(inventory, 'readGraphDifference', {
          params: { id: ids[start] ?? '' },
          query: { from, depth, direction },
        })
        const { status, body } = await request
        if (!readable.has(ids[start] ?? '')) return assert.equal(status, 404)
        const { data } = body as { data: { added: { nodes: Entity[]; edges: Relation[] }; removed: object } }
        const expected = naiveTraversal(visible, { start: asset(ids[start] ?? ''), depth, direction })
        assert.deepEqual(
          data.added.edges.map(({ id }) => id),
          expected.edges.toSorted(),
        )
        const fresh = Object.entries(expected.nodes).filter(([, level]) => level > 0)
        assert.deepEqual(data.added.nodes.map(keyOf).toSorted(), fresh.map(([key]) => key).toSorted())
        assert.deepEqual(data.removed, { nodes: [], edges: [] })
      }),
      runs(12),
    )

    const after = await totals()
    for (const [mask, total] of after.entries()) {
      const mine = created.filter(({ place }) => mask & (1 << place))
      assert.equal(total - (before[mask] ?? 0), mine.length, 'the total without a filter')
    }
    const sentinels = await put(
      ownGroups.map((access_group, mask) => ({
        functional_object_type: 'Device',
        access_group,
        asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `sentinel-${mask}` }],
      })),
    )
    await hub.settle()
    const base = await hub.listen()
    for (const [mask, { token }] of readers.entries()) {
      using reader = await EventReader.open(base, { token, query: { types: 'inventory', after: '0' } })
      const subjects: string[] = []
      while (subjects.at(-1) !== `asset/${sentinels[mask]}`) {
        const [event] = await reader.take(1)
        subjects.push(event?.subject ?? '')
      }
      const mine = created.filter(({ place }) => mask & (1 << place)).map(({ id }) => `asset/${id}`)
      assert.deepEqual(subjects.slice(0, -1).toSorted(), mine.toSorted(), 'the stream')
    }
  })

  /** Checks the entries, the groups, their members and the histogram of the activity after one creation of assets. */
  async function checkActivity(caller: TestCaller, { ids, readable, from }: ActivityCase): Promise<void> {
    const query = { kind: 'created' as const, from }
    const { data: entries } = await caller.activity.listEntries({ query })
    const shown = new Set<string>()
    for (const { object, group, cause } of entries) {
      if (group === undefined) shown.add(object?.id ?? '')
      else {
        const members = await caller.activity.listGroupEntries({ params: { id: cause?.id ?? '' }, query })
        assert.equal(group.count, members.data.length)
        for (const member of members.data) shown.add(member.object?.id ?? '')
      }
    }
    assert.deepEqual(shown, readable, 'the activity')
    const { data: buckets } = await caller.activity.readHistogram({ query: { ...query, bucket: 'hour' } })
    const counted = buckets.reduce((sum, { created }) => sum + created, 0)
    assert.equal(counted, readable.size, 'the histogram')
    for (const id of ids) {
      const { data } = await caller.activity.listEntries({ query: { asset: id } })
      assert.equal(data.length > 0, readable.has(id), 'the activity of one asset')
    }
    const changes = await caller.inventory.readLastChanges({ body: { data: { ids } } })
    assert.deepEqual(new Set(changes.data.map(({ assetId }) => assetId)), readable, 'the last changes')
  }

  /** The assets of this test have no address, so that all of them are in the group of the rest. */
  async function checkTopology(caller: TestCaller, { filter, readable, visible }: TopologyCase): Promise<void> {
    const query = { by: 'subnet' as const, filter }
    const { data: top } = await caller.inventory.readTopologyGroups({ query })
    assert.equal(top.total.assets, readable.size, 'the topology')
    const { data: map } = await caller.inventory.readTopologyMap({ query })
    assert.equal(map.total.assets, readable.size, 'the map')
    if (readable.size === 0) return
    const { data: rest } = await caller.inventory.readTopologyGroups({ query: { ...query, parent: restKey } })
    for (const { assets, edges } of [rest, map.inside[restKey] ?? { assets: [], edges: [] }]) {
      assert.deepEqual(new Set(assets.map(({ id }) => id)), readable, 'the assets of a group')
      const drawn = edges.flatMap(({ from, to, count }) => Array(count).fill(`${from} ${to}`))
      const related = visible
        .filter(
          ({ subject, object }) => subject.type === 'asset' && object.type === 'asset' && subject.id !== object.id,
        )
        .map(({ subject, object }) => `${subject.id} ${object.id}`)
      assert.deepEqual(drawn.toSorted(), related.toSorted(), 'the relations in a group')
    }
  }

  /** Checks the dependents of an asset, and a report about them that a caller with all rights stored. */
  async function checkImpact(caller: TestCaller, { start, readable, visible }: ImpactCase): Promise<void> {
    const between = visible.filter(({ subject, object }) => subject.type === 'asset' && object.type === 'asset')
    const naive = naiveTraversal(between, { start: asset(start), depth: assetCount, direction: 'in' })
    const dependents = Object.keys(naive.nodes).filter((key) => key !== `asset/${start}`)
    const admin = await hub.as('administrator')
    const { data: report } = await admin.inventory.createImpactReport({
      body: { data: { assetId: start, mode: 'depends' } },
    })
    const { data: reports, meta } = await caller.inventory.listImpactReports({ query: { asset: start } })
    const stored = await caller.exchange(inventory, 'readImpactReport', { params: { id: report.id } })
    await admin.inventory.deleteImpactReport({ params: { id: report.id } })
    if (!readable.has(start)) {
      assert.deepEqual([reports, meta.totalElements, stored.status], [[], 0, 404], 'the reports')
      return
    }
    const { data: impact } = await caller.inventory.readImpact({ params: { id: start }, query: { mode: 'depends' } })
    assert.deepEqual(impact.assets.map(({ id }) => `asset/${id}`).toSorted(), dependents.toSorted(), 'the impact')
    assert.equal(impact.total.affected + impact.total.degraded, dependents.length)
    const { data } = stored.body as { data: { impact: Impact } }
    assert.ok(data.impact.assets.every(({ id }) => readable.has(id)))
    assert.equal(data.impact.total.affected + data.impact.total.degraded, data.impact.assets.length)
    assert.deepEqual([reports.length, reports[0]?.affected], [1, undefined], 'no count of hidden assets')
  }

  async function totals(): Promise<number[]> {
    const pages = await Promise.all(readers.map((caller) => caller.inventory.listAssets({ query: { limit: 1 } })))
    return pages.map(({ meta }) => meta.totalElements ?? 0)
  }

  /** Runs the query for large sets. The service would never choose it for the few relations of this test. */
  async function probeEachAsset(relationsFilter: string, reader: number): Promise<string[]> {
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

type TraversalOptions = { start: Entity; depth: number; direction: Direction }

function naiveTraversal(relations: readonly Relation[], { start, depth, direction }: TraversalOptions) {
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

type Reach = { start: string; depth: number; near: 'subject' | 'object'; far: 'subject' | 'object' }

/** Returns the assets at the far ends of chains of relations. */
function naiveReach(relations: readonly Relation[], { start, depth, near, far }: Reach): string[] {
  const reached = new Map<string, Entity>()
  // The filter does not contain whether the start is an asset or a node, so both are used.
  let frontier = new Set([`asset/${start}`, `node/${start}`])
  for (let level = 0; level < depth; level++) {
    const entities = relations
      .filter((relation) => frontier.has(keyOf(relation[near])))
      .map((relation) => relation[far])
    frontier = new Set(entities.map(keyOf).filter((key) => !reached.has(key)))
    for (const entity of entities) reached.set(keyOf(entity), entity)
  }
  return [...reached.values()]
    .filter(({ type }) => type === 'asset')
    .map(({ id }) => id)
    .toSorted()
}

type At = (index: number) => Entity

function print(term: Term, at: At): string {
  switch (term.kind) {
    case 'end': {
      const ids = term.entities.map((index) => `'${at(index).id}'`)
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
      return term.entities.some((index) => at(index).id === relation[term.side].id)
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

/** Returns the alternatives of a filter: its disjunctive normal form. */
function alternatives(term: Term): Term[][] {
  if (term.kind === 'or') return term.terms.flatMap(alternatives)
  if (term.kind !== 'and') return [[term]]
  return term.terms
    .map(alternatives)
    .reduce((before, next) => before.flatMap((some) => next.map((more) => [...some, ...more])), [[]] as Term[][])
}

function naiveEnds(filter: Term, relations: readonly Relation[], at: At): string[] {
  const reachedIds = new Set<string>()
  for (const terms of alternatives(filter)) {
    const sample = new Set(terms.flatMap((term) => (term.kind === 'end' ? [term.side] : [])))
    const sides = (['subject', 'object'] as const).filter((end) => sample.size !== 1 || !sample.has(end))
    for (const relation of relations.filter((one) => terms.every((term) => holds(term, one, at)))) {
      for (const end of sides.map((name) => relation[name])) if (end.type === 'asset') reachedIds.add(end.id)
    }
  }
  return [...reachedIds].toSorted()
}
