import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { applyWrite, assertCounts, asset, createAssets, createRelations } from '../testing.ts'

type Product = {
  manufacturer?: string
  product?: string
  name?: string
  version?: string
  group?: string
  type?: string
  software?: [name: string, version: string][]
}

describe('devices for the update hub', () => {
  let hub: TestHub
  let operator: TestCaller
  let system: ReturnType<typeof systemCaller>

  before(async () => {
    hub = await testHub()
    operator = await hub.as('operator')
    system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
  })

  after(() => hub[Symbol.asyncDispose]())

  const client = () => hub.context.peers(inventory, system)

  const create = async (tag: string, { manufacturer, product, name, version, group, type, software = [] }: Product) => {
    const { result } = await applyWrite(operator, 'createAsset', {
      body: {
        data: {
          asset: {
            functional_object_type: type ?? 'Device',
            functional_object_schema_url: baseSchemaUrl,
            name: tag,
            asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: tag }],
            ...(group === undefined ? {} : { access_group: group }),
            product_instance_information: {
              manufacturer_product: {
                ...(manufacturer === undefined ? {} : { manufacturer: { name: manufacturer } }),
                ...(product === undefined ? {} : { product_id: product }),
                ...(name === undefined ? {} : { product_name: name }),
                product_version: '3',
              },
            },
            software_components: [
              ...(version === undefined ? [] : [component('firmware', version, true)]),
              ...software.map(([each, own]) => component(each, own, false)),
            ],
          },
        },
      },
    })
    return result.assetId
  }

  test('selects assets by a filter and by their ids, with products and versions', async () => {
    const pump = await create('pump', {
      manufacturer: 'Example',
      product: 'P1',
      name: 'Pump',
      version: '2.0',
      software: [['Runtime', '5.1']],
    })
    const other = await create('other', { manufacturer: 'Example' })
    const byFilter = await client().selectDevices({ body: { data: { filter: `name eq 'pump'` } } })
    const expected = {
      id: pump,
      name: 'pump',
      manufacturer: 'Example',
      productId: 'P1',
      productName: 'Pump',
      hardwareVersion: '3',
      firmwareVersion: '2.0',
    }
    const [{ accessGroupId, ...device } = { accessGroupId: '' }] = byFilter.data.devices
    assert.deepEqual([device, byFilter.data.isTruncated], [expected, false])
    assert.match(accessGroupId, /^[0-9a-f-]{36}$/)
    const ids = [pump, other, '01980000-0000-7000-8000-000000000000']
    const byId = await client().selectDevices({ body: { data: { ids, withSoftware: true } } })
    assert.deepEqual(
      byId.data.devices.map(({ id, software }) => [id, software]),
      [
        [pump, [{ name: 'Runtime', version: '5.1' }]],
        [other, []],
      ].toSorted(),
    )
    await assert.rejects(client().selectDevices({ body: { data: { filter: 'nonsense' } } }), { code: 'invalid_filter' })
  })

  test('counts products and versions, and keeps the counts when assets change, move or are deleted', async () => {
    const admin = await hub.as('administrator')
    await admin.authorization.createAccessGroup({ body: { data: { name: 'line' } } })
    const [one] = await Promise.all([
      create('v1', { manufacturer: 'Acme', product: 'X', name: 'Drive', version: '1.0' }),
      create('v2', { manufacturer: 'Acme', product: 'X', name: 'Drive', version: '1.1', group: 'line' }),
      create('v3', { manufacturer: 'Acme', name: `Odd\u001f${'x'.repeat(250)}` }),
      create('link', { manufacturer: 'Acme', product: 'X', type: 'SoftwareArtifact' }),
    ])
    const counts = async () => {
      const { data } = await client().countProductVersions({})
      return data
        .filter(({ manufacturer }) => manufacturer === 'Acme')
        .map(({ productId, productName = '', firmwareVersion, devices }) => [
          productId ?? productName.length,
          firmwareVersion,
          devices,
        ])
    }
    assert.deepEqual(await counts(), [
      [128, undefined, 1],
      ['X', '1.0', 1],
      ['X', '1.1', 1],
    ])
    await applyWrite(operator, 'setFirmwareVersion', { params: { id: one }, body: { data: { version: '1.1' } } })
    assert.deepEqual((await counts()).slice(1), [['X', '1.1', 2]])
    await applyWrite(operator, 'setAccessGroups', { body: { data: [{ asset_id: one, access_group: 'line' }] } })
    assert.deepEqual((await counts()).slice(1), [['X', '1.1', 2]])
    await applyWrite(operator, 'deleteAssets', { body: { data: { ids: [one] } } })
    assert.deepEqual((await counts()).slice(1), [['X', '1.1', 1]])
    await assertCounts(hub)
  })

  test('reads the connections of assets over other assets, and finds gateways', async () => {
    const ids = await createAssets(
      hub,
      ['plc', 'switch', 'core', 'module', 'far'].map((name) => ({ name })),
    )
    const [plc = '', switchId = '', core = '', module = '', far = ''] = ids
    const gateway = await create('gateway', { type: 'Gateway' })
    const machine = await create('machine', {})
    await createRelations(hub, [
      [asset(plc), 'is_connected_to', asset(switchId)],
      [asset(switchId), 'is_connected_to', asset(core)],
      [asset(core), 'is_connected_to', asset(machine)],
      [asset(gateway), 'is_installed_on', asset(machine)],
      [asset(module), 'is_module_of', asset(plc)],
      [asset(plc), 'feeds', asset(far)],
    ])
    const read = (outgoing: string[], incoming: string[]) =>
      client().readConnections({ body: { data: { ids: [plc], outgoing, incoming } } })
    const upwards = await read(['is_connected_to'], ['is_connected_to'])
    assert.equal(upwards.data.relations.length, 3)
    assert.deepEqual([upwards.data.gateways, upwards.data.unexplored], [[machine], []])
    const downwards = await read([], ['is_module_of'])
    assert.deepEqual(downwards.data.relations, [{ subject: module, predicate: 'is_module_of', object: plc }])
  })

  test('stops at the maximum depth and names the assets whose relations were not read', async () => {
    const ids = await createAssets(
      hub,
      Array.from({ length: inventoryLimits.connectionDepth + 3 }, (_, index) => ({ name: `chain ${index}` })),
    )
    await createRelations(
      hub,
      ids.slice(1).map((id, index) => [asset(ids[index] ?? ''), 'is_connected_to', asset(id)] as const),
    )
    const { data } = await client().readConnections({
      body: { data: { ids: ids.slice(0, 1), outgoing: ['is_connected_to'], incoming: [] } },
    })
    assert.deepEqual(data.unexplored, [ids[inventoryLimits.connectionDepth]])
  })
})

function component(name: string, version: string, isFirmware: boolean) {
  return {
    software_component_type: 'SoftwareArtifactComponent',
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      name,
      ...(isFirmware ? { is_firmware: true } : {}),
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name, version }],
    },
  }
}
