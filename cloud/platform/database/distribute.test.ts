import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { distributeTables } from '../../prepare.ts'
import { testHub } from '../testing/hub.ts'
import { distributionSteps, inOrderOfNeed, type Table } from './distribute.ts'

const table = (name: string, more: Partial<Table> = {}): Table => ({
  name,
  tenant: true,
  place: null,
  needs: [],
  ...more,
})

describe('spreading the tables over a cluster', () => {
  test('takes shared tables as reference tables and the others by tenant, side by side', () => {
    const tables = [
      table('assets', { needs: ['tenants'] }),
      table('migrations', { tenant: false }),
      table('tenants', { tenant: false }),
      table('grants'),
    ]
    assert.deepEqual(distributionSteps(tables, ['tenants']), [
      { table: 'tenants', how: 'reference' },
      { table: 'assets', how: 'distributed', beside: 'default' },
      { table: 'grants', how: 'distributed', beside: 'assets' },
    ])
  })

  test('does only what is left, beside what is there', () => {
    const tables = [
      table('assets', { place: 'distributed' }),
      table('tenants', { tenant: false, place: 'reference' }),
      table('new_one'),
    ]
    assert.deepEqual(distributionSteps(tables, ['tenants']), [
      { table: 'new_one', how: 'distributed', beside: 'assets' },
    ])
  })

  test('never takes a table before one that it refers to', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const acyclic = fc.tuple(...names.map((_, i) => fc.subarray(names.slice(0, i))))
    fc.assert(
      fc.property(acyclic, fc.shuffledSubarray(names, { minLength: names.length }), (needs, order) => {
        const tables = order.map((name) => table(name, { needs: needs[names.indexOf(name)] ?? [] }))
        const sorted = inOrderOfNeed(tables).map(({ name }) => name)
        assert.equal(sorted.length, names.length)
        for (const { name, needs: others } of tables)
          for (const other of others) assert.ok(sorted.indexOf(other) < sorted.indexOf(name))
      }),
    )
  })

  test('is refused in one sentence where there is no cluster', async (context) => {
    await using hub = await testHub()
    if (hub.database.server.citus) return context.skip('this server is a cluster')
    await hub.asOwner((owner) => assert.rejects(distributeTables(owner, 'somebody'), /not a Citus coordinator/))
  })
})
