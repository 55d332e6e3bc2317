import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { plantAssets, plantProperty, plantSource } from '@millwright/links/plant/generator.ts'
import { testHub } from '../../../platform/testing/hub.ts'
import { normaliseAsset } from '../assets/asset.ts'
import { keyOf } from '../identity/identifier.ts'
import { SchemaRegistry } from '../schemas/schema.ts'
import { bulkLoad } from './bulk-load.ts'

type Shown = Record<string, unknown> & { name: string }

describe('assets of a simulated plant', () => {
  test('generates simulated assets that match the schema and have unique identifiers', async () => {
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

  test('bulk-loads assets in the same form as the API stores them, and refuses to load them twice', async () => {
    await using hub = await testHub()
    const size = { assets: 30, seed: 11, relations: 0 }
    const sent = { ...size, seed: 12 }
    const load = () =>
      hub.asOwner((owner) =>
        bulkLoad(plantAssets(size), {
          owner,
          tenantId: hub.tenant.tenantId,
          property: plantProperty,
          source: plantSource,
        }),
      )
    await load()
    const admin = await hub.as('administrator')
    const { body } = await admin.exchange(inventory, 'createAssets', {
      body: { data: { assets: [...plantAssets(sent)].map(({ asset }) => asset) } },
      headers: { prefer: 'wait=30' },
    })
    assert.equal((body as { data: { state: string } }).data.state, 'finished')
    const list = await admin.inventory.listAssets({ query: { limit: 100, sort: 'name' } })
    assert.equal(list.meta.totalElements, 60)
    const shapes = (list.data as Shown[]).map((asset) => Object.keys(asset).join())
    assert.equal(
      new Set(shapes).size,
      new Set([...plantAssets(size)].map(({ asset }) => Object.keys(asset).join())).size,
    )
    await assert.rejects(load, { code: 'already_exists' })
  })
})
