import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { asset, createAssets, createCaller, node } from '../testing.ts'

type ItemResult = Partial<ProblemDocument> & { assetId?: string; outcome?: string }

describe('results of bulk writes', () => {
  let hub: TestHub
  let admin: TestCaller
  /** A caller that can write in `default`, can read `item-readable`, and cannot read `item-hidden`. */
  let caller: TestCaller
  let own: string
  let readable: string
  let hidden: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    const newGroup = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    const readableGroup = await newGroup('item-readable')
    const hiddenGroup = await newGroup('item-hidden')
    const { data: groups } = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
    caller = await createCaller(hub, [
      { permissions: ['glb_inventory_write_relation_data'] },
      {
        permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'],
        accessGroupId: groups[0]?.id ?? '',
      },
      { permissions: ['inventory_read_asset_data'], accessGroupId: readableGroup },
    ])
    const ids = await createAssets(hub, [
      { name: 'own' },
      { name: 'readable', accessGroupId: readableGroup },
      { name: 'hidden', accessGroupId: hiddenGroup },
    ])
    own = ids[0] ?? ''
    readable = ids[1] ?? ''
    hidden = ids[2] ?? ''
  })

  after(() => hub[Symbol.asyncDispose]())

  async function send(operation: string, data: object): Promise<{ state: string; results: ItemResult[] }> {
    const headers = { prefer: 'wait=30' }
    const { status, body } = await caller.exchange(inventory, operation, { headers, body: { data } })
    assert.equal(status, 202, JSON.stringify(body))
    const accepted = (body as { data: { state: string; detail: { result: ItemResult[] } } }).data
    return { state: accepted.state, results: accepted.detail.result }
  }

  const summary = (results: readonly ItemResult[]) => results.map(({ code, outcome }) => code ?? outcome)

  test('applies the valid items of a bulk write when others refer to a missing, hidden or read-only asset', async () => {
    const { data: property } = await admin.inventory.createCustomProperty({ body: { data: { name: 'item results' } } })
    const operations: [string, (ids: string[]) => object, (index: number) => string][] = [
      ['setManagementStates', (ids) => ids.map((id) => ({ asset_id: id, state_value: 'regarded' })), inItem],
      ['setResponsibles', (ids) => ids.map((id) => ({ asset_id: id, responsible: 'jane' })), inItem],
      ['setAccessGroups', (ids) => ids.map((id) => ({ asset_id: id, access_group: 'default' })), inItem],
      ['setPropertyValues', (ids) => ids.map((id) => ({ asset_id: id, key: property.key, value: '4711' })), inItem],
      ['deletePropertyValues', (ids) => ids.map((id) => ({ asset_id: id, key: property.key })), inItem],
      ['deleteAssets', (ids) => ({ ids }), (index) => `/data/ids/${index}`],
    ]
    for (const [operation, bodyOf, pointerAt] of operations) {
      const missing = v7()
      const { state, results } = await send(operation, bodyOf([missing, own, hidden, readable]))
      assert.equal(state, 'finished', operation)
      const [forMissing, forOwn, forHidden, forReadable] = results
      const applied = { deleteAssets: 'deleted', setAccessGroups: 'unchanged' }[operation] ?? 'updated'
      assert.deepEqual([forOwn?.assetId, forOwn?.outcome], [own, applied], operation)
      assert.deepEqual(summary(results), ['asset_not_found', applied, 'asset_not_found', 'forbidden'], operation)
      assert.equal(forReadable?.errors?.[0]?.pointer, pointerAt(3), operation)
      assert.match(
        forReadable?.detail ?? '',
        /^Permission denied: requires `inventory_write_asset_data` in access group `.+`$/,
      )
      const comparable = (result: ItemResult | undefined, id: string, index: number) =>
        JSON.stringify(result).replaceAll(id, 'id').replaceAll(pointerAt(index), 'pointer')
      assert.equal(comparable(forMissing, missing, 0), comparable(forHidden, hidden, 2), operation)
    }
    const { data: rest } = await admin.inventory.listAssets({ query: { filter: `id in ('${readable}','${hidden}')` } })
    assert.equal(rest.length, 2)
  })

  test('refuses a bulk write with too many items without checking each item', async () => {
    const data = Array(inventoryLimits.bulk + 1).fill({ value: {} })
    const { status, body } = await caller.exchange(inventory, 'setPropertyValues', { body: { data } })
    const { code, errors } = body as ProblemDocument
    assert.deepEqual([status, code], [400, 'invalid_body'])
    assert.deepEqual(
      errors?.map(({ pointer, code }) => [pointer, code]),
      [['/data', 'maxItems']],
    )
  })

  test('returns the status failed when no item of a bulk write was applied', async () => {
    for (const [operation, data] of [
      ['deleteAssets', { ids: [v7(), hidden] }],
      ['setResponsibles', [{ asset_id: v7(), responsible: 'jane' }]],
      ['setAccessGroups', [{ asset_id: readable, access_group: 'no such group' }]],
    ] as const)
      assert.equal((await send(operation, data)).state, 'failed', operation)
  })

  test('reports an unknown access group, an unknown property or an invalid value in the result of its item', async () => {
    const { data: count } = await admin.inventory.createCustomProperty({
      body: { data: { name: 'item count', data_type: 'number' } },
    })
    const [one = ''] = await createAssets(hub, [{ name: 'one' }])
    const moved = await send('setAccessGroups', [
      { asset_id: one, access_group: 'item-hidden' },
      { asset_id: one, access_group: 'no such group' },
      { asset_id: one, access_group: 'item-readable' },
      { asset_id: one, access_group: 'default' },
    ])
    const unknownGroup = 'access_group_not_found'
    assert.deepEqual(summary(moved.results), [unknownGroup, unknownGroup, 'forbidden', 'unchanged'])
    assert.deepEqual(
      moved.results.map(({ errors }) => errors?.[0]?.pointer),
      ['/data/0/access_group', '/data/1/access_group', '/data/2/access_group', undefined],
    )
    const valued = await send('setPropertyValues', [
      { asset_id: one, key: v7(), value: 'x' },
      { asset_id: one, key: count.key, value: 'many' },
      { asset_id: one, key: count.key, value: 3 },
    ])
    assert.deepEqual(summary(valued.results), ['property_not_found', 'invalid_asset', 'updated'])
    assert.deepEqual(
      valued.results.map(({ errors }) => errors?.[0]?.pointer),
      ['/data/0/key', '/data/1/value', undefined],
    )
  })

  test('POST /assets/batch writes the valid assets and reports the others', async () => {
    const device = (more: object = {}) => ({
      functional_object_type: 'Device',
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: v7() }],
      ...more,
    })
    const assets = [
      device({ name: 5 }),
      device({ functional_object_schema_url: 'https://plant.example/unknown' }),
      device({ access_group: 'no such group' }),
      device({ access_group: 'item-hidden' }),
      device({ access_group: 'item-readable' }),
      'not an asset',
      device({ name: 'valid' }),
    ]
    const { state, results } = await send('createAssets', { assets })
    assert.equal(state, 'finished')
    assert.deepEqual(summary(results), [
      'invalid_asset',
      'schema_not_found',
      'access_group_not_found',
      'access_group_not_found',
      'forbidden',
      'invalid_body',
      'created',
    ])
    assert.equal(results[0]?.errors?.[0]?.pointer, '/data/assets/0/name')
    const { data } = await caller.inventory.readAsset({ params: { id: results[6]?.assetId ?? '' } })
    assert.equal(data.name, 'valid')
    assert.equal((await send('createAssets', { assets: assets.slice(0, 6) })).state, 'failed')
    const { status } = await caller.exchange(inventory, 'createAssets', { body: { data: { assets: 'x' } } })
    assert.equal(status, 400)
  })

  test('stores a short error when a schema with a long enumeration rejects an asset', async () => {
    const url = `https://plant.example/${v7()}`
    const allowed = Array.from({ length: 4_000 }, (_, index) => `value ${index}`)
    const schema = { properties: { modes: { items: { enum: allowed } } } }
    await admin.inventory.createSchema({ body: { data: { url, schema } } })
    const refused = {
      functional_object_type: 'Device',
      functional_object_schema_url: url,
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: v7() }],
      modes: Array(60).fill(0),
    }
    const { results } = await send('createAssets', { assets: Array(5).fill(refused) })
    assert.deepEqual(summary(results), Array(5).fill('invalid_asset'))
    assert.match(results[0]?.errors?.[0]?.detail ?? '', /^must be one of value 0, .*, …$/)
    for (const result of results) assert.ok(JSON.stringify(result).length < 16_384)
  })

  test('POST /relations/batch writes the valid relations and reports the others', async () => {
    const [one = ''] = await createAssets(hub, [{ name: 'related' }])
    const relation = { subject: asset(one), predicate: 'x', object: node() }
    const relations = [{ ...relation, predicate: '' }, relation, 7, { ...relation, object: asset(hidden) }]
    const { status, body } = await caller.exchange(inventory, 'createRelations', { body: { data: { relations } } })
    assert.equal(status, 200, JSON.stringify(body))
    const { results } = (body as { data: { results: ItemResult[] } }).data
    assert.deepEqual(summary(results), ['invalid_body', 'created', 'invalid_body', 'asset_not_found'])
    assert.equal(results[0]?.errors?.[0]?.pointer, '/data/relations/0/predicate')
  })
})

function inItem(index: number): string {
  return `/data/${index}/asset_id`
}
