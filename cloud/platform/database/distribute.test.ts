import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { distributeTables } from '../../prepare.ts'
import { testHub } from '../testing/hub.ts'
import { distributionSteps, inForeignKeyOrder, type Table } from './distribute.ts'

const table = (name: string, more: Partial<Table> = {}): Table => ({
  name,
  tenant: true,
  place: null,
  needs: [],
  ...more,
})

describe('distribution over a Citus cluster', () => {
  test('creates shared tables as reference tables, and co-locates the other tables by tenant', () => {
    const tables = [
      table('assets', { needs: ['tenants'] }),
      table('migrations', { tenant: false }),
      table('tenants', { tenant: false }),
      table('grants'),
    ]
    assert.deepEqual(distributionSteps(tables, ['tenants']), [
      { table: 'tenants', how: 'reference' },
      { table: 'assets', how: 'distributed', colocateWith: 'default' },
      { table: 'grants', how: 'distributed', colocateWith: 'assets' },
    ])
  })

  test('skips tables that are already distributed, and co-locates new tables with them', () => {
    const tables = [
      table('assets', { place: 'distributed' }),
      table('tenants', { tenant: false, place: 'reference' }),
      table('new_one'),
    ]
    assert.deepEqual(distributionSteps(tables, ['tenants']), [
      { table: 'new_one', how: 'distributed', colocateWith: 'assets' },
    ])
  })

  test('distributes no table before a table that it references', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const acyclic = fc.tuple(...names.map((_, i) => fc.subarray(names.slice(0, i))))
    fc.assert(
      fc.property(acyclic, fc.shuffledSubarray(names, { minLength: names.length }), (needs, order) => {
        const tables = order.map((name) => table(name, { needs: needs[names.indexOf(name)] ?? [] }))
        const sorted = inForeignKeyOrder(tables).map(({ name }) => name)
        assert.equal(sorted.length, names.length)
        for (const { name, needs: others } of tables)
          for (const other of others) assert.ok(sorted.indexOf(other) < sorted.indexOf(name))
      }),
    )
  })

  test('refuses a server that is not a Citus coordinator', async (context) => {
    await using hub = await testHub()
    if (hub.database.server.citus) return context.skip('this server is a cluster')
    await hub.asOwner((owner) => assert.rejects(distributeTables(owner, 'somebody'), /not a Citus coordinator/))
  })
})
