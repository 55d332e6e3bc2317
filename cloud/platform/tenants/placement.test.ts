import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { testHub } from '../testing/hub.ts'
import { estimateSizes, listPlacements, moveTenant, nameOf, withMoveLock } from './placement.ts'
import { selectNodes } from './placement-store.ts'

describe('placement of tenants in a cluster', () => {
  test('divides the size of a shard by the shares of the rows', () => {
    const tenants = [
      { tenantId: 'a', range: '0' },
      { tenantId: 'b', range: '0' },
      { tenantId: 'c', range: '0' },
      { tenantId: 'd', range: '100' },
    ]
    const sizes = [
      { range: '0', bytes: 1_000, tenants: ['a'], shares: [0.6] },
      { range: '0', bytes: 300, tenants: [], shares: [] },
      { range: '100', bytes: 70, tenants: ['d'], shares: [1] },
    ]
    assert.deepEqual(
      [...estimateSizes(tenants, sizes)],
      [
        ['a', 700],
        ['b', 300],
        ['c', 300],
        ['d', 70],
      ],
    )
  })

  test('estimates sizes that add up to the size of the shards with tenants', () => {
    const ranges = ['0', '1', '2']
    const tenantArray = fc.uniqueArray(fc.record({ tenantId: fc.uuid(), range: fc.constantFrom(...ranges) }), {
      selector: ({ tenantId }) => tenantId,
      minLength: 1,
    })
    const scenario = tenantArray.chain((tenants) => {
      const size = fc
        .record({
          tenant: fc.constantFrom(...tenants),
          share: fc.double({ min: 0, max: 1, noNaN: true }),
          bytes: fc.nat(),
        })
        .map(({ tenant, share, bytes }) => {
          const isAlone = tenants.filter(({ range }) => range === tenant.range).length === 1
          return { range: tenant.range, bytes, tenants: [tenant.tenantId], shares: [isAlone ? 1 : share] }
        })
      return fc.record({ tenants: fc.constant(tenants), sizes: fc.array(size) })
    })
    fc.assert(
      fc.property(scenario, ({ tenants, sizes }) => {
        const estimates = estimateSizes(tenants, sizes)
        const total = [...estimates.values()].reduce((sum, bytes) => sum + bytes, 0)
        const expected = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
        assert.ok([...estimates.values()].every((bytes) => Number.isInteger(bytes) && bytes >= 0))
        assert.ok(Math.abs(total - expected) <= tenants.length + sizes.length)
      }),
    )
  })

  test('refuses a server that is not a Citus coordinator', async (context) => {
    await using hub = await testHub()
    if (hub.database.server.citus) return context.skip('this server is a cluster')
    await hub.asOwner((owner) => assert.rejects(listPlacements(owner), /not a Citus coordinator/))
  })

  test('a second move of a tenant is refused while the first one runs, and names the reason', async () => {
    await using hub = await testHub()
    const { name } = hub.tenant
    await hub.asOwner((first) =>
      withMoveLock(first, name, () =>
        hub.asOwner(async (second) => {
          await assert.rejects(
            withMoveLock(second, name, async () => {}),
            /Another command moves tenant/,
          )
          assert.equal(await withMoveLock(second, `${name}-2`, async () => 'moved'), 'moved')
        }),
      ),
    )
    assert.equal(await hub.asOwner((third) => withMoveLock(third, name, async () => 'moved')), 'moved')
  })

  test('moves a tenant to another worker, and the tenant keeps its data and its privileges', async (context) => {
    await using hub = await testHub()
    if (!hub.database.server.citus) return context.skip('this server is not a cluster')
    const admin = await hub.as('administrator')
    const groups = async () => (await admin.authorization.listAccessGroups({ query: {} })).data.map(({ name }) => name)
    const before = await groups()
    await hub.asOwner(async (owner) => {
      const placed = async () => (await listPlacements(owner)).find(({ tenant }) => tenant === hub.tenant.name)
      const { worker, bytes } = (await placed()) ?? {}
      assert.ok(Number(bytes) > 0)
      const others = (await selectNodes(owner)).filter((node) => node.hasShards && nameOf(node) !== worker)
      const to = nameOf(others[0])

      // The shards of many tables are copied, so the test blocks writes, which is faster.
      const moved = await moveTenant(owner, { name: hub.tenant.name, to, mode: 'block_writes' })

      assert.equal(moved?.from, worker)
      assert.equal((await placed())?.worker, to)
      assert.equal(await moveTenant(owner, { name: hub.tenant.name, to, mode: 'block_writes' }), undefined)
      await assert.rejects(moveTenant(owner, { name: hub.tenant.name, to: 'nowhere:1', mode: 'auto' }), /not a worker/)
    })
    assert.deepEqual(await groups(), before)
    await admin.authorization.createAccessGroup({ body: { data: { name: 'after the move' } } })
    assert.deepEqual((await groups()).toSorted(), [...before, 'after the move'].toSorted())
  })
})
