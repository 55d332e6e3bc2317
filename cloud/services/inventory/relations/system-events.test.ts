import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Client } from '@millwright/api/client.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { systemCaller } from '../../../platform/access/system.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { createAssets } from '../testing.ts'
import { linkEventSource } from './system-event-handlers.ts'

describe('system events', () => {
  let hub: TestHub
  let admin: TestCaller
  let system: Client<typeof inventory>

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    const { tenantId, name: tenantName } = hub.tenant
    system = hub.contextOf('inventory').peers(inventory, systemCaller({ tenantId, tenantName }))
  })

  after(() => hub[Symbol.asyncDispose]())

  async function createMany(count: number): Promise<string[]> {
    return createAssets(
      hub,
      Array.from({ length: count }, (_, index) => ({ name: `thing ${index}` })),
    )
  }

  /** Creates assets through the API and waits until they are applied. */
  async function createThroughApi(parts: readonly Record<string, unknown>[]): Promise<string[]> {
    const assets = parts.map((part) => {
      const identifier = { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: v7() }
      return { functional_object_type: 'Device', asset_identifiers: [identifier], ...part }
    })
    const { data } = await admin.inventory.createAssets({ body: { data: { assets } } })
    await hub.settle()
    const status = await admin.inventory.readStatus({ params: { id: data.statusId } })
    return (status.data.detail.result as { assetId: string }[]).map(({ assetId }) => assetId)
  }

  async function relationsOf(subject: string) {
    const { data } = await admin.inventory.listRelations({
      query: { filter: `subject.id eq '${subject}'`, sort: 'predicate' },
    })
    return data
  }

  test('relates discovered assets to the gateway and to the asset link', async () => {
    const [gateway = '', assetLink = '', ...assets] = await createMany(5)
    const recorded = await system.recordFound({
      body: { data: { gateway, assetLink, assets, source: 'acme.cdm.dcd.sat' } },
    })
    assert.deepEqual(recorded.data, { created: 6, refreshed: 0 })
    for (const asset of assets) {
      assert.deepEqual(
        (await relationsOf(asset)).map(({ predicate, object, source }) => ({ predicate, object, source })),
        [
          {
            predicate: 'found_by_asset_link',
            object: { type: 'asset', id: assetLink },
            source: { type: 'discovery', value: 'acme.cdm.dcd.sat' },
          },
          {
            predicate: 'found_by_gateway',
            object: { type: 'asset', id: gateway },
            source: { type: 'discovery', value: 'acme.cdm.dcd.sat' },
          },
        ],
      )
    }
  })

  test('reports whether deleted assets were merged, and returns nothing for existing assets', async () => {
    const [existing = '', deleted = '', merged = '', back = ''] = await createThroughApi([{}, {}, {}, {}])
    const merge = (other: string) =>
      admin.inventory.mergeAsset({ params: { id: existing }, body: { data: { other, prefer: 'this' } } })
    await admin.inventory.deleteAssets({ body: { data: { ids: [deleted] } } })
    await merge(merged)
    await merge(back)
    await hub.settle()
    const { data: merges } = await admin.inventory.listMerges({ params: { id: existing } })
    const mergeId = merges.find(({ otherId }) => otherId === back)?.id ?? ''
    await admin.inventory.undoMerge({ params: { id: existing, mergeId } })
    await hub.settle()
    const never = v7()
    const { data } = await system.findGone({
      body: { data: { assets: [existing, deleted, merged, back, never, never] } },
    })
    assert.deepEqual(data, [{ assetId: deleted }, { assetId: merged, mergedInto: existing }, { assetId: never }])
  })

  test('updates only the timestamp of a relation when a system event is repeated', async () => {
    const [gateway = '', asset = ''] = await createMany(2)
    const report = () => system.recordFound({ body: { data: { gateway, assets: [asset, asset], source: 's' } } })
    assert.deepEqual((await report()).data, { created: 1, refreshed: 0 })
    const [first] = await relationsOf(asset)
    assert.deepEqual((await report()).data, { created: 0, refreshed: 1 })
    const [second] = await relationsOf(asset)
    assert.deepEqual([second?.id, second?.createdTimestamp], [first?.id, first?.createdTimestamp])
    assert.ok(String(second?.lastModifiedTimestamp) > String(first?.lastModifiedTimestamp))
  })

  test('creates one found_by_gateway and two found_by_asset_link relations when two links find the same device', async () => {
    const [gateway = '', one = '', two = '', asset = ''] = await createMany(4)
    for (const assetLink of [one, two]) {
      await system.recordFound({ body: { data: { gateway, assetLink, assets: [asset], source: assetLink } } })
    }
    assert.deepEqual(
      (await relationsOf(asset)).map(({ predicate }) => predicate),
      ['found_by_asset_link', 'found_by_asset_link', 'found_by_gateway'],
    )
  })

  test('restores a relation at the next system event after a user deleted it', async () => {
    const [gateway = '', asset = ''] = await createMany(2)
    const body = { data: { gateway, assets: [asset], source: 's' } }
    await system.recordFound({ body })
    const [first] = await relationsOf(asset)
    await admin.inventory.deleteRelations({ body: { data: { ids: [first?.id ?? ''] } } })
    assert.deepEqual((await system.recordFound({ body })).data, { created: 1, refreshed: 0 })
    const [second] = await relationsOf(asset)
    assert.notEqual(second?.id, first?.id)
  })

  test('writes both relations of an installed and running link, and ends only is_running_on when it stops', async () => {
    const [gateway = '', assetLink = ''] = await createMany(2)
    const body = { data: { assetLink, gateway } }
    assert.deepEqual((await system.recordLinkInstalled({ body })).data, { created: 1, refreshed: 0 })
    assert.deepEqual((await system.recordLinkRunning({ body })).data, { created: 1, refreshed: 0 })
    assert.deepEqual((await system.recordLinkRunning({ body })).data, { created: 0, refreshed: 1 })
    const source = { type: 'assetlinkdiscovery', value: linkEventSource }
    assert.deepEqual(
      (await relationsOf(assetLink)).map((relation) => [relation.predicate, relation.source]),
      [
        ['is_installed_on', source],
        ['is_running_on', source],
      ],
    )
    assert.deepEqual((await system.recordLinkStopped({ body })).data, { deleted: 1 })
    assert.deepEqual((await system.recordLinkStopped({ body })).data, { deleted: 0 })
    assert.deepEqual(
      (await relationsOf(assetLink)).map(({ predicate }) => predicate),
      ['is_installed_on'],
    )
  })

  test('stores the relation from a link event and the same relation from a user separately', async () => {
    const [gateway = '', assetLink = ''] = await createMany(2)
    await system.recordLinkInstalled({ body: { data: { assetLink, gateway, source: 'acme.cdm' } } })
    const entity = (id: string) => ({ type: 'asset' as const, id })
    await admin.inventory.createRelation({
      body: { data: { subject: entity(assetLink), predicate: 'is_installed_on', object: entity(gateway) } },
    })
    assert.deepEqual(
      (await relationsOf(assetLink)).map(({ source }) => source).toSorted((a, b) => (a.type < b.type ? -1 : 1)),
      [{ type: 'assetlinkdiscovery', value: 'acme.cdm' }, { type: 'manual' }],
    )
  })

  test('refuses a system event about a missing asset with a pointer, and writes nothing', async () => {
    const [gateway = '', asset = ''] = await createMany(2)
    const missing = v7()
    await assert.rejects(
      system.recordFound({ body: { data: { gateway, assets: [asset, missing], source: 's' } } }),
      (error) =>
        error instanceof Problem && error.code === 'asset_not_found' && error.errors?.[0]?.pointer === '/data/assets/1',
    )
    assert.deepEqual(await relationsOf(asset), [])
    await assert.rejects(
      system.recordLinkRunning({ body: { data: { assetLink: asset, gateway: missing } } }),
      (error) => error instanceof Problem && error.errors?.[0]?.pointer === '/data/gateway',
    )
  })

  test('refuses a discovery event without a gateway and an asset link', async () => {
    const assets = await createMany(1)
    await assert.rejects(
      system.recordFound({ body: { data: { assets, source: 's' } } }),
      (error) => error instanceof Problem && error.code === 'invalid_body',
    )
  })

  test('records each system event once in the audit trail, with the system as principal', async () => {
    const [gateway = '', ...assets] = await createMany(4)
    await system.recordFound({ body: { data: { gateway, assets, source: 's' } } })
    await hub.settle()
    const { data } = await admin.audit.listEntries({ query: { target: `asset/${gateway}` } })
    assert.deepEqual(
      data.map(({ action, principalKind, detail }) => ({ action, principalKind, detail })),
      [{ action: 'inventory.recordFound', principalKind: 'system', detail: { created: 3, refreshed: 0 } }],
    )
  })

  test('refuses system events from users', async () => {
    const [gateway = '', assetLink = ''] = await createMany(2)
    const exchange = await admin.exchange(inventory, 'recordLinkRunning', { body: { data: { assetLink, gateway } } })
    assert.equal(exchange.status, 404)
    assert.deepEqual(await relationsOf(assetLink), [])
  })
})
