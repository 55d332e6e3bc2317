import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { distributeTables } from '../../prepare.ts'
import { testHub } from '../testing/hub.ts'
import { placementTargets, type Table } from './cluster.ts'
import { misplacedTables } from './distribute.ts'
import { placeFaults } from './distribution-check.ts'
import { inForeignKeyOrder } from './foreign-key-order.ts'

const table = (name: string, more: Partial<Table> = {}): Table => ({
  name,
  tenant: true,
  place: 'plain',
  column: null,
  colocation: null,
  leftover: false,
  needs: [],
  ...more,
})

const rules = { referenceTables: ['master_keys'], coordinatorTables: ['tenants', 'directory'], tenantRows: 'versions' }

const distributed = (name: string, colocation: number, column = 'tenant_id') =>
  table(name, { place: 'distributed', column, colocation })

describe('distribution over a Citus cluster', () => {
  test('creates shared tables as reference tables, and co-locates the other tables by tenant', () => {
    const tables = [
      table('assets', { needs: ['tenants', 'master_keys'] }),
      table('migrations', { tenant: false }),
      table('tenants', { tenant: false }),
      table('master_keys', { tenant: false }),
      table('grants'),
      table('versions', { needs: ['tenants'] }),
    ]
    assert.deepEqual(placementTargets(tables, rules), [
      { table: 'versions', how: 'distributed', colocateWith: 'default' },
      { table: 'master_keys', how: 'reference' },
      { table: 'assets', how: 'distributed', colocateWith: 'versions' },
      { table: 'grants', how: 'distributed', colocateWith: 'versions' },
    ])
  })

  test('skips tables that are already distributed, and co-locates new tables with them', () => {
    const tables = [distributed('assets', 7), table('tenants', { tenant: false }), table('new_one')]
    assert.deepEqual(placementTargets(tables, rules), [
      { table: 'new_one', how: 'distributed', colocateWith: 'assets' },
    ])
  })

  test('finds the tables that are distributed in another way than they must be', () => {
    const tables = [
      distributed('assets', 7),
      distributed('grants', 7),
      distributed('elsewhere', 8),
      distributed('by_id', 7, 'id'),
      table('versions', { place: 'reference' }),
      table('master_keys', { tenant: false, place: 'reference' }),
      table('tenants', { tenant: false, place: 'reference' }),
      table('not_yet'),
      table('directory'),
    ]
    const names = misplacedTables(tables, rules).map(({ name }) => name)
    assert.deepEqual(names, ['elsewhere', 'by_id', 'versions', 'tenants'])
    assert.deepEqual(
      placeFaults(tables, rules).map((fault) => `${fault.table} ${fault.detail}`),
      [
        'elsewhere is not co-located with the other tables',
        'by_id is distributed by id instead of tenant_id',
        'versions is reference and must be distributed',
        'tenants is reference and must be plain',
        'not_yet is plain and must be distributed',
      ],
    )
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
