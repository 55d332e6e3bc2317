import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { noRights, type Rights } from '../../../platform/access/rights.ts'
import { findAccessGroupByName } from '../../../platform/access/store.ts'
import { arrayOf } from '../../../platform/database/rowset.ts'
import { testHub } from '../../../platform/testing/hub.ts'
import { putRelations } from '../relations/relation-store.ts'
import { createAssets, createRelations, day, withTestAuthor } from '../testing.ts'
import { countAssets, listAssets, type Page, placeOf } from './list-store.ts'
import { everything, after as rangesAfter, type SortKey, totalOrder } from './listing.ts'
import { type Query, selectionOf } from './selection.ts'

const orders: SortKey[][] = [[], [{ column: 'a.name', descending: true, nullable: true, cast: 'text' }]]

/**
 * The cases in order: a small set; a small set that was large before; a large set in which probing fills the page; a large
 * set in which probing finds too few assets, so that the whole set is collected.
 */
const strategies = [
  { bounds: { collected: 1_000, probed: 1_000 } },
  { bounds: { collected: 1_000, probed: 2 }, isLargeSet: true },
  { bounds: { collected: 1, probed: 1_000 } },
  { bounds: { collected: 1, probed: 2 } },
]

test('returns the same assets for a query with each execution strategy', async () => {
  await using hub = await testHub()
  const { tenantId } = hub.tenant
  const ids = await createAssets(
    hub,
    Array.from({ length: 24 }, (_, index) => ({ name: `${index % 3 === 0 ? 'pump' : 'valve'} ${index % 7}` })),
  )
  const relations = ids.slice(6).map((id, index) => ({
    subject: { type: 'asset' as const, id },
    predicate: index % 2 === 0 ? 'feeds' : 'drives',
    object: { type: 'asset' as const, id: ids[index % 6] ?? '' },
    source: { type: 'manual' as const },
  }))
  const nodeIds = Array.from({ length: 150 }, () => v7()).toSorted()
  const assignments = ids.slice(0, 15).map((id, index) => ({
    subject: { type: 'asset' as const, id },
    predicate: 'is_assigned_to_node',
    object: { type: 'node' as const, id: index < 10 ? (nodeIds[(index * 17) % nodeIds.length] ?? '') : v7() },
    source: { type: 'manual' as const },
  }))
  const nodes = { nodes: nodeIds.length, ids: arrayOf('uuid', nodeIds), identity: 'test' }
  await hub.context.database.transaction(hub.tenant, (tx) =>
    putRelations(tx, withTestAuthor([...relations, ...assignments])),
  )
  const group = await hub.context.database.read(hub.tenant, (handle) =>
    findAccessGroupByName(handle, defaultAccessGroup),
  )
  const permission = 'inventory_read_asset_data'
  const everybody: Rights[] = [
    { ...noRights, everywhere: new Set([permission]) },
    { ...noRights, inGroups: new Map([[permission, new Set([group?.id ?? ''])]]) },
  ]
  const queries: { query: Query; total: number }[] = [
    { query: { q: 'pump' }, total: 8 },
    { query: { relationsFilter: `predicate eq 'feeds'` }, total: 12 },
    { query: { relationsFilter: `object.id eq '${ids[1]}'`, q: 'valve' }, total: 3 },
    { query: { filter: `startswith(name,'valve')`, relationsFilter: `predicate eq 'drives'` }, total: 8 },
    { query: { q: 'nothing of this name' }, total: 0 },
    { query: { nodes }, total: 10 },
    { query: { nodes, q: 'pump' }, total: 4 },
    { query: { nodes, filter: `startswith(name,'valve')` }, total: 6 },
    { query: { otherThanNodes: nodes }, total: 14 },
  ]
  for (const rights of everybody) {
    for (const { query, total } of queries) {
      const selection = await hub.context.database.read(hub.tenant, (handle) =>
        selectionOf(handle, query, { tenantId, rights }),
      )
      const listed = (page: Pick<Page, 'ranges' | 'sort'> & Partial<Page>) =>
        hub.context.database.read(hub.tenant, (handle) =>
          listAssets(handle, selection, { limit: 100, offset: 0, count: true, ...page }),
        )
      const counted = await hub.context.database.read(hub.tenant, (handle) => countAssets(handle, selection))
      assert.equal(counted, total, JSON.stringify(query))
      for (const sort of orders) {
        const complete = (await listed({ ranges: everything, sort })).rows.map(({ id }) => id)
        assert.equal(complete.length, total)
        for (const strategy of strategies) {
          const paged: string[] = []
          for (let ranges = everything; ; ) {
            const { rows } = await listed({ ranges, sort, ...strategy, limit: 3 })
            paged.push(...rows.map(({ id }) => id))
            const last = rows.length === 3 ? rows.at(-1) : undefined
            if (last === undefined) break
            ranges = rangesAfter(totalOrder(sort), placeOf(last, sort), selection.values.length + 2)
          }
          assert.deepEqual(paged, complete, JSON.stringify({ query, strategy, sort }))
          const { rows } = await listed({ ranges: everything, sort, ...strategy, limit: 2, offset: 1 })
          assert.deepEqual(
            rows.map(({ id }) => id),
            complete.slice(1, 3),
          )
        }
      }
    }
  }
})

const columns = {
  name: { column: 'a.name', nullable: true, cast: 'text' },
  created: { column: 'a.created_at', nullable: false, cast: 'timestamptz' },
} as const

type ModelKey = { by: keyof typeof columns; descending: boolean }
type ModelAsset = { id: string; name?: string; created: string; nodeId: string | undefined }

/** Compares two assets as the database does: a missing value is greater than every value, and the id comes last. */
function compareAssets(keys: readonly ModelKey[], one: ModelAsset, other: ModelAsset): number {
  for (const { by, descending } of [...keys, { by: 'id' as const, descending: keys.at(-1)?.descending === true }]) {
    const [first, second] = [one[by], other[by]]
    if (first === second) continue
    const isGreater = first === undefined || (second !== undefined && first > second)
    return isGreater === descending ? -1 : 1
  }
  return 0
}

test('lists the assets of nodes as a simple model does, for every order, filter and page size', async () => {
  await using hub = await testHub()
  const nodeIds = Array.from({ length: 150 }, () => v7()).toSorted()
  const names = [undefined, 'a', 'b', 'b', undefined, 'c', 'b']
  const inputs = Array.from({ length: 35 }, (_, index) => ({ name: names[index % 7], at: day(1 + (index % 3)) }))
  const ids = await createAssets(
    hub,
    inputs.map(({ name, at }) => ({ at, ...(name !== undefined && { name }) })),
  )
  const assets = inputs.map(({ name, at }, index): ModelAsset => {
    const nodeId = index % 5 < 3 ? nodeIds[(index * 13) % nodeIds.length] : undefined
    return { id: ids[index] ?? '', ...(name !== undefined && { name }), created: at, nodeId }
  })
  await createRelations(
    hub,
    assets.map(({ id, nodeId = v7() }) => [{ type: 'asset', id }, 'is_assigned_to_node', { type: 'node', id: nodeId }]),
  )
  const rights = { ...noRights, everywhere: new Set(['inventory_read_asset_data'] as const) }
  const key = fc.record({
    by: fc.constantFrom('name' as const, 'name' as const, 'created' as const),
    descending: fc.boolean(),
  })
  const query = fc.record({
    keys: fc.uniqueArray(key, { maxLength: 2, selector: ({ by }) => by }),
    nodes: fc.constantFrom(100, 150),
    name: fc.constantFrom(undefined, undefined, undefined, 'b'),
    limit: fc.integer({ min: 2, max: 3 }),
    bounds: fc.record({ collected: fc.constantFrom(0, 0, 0, 100), probed: fc.constantFrom(1, 2, 3, 4, 20, 100) }),
    isLargeSet: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(query, async ({ keys, nodes, name, ...page }) => {
      const set = nodeIds.slice(0, nodes)
      const expected = assets
        .filter((asset) => asset.nodeId !== undefined && set.includes(asset.nodeId))
        .filter((asset) => name === undefined || asset.name === name)
        .toSorted((one, other) => compareAssets(keys, one, other))
      const sort = keys.map(({ by, descending }) => ({ ...columns[by], descending }))
      const listed = await hub.context.database.read(hub.tenant, async (handle) => {
        const nodeSet = { nodes, ids: arrayOf('uuid', set), identity: `${nodes}` }
        const filter = name === undefined ? {} : { filter: `name eq '${name}'` }
        const caller = { tenantId: hub.tenant.tenantId, rights }
        const selection = await selectionOf(handle, { nodes: nodeSet, ...filter }, caller)
        const found: string[] = []
        for (let ranges = everything; ; ) {
          const { rows } = await listAssets(handle, selection, { ranges, sort, offset: 0, count: false, ...page })
          found.push(...rows.map(({ id }) => id))
          const last = rows.length === page.limit ? rows.at(-1) : undefined
          if (last === undefined) return found
          ranges = rangesAfter(totalOrder(sort), placeOf(last, sort), selection.values.length + 2)
        }
      })
      assert.deepEqual(
        listed,
        expected.map(({ id }) => id),
      )
    }),
    { numRuns: 30 },
  )
})
