import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noRights, type Rights } from '../../../platform/access/rights.ts'
import { testHub } from '../../../platform/testing/hub.ts'
import { countAssets } from '../assets/list-store.ts'
import { selectionOf } from '../assets/selection.ts'
import { endRelations, putRelations } from '../relations/relation-store.ts'
import { asset, createAssets, withTestAuthor } from '../testing.ts'
import { QueryHints } from './query-hints.ts'

test('caches the total of a list until relations are created or ended', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const { tenantId } = hub.tenant
  const [a = '', b = '', c = '', d = ''] = await createAssets(
    hub,
    ['a', 'b', 'c', 'd'].map((name) => ({ name })),
  )
  const rights = { ...noRights, everywhere: new Set(['inventory_read_asset_data'] as const) }
  const processes = [new QueryHints(), new QueryHints()]
  let counted = 0
  const totals = (predicates: string[]) => {
    const relationsFilter = `predicate in (${predicates.map((predicate) => `'${predicate}'`).join(', ')})`
    return Promise.all(
      processes.map((hints) =>
        database.read(hub.tenant, async (handle) => {
          const selection = await selectionOf(handle, { relationsFilter }, { tenantId, rights })
          assert.deepEqual(selection.totalSource, { predicates })
          return hints.totalRelated(handle, { predicates }, () => {
            counted++
            return countAssets(handle, selection)
          })
        }),
      ),
    )
  }
  const feeds = { predicate: 'feeds', source: { type: 'manual' } } as const
  const relate = (subject: string, object: string) =>
    database.transaction(hub.tenant, (tx) =>
      putRelations(tx, withTestAuthor([{ ...feeds, subject: asset(subject), object: asset(object) }])),
    )
  assert.deepEqual(await totals(['feeds']), [0, 0])
  const [first] = await relate(a, b)
  assert.deepEqual(await totals(['feeds']), [2, 2])
  await relate(a, c)
  assert.deepEqual(await totals(['feeds', 'drives']), [3, 3])
  assert.deepEqual(await totals(['feeds']), [3, 3])
  assert.equal(counted, 8)
  assert.deepEqual([await totals(['feeds']), await totals(['feeds', 'drives']), counted], [[3, 3], [3, 3], 8])

  // One transaction ends a relation and creates another one, so the number of relations stays the same.
  await database.transaction(hub.tenant, async (tx) => {
    await endRelations(tx, [first?.relation.id ?? ''], { principalId: null, principalName: 'somebody' })
    await putRelations(tx, withTestAuthor([{ ...feeds, subject: asset(c), object: asset(a) }]))
  })
  assert.deepEqual(await totals(['feeds']), [2, 2])
  await relate(c, d)
  assert.deepEqual(await totals(['feeds']), [3, 3])
})

test('caches totals only for filters by predicate alone, and only for callers who can read all groups', async () => {
  await using hub = await testHub()
  const { tenantId } = hub.tenant
  const everything: Rights = { ...noRights, everywhere: new Set(['inventory_read_asset_data'] as const) }
  const oneGroup: Rights = {
    ...noRights,
    inGroups: new Map([['inventory_read_asset_data' as const, new Set([tenantId])]]),
  }
  const relationsFilter = `predicate eq 'feeds'`
  const totalSource = (query: object, rights = everything) =>
    hub.context.database.read(hub.tenant, async (handle) => {
      return (await selectionOf(handle, { relationsFilter, ...query }, { tenantId, rights })).totalSource
    })
  assert.deepEqual(await totalSource({}), { predicates: ['feeds'] })
  assert.equal(await totalSource({}, oneGroup), undefined)
  assert.equal(await totalSource({ q: 'pump' }), undefined)
  assert.equal(await totalSource({ filter: `name eq 'pump'` }), undefined)
  assert.equal(await totalSource({ caseInsensitive: true }), undefined)
  const narrow = `object.id eq '${tenantId}' and ${relationsFilter}`
  assert.equal(await totalSource({ relationsFilter: narrow, depth: 3 }), undefined)
  assert.equal(await totalSource({ relationsFilter: narrow }), undefined)
})
