import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inventory } from '@millwright/api/inventory.ts'
import fc from 'fast-check'
import { testHub } from '../../platform/testing/hub.ts'
import { normaliseAsset } from './asset.ts'
import { keyOf } from './identifier.ts'
import { plantAssets } from './plant.ts'
import { growPlant } from './planting.ts'
import { SchemaRegistry } from './schema.ts'

type Shown = Record<string, unknown> & { name: string }

describe('a made-up plant', () => {
  test('is the same for the same seed, and the beginning of a larger one', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.integer({ min: 1, max: 400 }), (seed, assets) => {
        const small = [...plantAssets({ assets, seed, relations: 5 })]
        const large = [...plantAssets({ assets: assets + 50, seed, relations: 5 })]
        assert.equal(small.length, assets)
        assert.deepEqual(large.slice(0, assets), small)
      }),
      { numRuns: 10 },
    )
  })

  test('has assets that fit the schema, with identifiers of their own', async () => {
    const registry = new SchemaRegistry({ load: async () => undefined })
    const keys = new Set<string>()
    let identifiers = 0
    for (const { asset } of plantAssets({ assets: 2_000, seed: 7, relations: 5 })) {
      assert.deepEqual(normaliseAsset(asset).faults, [])
      assert.deepEqual(await registry.faultsOfWrite({ tenantId: '' } as never, normaliseAsset(asset).document), [])
      for (const identifier of asset.asset_identifiers as object[]) {
        keys.add(keyOf({ ...identifier }))
        identifiers++
      }
    }
    assert.equal(keys.size, identifiers)
  })

  test('relates assets to those before them only, as often as asked', () => {
    let relations = 0
    for (const asset of plantAssets({ assets: 1_000, seed: 3, relations: 5 })) {
      for (const relation of asset.relations) if ('place' in relation) assert.ok(relation.place < asset.place)
      relations += asset.relations.length
    }
    assert.ok(relations > 4_500, `${relations}`)
  })

  test('is the same whether it is sent or grown', async () => {
    await using hub = await testHub()
    const size = { assets: 30, seed: 11, relations: 0 }
    const sent = { ...size, seed: 12 }
    await hub.asOwner((owner) => growPlant(size, { owner, tenantId: hub.tenant.tenantId }))
    const admin = await hub.as('administrator')
    const { body } = await admin.exchange(inventory, 'createAssets', {
      body: { data: { assets: [...plantAssets(sent)].map(({ asset }) => asset) } },
      headers: { prefer: 'wait=10' },
    })
    assert.equal((body as { data: { state: string } }).data.state, 'finished')
    const list = await admin.inventory.listAssets({ query: { limit: 100, sort: 'name' } })
    assert.equal(list.meta.totalElements, 60)
    const shapes = (list.data as Shown[]).map((asset) => Object.keys(asset).join())
    assert.equal(
      new Set(shapes).size,
      new Set([...plantAssets(size)].map(({ asset }) => Object.keys(asset).join())).size,
    )
    await assert.rejects(
      hub.asOwner((owner) => growPlant(size, { owner, tenantId: hub.tenant.tenantId })),
      {
        code: 'already_exists',
      },
    )
  })
})
