import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { GroupContent, TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import { bytesOfId } from '../../../platform/database/id.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { Context } from '../../../platform/service.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import {
  applyWrite,
  asset,
  createAssets,
  createCaller,
  createRelations,
  deleteAssetsAt,
  type Edge,
  endRelationsAt,
  node,
} from '../testing.ts'
import { networkTree, pathToSwitch, switchesBelow } from './network-tree.ts'
import { mapOf } from './topology-map.ts'

type Query = { by: 'hierarchy' | 'subnet' | 'switch' } & Record<string, string>

type PeersOf = { context: Context; peers: Context['peers'] }

/** Replaces an operation of another service until the end of the test. */
function answerInstead(t: TestContext, { context, peers }: PeersOf, operation: string, answer: () => unknown) {
  return t.mock.method(context, 'peers', ((...args: Parameters<typeof peers>) => {
    const clients = peers.apply(context, args) as Record<string, unknown>
    return new Proxy(clients, { get: (of, name: string) => (name === operation ? answer : of[name]) })
  }) as typeof peers)
}

describe('GET /topology/groups', () => {
  let hub: TestHub
  let viewer: TestCaller
  let ofLine: TestCaller
  let line: string
  let startedAt: string
  const ids: Record<string, string> = {}
  const nodes: Record<string, string> = {}
  let hierarchyId: string

  /** The assets with their addresses. The switch has connections to all assets with an address. */
  const addresses: Record<string, string | undefined> = {
    SW01: '10.0.1.1',
    PLC01: '10.0.1.2',
    DRV01: '10.0.2.3',
    HMI01: undefined,
    IO01: undefined,
    hidden: '10.0.1.9',
    loner: undefined,
  }

  before(async () => {
    hub = await testHub()
    const admin = await hub.as('administrator')
    viewer = await hub.as('viewer')
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'line' } } })
    line = group.id
    ofLine = await createCaller(hub, [
      { permissions: ['glb_hierarchy_read'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: line },
    ])
    startedAt = new Date(Date.now() - 1).toISOString()
    const { data } = await admin.inventory.createAssets({
      headers: { prefer: 'wait=30' },
      body: {
        data: {
          assets: Object.entries(addresses).map(([name, address]) => ({
            // Only devices can be not monitored.
            functional_object_type: name === 'loner' ? 'Asset' : 'Device',
            functional_object_schema_url: baseSchemaUrl,
            name,
            access_group: name === 'hidden' ? defaultAccessGroup : 'line',
            asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'test', value: v7() }],
            ...(address === undefined
              ? {}
              : {
                  connection_points: [{ connection_point_type: 'Ipv4Connectivity', id: 'x1', ipv4_address: address }],
                }),
          })),
        },
      },
    })
    const results = data.detail?.result as { assetId: string }[]
    assert.equal(data.state, 'finished', JSON.stringify(data))
    for (const [index, name] of Object.keys(addresses).entries()) ids[name] = results[index]?.assetId ?? ''
    hierarchyId = (await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })).data.id
    const { data: created } = await admin.hierarchy.createNodes({
      params: { id: hierarchyId },
      body: {
        data: {
          nodes: [
            { key: 'site', name: 'Aarhus', type: 'site' },
            { key: 'cell', name: 'Cell 1', parentKey: 'site' },
            { key: 'robot', name: 'Robot', parentKey: 'cell' },
            { key: 'empty', name: 'Bilbao' },
          ],
        },
      },
    })
    for (const { key, id } of created) nodes[key] = id
    const to = (name: string) => asset(ids[name] ?? '')
    const edges: Edge[] = [
      [to('PLC01'), 'is_connected_to', to('SW01')],
      [to('SW01'), 'is_connected_to', to('PLC01')],
      [to('DRV01'), 'is_connected_to', to('SW01')],
      [to('HMI01'), 'is_connected_to', to('SW01')],
      [to('hidden'), 'is_connected_to', to('SW01')],
      [to('IO01'), 'is_module_of', to('PLC01')],
      [to('DRV01'), 'found_by_gateway', to('PLC01')],
      [to('PLC01'), 'is_assigned_to_node', node(nodes.robot)],
      [to('DRV01'), 'is_assigned_to_node', node(nodes.cell)],
      [to('SW01'), 'is_assigned_to_node', node(nodes.site)],
      [to('hidden'), 'is_assigned_to_node', node(nodes.site)],
    ]
    await createRelations(hub, edges)
  })

  after(() => hub[Symbol.asyncDispose]())

  async function groups(query: Query, caller = viewer): Promise<TopologyGroups> {
    return (await caller.inventory.readTopologyGroups({ query })).data
  }

  const counts = ({ groups: all }: GroupContent) => all.map(({ name = 'rest', assets }) => `${name} ${assets}`)
  const names = ({ assets }: GroupContent) => assets.map(({ name }) => name).join(' ')
  const edgesOf = ({ edges, groups: all, assets }: GroupContent) => {
    const nameOf = (key: string) =>
      all.find((group) => group.key === key)?.name ?? assets.find(({ id }) => id === key)?.name ?? key
    return edges.map(({ from, to, predicate, count }) => `${nameOf(from)} ${predicate} ${nameOf(to)} ${count}`)
  }

  test('groups assets by the nodes of a hierarchy, with the assets of all nodes below', async () => {
    const top = await groups({ by: 'hierarchy', hierarchy: hierarchyId })
    assert.deepEqual(counts(top), ['Aarhus 4', 'Bilbao 0', 'rest 3'])
    const [site] = top.groups
    assert.deepEqual([site?.type, site?.children, site?.kind], ['site', 1, 'node'])
    assert.deepEqual(site?.reachability, { reached: 0, failed: 0, unknown: 4 })
    assert.deepEqual(site?.classes.map((each) => `${each.class} ${each.assets}`).toSorted(), [
      'controller 1',
      'drive 1',
      'other 1',
      'switch 1',
    ])
    assert.deepEqual([top.total.assets, site?.changes.added], [7, 4])
    assert.deepEqual(edgesOf(top), ['rest is_connected_to Aarhus 1', 'rest is_module_of Aarhus 1'])
  })

  test('opens a group: its groups, its own assets, and the relations between them', async () => {
    const inside = await groups({ by: 'hierarchy', hierarchy: hierarchyId, parent: nodes.site ?? '' })
    assert.deepEqual([counts(inside), names(inside)], [['Cell 1 2'], 'SW01 hidden'])
    assert.deepEqual(inside.path, [{ key: nodes.site, name: 'Aarhus', type: 'site' }])
    assert.deepEqual(edgesOf(inside).toSorted(), [
      'Cell 1 is_connected_to SW01 2',
      'SW01 is_connected_to Cell 1 1',
      'hidden is_connected_to SW01 1',
    ])
    const rest = await groups({ by: 'hierarchy', hierarchy: hierarchyId, parent: 'rest' })
    assert.deepEqual([counts(rest), names(rest)], [[], 'HMI01 IO01 loner'])
  })

  test('counts only readable assets', async () => {
    const top = await groups({ by: 'hierarchy', hierarchy: hierarchyId }, ofLine)
    assert.deepEqual(counts(top), ['Aarhus 3', 'Bilbao 0', 'rest 3'])
    assert.deepEqual(counts(await groups({ by: 'subnet' }, ofLine)), ['10.0.1.0/24 3', '10.0.2.0/24 1', 'rest 2'])
    const bySwitch = await groups({ by: 'switch' }, ofLine)
    assert.equal(names(bySwitch), 'DRV01 HMI01 IO01 PLC01 SW01')
  })

  test('groups assets by subnet, and modules with the asset that they are a module of', async () => {
    const top = await groups({ by: 'subnet' })
    assert.deepEqual(counts(top), ['10.0.1.0/24 4', '10.0.2.0/24 1', 'rest 2'])
    // The module has no own address.
    assert.deepEqual(
      top.groups.map(({ addressed }) => addressed),
      [3, 1, undefined],
    )
    const inside = await groups({ by: 'subnet', parent: '10.0.1.0/24' })
    assert.deepEqual([names(inside), inside.groups], ['IO01 PLC01 SW01 hidden', []])
    assert.deepEqual(
      inside.path.map(({ name }) => name),
      ['10.0.0.0/8', '10.0.0.0/16', '10.0.1.0/24'],
    )
    assert.deepEqual(counts(await groups({ by: 'subnet', parent: '10.0.0.0/16' })), ['10.0.1.0/24 4', '10.0.2.0/24 1'])
    assert.equal(names(await groups({ by: 'subnet', parent: 'rest' })), 'HMI01 loner')
  })

  test('opens a subnet of IPv6 addresses', async () => {
    const parent = '2001:db8:0:1::/64'
    await using other = await testHub()
    const admin = await other.as('administrator')
    const camera = {
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name: 'CAM01',
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'test', value: v7() }],
      connection_points: [
        {
          connection_point_type: 'Ipv6Connectivity',
          id: 'x1',
          ipv6_address: '2001:0db8:0000:0001:0000:0000:0000:0007',
        },
      ],
    }
    const headers = { prefer: 'wait=30' }
    const { data } = await admin.inventory.createAsset({ headers, body: { data: { asset: camera } } })
    assert.equal(data.state, 'finished', JSON.stringify(data))
    assert.deepEqual(counts(await groups({ by: 'subnet' }, admin)), [`${parent} 1`])
    assert.equal(names(await groups({ by: 'subnet', parent }, admin)), 'CAM01')
  })

  test('opens the only network at once: the switch and the assets that are connected to it', async () => {
    const top = await groups({ by: 'switch' })
    assert.deepEqual([counts(top), names(top)], [['rest 1'], 'DRV01 HMI01 IO01 PLC01 SW01 hidden'])
    assert.equal(names(await groups({ by: 'switch', parent: 'rest' })), 'loner')
  })

  test('ignores allSwitches if there is one switch', async () => {
    const { data: top } = await viewer.inventory.readTopologyGroups({ query: { by: 'switch', allSwitches: true } })
    assert.deepEqual([counts(top), names(top)], [['rest 1'], 'DRV01 HMI01 IO01 PLC01 SW01 hidden'])
  })

  test('counts only assets that match the filter or the text', async () => {
    assert.deepEqual(counts(await groups({ by: 'subnet', filter: "name eq 'DRV01'" })), ['10.0.2.0/24 1'])
    const found = await groups({ by: 'hierarchy', hierarchy: hierarchyId, q: 'PLC01' })
    assert.deepEqual(counts(found), ['Aarhus 1', 'Bilbao 0'])
  })

  test('keeps the switch of an asset, even if the filter does not select the switch', async () => {
    const found = await groups({ by: 'switch', q: 'PLC01' })
    assert.deepEqual([counts(found), names(found)], [[], 'PLC01'])
  })

  test('returns the map with the inside of every group', async () => {
    const map = async (query: Query, caller = viewer) => (await caller.inventory.readTopologyMap({ query })).data
    const byNode = await map({ by: 'hierarchy', hierarchy: hierarchyId })
    assert.deepEqual(counts(byNode), ['Aarhus 4', 'Bilbao 0', 'rest 3'])
    assert.deepEqual(edgesOf(byNode), ['rest is_connected_to Aarhus 1', 'rest is_module_of Aarhus 1'])
    const site = byNode.inside[nodes.site ?? '']
    assert.ok(site !== undefined)
    assert.deepEqual([counts(site), names(site)], [['Cell 1 2'], 'SW01 hidden'])
    const direct = await groups({ by: 'hierarchy', hierarchy: hierarchyId, parent: nodes.site ?? '' })
    assert.deepEqual(edgesOf(site).toSorted(), edgesOf(direct).toSorted())
    assert.deepEqual(site.total, direct.total)
    assert.deepEqual(counts(await map({ by: 'subnet' }, ofLine)), ['10.0.1.0/24 3', '10.0.2.0/24 1', 'rest 2'])
    const bySwitch = await map({ by: 'switch' })
    assert.deepEqual(counts(bySwitch), ['SW01 6', 'rest 1'])
    assert.equal(
      names(bySwitch.inside[ids.SW01 ?? ''] ?? assert.fail('no switch')),
      'DRV01 HMI01 IO01 PLC01 SW01 hidden',
    )
  })

  test('names the lowest node with most of the assets of a subnet or of a switch', async () => {
    const placesOf = async (query: Query) =>
      (await groups({ ...query, hierarchy: hierarchyId })).groups.map(
        ({ name = 'rest', place = [] }) => `${name}: ${place.map((node) => node.name).join(' › ')}`,
      )
    // Of the four assets of the first subnet, two are in Aarhus, and one is in its cell.
    assert.deepEqual(await placesOf({ by: 'subnet' }), [
      '10.0.1.0/24: Aarhus',
      '10.0.2.0/24: Aarhus › Cell 1',
      'rest: ',
    ])
    assert.deepEqual((await groups({ by: 'subnet' })).groups[0]?.place, undefined)
    assert.equal(
      (await viewer.exchange(inventory, 'readTopologyGroups', { query: { by: 'subnet', hierarchy: v7() } })).status,
      422,
    )
  })

  test('counts what the last check of a monitoring reached, and separately what has no result and what is not monitored', async (t) => {
    const context = hub.contextOf('inventory')
    const { peers } = context
    const checked = ['SW01', 'PLC01', 'hidden'].map((name) => bytesOfId(ids[name] ?? ''))
    answerInstead(t, { context, peers }, 'listMonitoredAssets', () => ({
      data: {
        checked: Buffer.concat(checked).toString('base64'),
        unchecked: bytesOfId(ids.DRV01 ?? '').toString('base64'),
      },
    }))
    const admin = await hub.as('administrator')
    const states = { SW01: 'reached', PLC01: 'failed', loner: 'reached' } as const
    for (const [name, value] of Object.entries(states))
      await admin.inventory.setReachabilityState({
        headers: { prefer: 'wait=30' },
        params: { id: ids[name] ?? '' },
        body: { data: { state_value: value } },
      })
    const top = await groups({ by: 'subnet' })
    assert.deepEqual(top.total.monitoring, { reachable: 1, unreachable: 1, unchecked: 1, unmonitored: 3 })
    const inside = await groups({ by: 'subnet', parent: '10.0.1.0/24' }, ofLine)
    assert.deepEqual(
      inside.assets.map(({ name, monitoring }) => `${name} ${monitoring}`),
      ['IO01 unmonitored', 'PLC01 unreachable', 'SW01 reachable'],
    )
    const rest = await groups({ by: 'subnet', parent: 'rest' })
    assert.deepEqual(rest.assets.find(({ name }) => name === 'loner')?.monitoring, undefined)
    assert.deepEqual(top.unavailable, [])
  })

  test('returns the current topology without the numbers of a service that does not respond', async (t) => {
    const context = hub.contextOf('inventory')
    const { peers } = context
    const refuse = () => {
      throw new Error('the service does not respond')
    }
    const refused = answerInstead(t, { context, peers }, 'listOutdatedVersions', refuse)
    const top = await groups({ by: 'subnet' })
    assert.deepEqual([top.total.assets, top.unavailable], [7, ['outdated']])
    refused.mock.restore()
    answerInstead(t, { context, peers }, 'listMonitoredAssets', refuse)
    const { data: map } = await viewer.inventory.readTopologyMap({ query: { by: 'subnet' } })
    assert.deepEqual([map.total.assets, map.unavailable], [7, ['monitoring']])
    const at = new Date().toISOString()
    assert.deepEqual((await groups({ by: 'subnet', at })).unavailable, ['outdated', 'monitoring'])
  })

  test('refuses unknown parents, and times in the wrong order', async () => {
    const status = async (query: Query) => (await viewer.exchange(inventory, 'readTopologyGroups', { query })).status
    assert.equal(await status({ by: 'hierarchy' }), 400)
    assert.equal(await status({ by: 'hierarchy', hierarchy: v7() }), 422)
    assert.equal(await status({ by: 'hierarchy', hierarchy: hierarchyId, parent: v7() }), 422)
    assert.equal(await status({ by: 'hierarchy', hierarchy: hierarchyId, parent: 'x' }), 400)
    assert.equal(await status({ by: 'subnet', parent: '10.0.0.0/12' }), 400)
    assert.equal(await status({ by: 'switch', parent: v7() }), 404)
    assert.equal(await status({ by: 'subnet', at: '2026-01-01T00:00:00Z', since: '2026-01-02T00:00:00Z' }), 400)
  })

  test('returns the topology at an earlier time, and counts what was added, changed and removed since a time', async () => {
    assert.deepEqual(counts(await groups({ by: 'subnet', at: startedAt })), [])
    const then = new Date().toISOString()
    const at = new Date(Date.now() + 1_000).toISOString()
    await deleteAssetsAt(hub, { ids: [ids.DRV01 ?? ''], accessGroupId: line, at })
    const before = await groups({ by: 'subnet', at: then })
    assert.deepEqual(counts(before), ['10.0.1.0/24 4', '10.0.2.0/24 1', 'rest 2'])
    assert.equal(before.total.changes.added, 7)
    const changes = async (query: Query) =>
      (await groups(query)).groups.map(({ name = 'rest', changes: each }) => `${name} ${Object.values(each).join(' ')}`)
    assert.deepEqual(await changes({ by: 'hierarchy', hierarchy: hierarchyId, since: then }), [
      'Aarhus 0 0 1',
      'Bilbao 0 0 0',
      'rest 0 0 0',
    ])
    const inside = await groups({ by: 'hierarchy', hierarchy: hierarchyId, parent: nodes.cell ?? '', since: then })
    assert.deepEqual(
      inside.assets.map(({ name, change }) => `${name} ${change}`),
      ['DRV01 removed'],
    )
    const bySwitch = await groups({ by: 'switch', since: then })
    assert.deepEqual([bySwitch.total.changes.removed, bySwitch.assets.at(-1)?.change], [1, 'removed'])
  })
})

test('counts what changed since a time by kind of change, in each group and for each asset', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  const assetNames = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']
  const firmware = {
    is_firmware: true,
    product_instance_information: { manufacturer_product: { product_version: '1.0' } },
  }
  const withFirmware = { document: { software_components: [{ artifact: firmware }] } }
  const created = assetNames.map((name) => ({ name, at: at(name === 'F' ? 1 : 60), ...(name === 'H' && withFirmware) }))
  const assetIds = await createAssets(hub, created)
  const idOf = (name: string) => assetIds[assetNames.indexOf(name)] ?? ''
  const write = (operation: string, name: string, body: object) =>
    applyWrite(admin, operation, { params: { id: idOf(name) }, body: { data: body } })
  const connect = (from: string, to: string, time: string) =>
    createRelations(hub, [[asset(idOf(from)), 'is_connected_to', asset(idOf(to))]], time)
  const early = await connect('A', 'E', at(50))
  await write('setName', 'A', { name: 'A1' })
  await write('setFirmwareVersion', 'A', { version: '1.1' })
  await write('setFirmwareVersion', 'B', { version: '1.1' })
  await write('setDescription', 'B', { description: 'Pump' })
  await write('setDescription', 'C', { description: 'Pump' })
  await write('setManagementState', 'G', { state_value: 'regarded' })
  await write('setFirmwareVersion', 'H', { version: '1.0' })
  await connect('D', 'F', at(1))
  await endRelationsAt(hub, early, at(1))
  const query = { by: 'subnet', since: at(30), changeKinds: true } as const
  const { data: top } = await admin.inventory.readTopologyGroups({ query })
  const kinds = { firmware: 2, software: 1, name: 1, connection: 3, state: 1, other: 1 }
  assert.deepEqual([top.total.changes, top.total.changeKinds], [{ added: 1, changed: 5, removed: 0 }, kinds])
  assert.deepEqual(top.groups[0]?.changeKinds, kinds)
  const { data: inside } = await admin.inventory.readTopologyGroups({ query: { ...query, parent: 'rest' } })
  assert.deepEqual(
    inside.assets.map(({ name, change = '-', changed = [] }) => `${name} ${change} ${changed.join(' ')}`.trim()),
    [
      'A1 changed connection firmware name',
      'B changed firmware',
      'C changed other',
      'D - connection',
      'E - connection',
      'F added',
      'G changed state',
      'H changed software',
    ],
  )
  const past = { by: 'subnet', since: at(30), at: at(20), changeKinds: true } as const
  const { data: before } = await admin.inventory.readTopologyGroups({ query: past })
  assert.deepEqual(before.total.changeKinds, { firmware: 0, software: 0, name: 0, connection: 0, state: 0, other: 0 })
  const { data: plain } = await admin.inventory.readTopologyGroups({ query: { by: 'subnet', since: at(30) } })
  assert.equal(plain.total.changeKinds, undefined)
})

test('returns every switch with the switch above it, and counts the assets that are connected to each', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const connections: Record<string, string[]> = { SWB: ['SWA'], D1: ['SWA'], D2: ['SWA'], D3: ['SWB'], D4: ['SWB'] }
  const assetNames = ['SWA', ...Object.keys(connections)]
  const { data } = await admin.inventory.createAssets({
    headers: { prefer: 'wait=30' },
    body: {
      data: {
        assets: assetNames.map((name) => ({
          functional_object_type: 'Device',
          functional_object_schema_url: baseSchemaUrl,
          name,
          asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'test', value: v7() }],
        })),
      },
    },
  })
  const results = data.detail?.result as { assetId: string }[]
  const idOf = (name: string) => results[assetNames.indexOf(name)]?.assetId ?? ''
  const edges = Object.entries(connections).flatMap(([name, others]) =>
    others.map((other): Edge => [asset(idOf(name)), 'is_connected_to', asset(idOf(other))]),
  )
  await createRelations(hub, edges)
  const { data: top } = await admin.inventory.readTopologyGroups({ query: { by: 'switch', allSwitches: true } })
  const root = top.groups.find(({ parent }) => parent === undefined)
  const below = top.groups.find(({ parent }) => parent !== undefined)
  assert.deepEqual(
    top.groups.map(({ name, assets, self }) => `${name} ${assets} ${self?.monitoring}`),
    ['SWA 3 unmonitored', 'SWB 3 unmonitored'],
  )
  assert.deepEqual([below?.parent, root?.children, top.edges.length], [root?.key, 1, 1])
})

/** Returns the address of a device. Two devices are in each subnet. */
const addressOf = (index: number) => `10.0.${Math.floor(index / 2)}.1`

type NewDevice = { name: string; address: string; fields: Record<string, unknown> }

/** Creates devices, and returns their ids. */
async function createDevices(admin: TestCaller, devices: readonly NewDevice[]): Promise<string[]> {
  const { data } = await admin.inventory.createAssets({
    headers: { prefer: 'wait=30' },
    body: {
      data: {
        assets: devices.map(({ name, address, fields }) => ({
          functional_object_type: 'Device',
          functional_object_schema_url: baseSchemaUrl,
          name,
          asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'test', value: v7() }],
          connection_points: [{ connection_point_type: 'Ipv4Connectivity', id: 'x1', ipv4_address: address }],
          ...fields,
        })),
      },
    },
  })
  assert.equal(data.state, 'finished', JSON.stringify(data))
  return ((data.detail?.result ?? []) as { assetId: string }[]).map(({ assetId }) => assetId)
}

test('counts the assets with older firmware than the newest known version of their product, now only', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const versions: Record<string, string | undefined> = { D1: '1.9', D2: '1.10', D3: 'V1.10.0', D4: undefined }
  const devices = Object.entries(versions).map(([name, version], index) => ({
    name,
    address: addressOf(index),
    fields: {
      product_instance_information: {
        manufacturer_product: { product_id: 'P1', manufacturer: { name: 'Example' } },
      },
      ...(version === undefined
        ? {}
        : {
            software_components: [
              {
                software_component_type: 'SoftwareArtifactComponent',
                artifact: {
                  functional_object_type: 'SoftwareArtifact',
                  functional_object_schema_url: baseSchemaUrl,
                  asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version }],
                  is_firmware: true,
                },
              },
            ],
          }),
    },
  }))
  await createDevices(admin, devices)
  const query = { by: 'subnet' } as const
  const { data: top } = await admin.inventory.readTopologyGroups({ query })
  assert.deepEqual(
    top.groups.map(({ name, assets, outdated }) => [name, assets, outdated]),
    [
      ['10.0.0.0/24', 2, 1],
      ['10.0.1.0/24', 2, 0],
    ],
  )
  assert.equal(top.total.outdated, 1)
  const { data: inside } = await admin.inventory.readTopologyGroups({ query: { ...query, parent: '10.0.0.0/24' } })
  assert.deepEqual(
    inside.assets.map(({ name, outdated }) => [name, outdated]),
    [
      ['D1', true],
      ['D2', undefined],
    ],
  )
  const { data: map } = await admin.inventory.readTopologyMap({ query })
  assert.equal(map.total.outdated, 1)
  const at = new Date().toISOString()
  const { data: earlier } = await admin.inventory.readTopologyGroups({ query: { ...query, at } })
  assert.deepEqual([earlier.total.assets, earlier.total.outdated], [4, 0])
})

test('counts the assets in operating mode stop, now and at an earlier time', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const modes: Record<string, string | undefined> = { PLC1: 'stop', PLC2: 'run', HMI1: undefined }
  const devices = Object.entries(modes).map(([name, mode], index) => ({
    name,
    address: addressOf(index),
    fields: {
      ...(mode !== undefined && { operating_mode: { mode_name: mode } }),
    },
  }))
  await createDevices(admin, devices)
  const query = { by: 'subnet' } as const
  const { data: top } = await admin.inventory.readTopologyGroups({ query })
  assert.deepEqual(
    top.groups.map(({ name, assets, stopped }) => [name, assets, stopped]),
    [
      ['10.0.0.0/24', 2, 1],
      ['10.0.1.0/24', 1, 0],
    ],
  )
  assert.equal(top.total.stopped, 1)
  const { meta } = await admin.inventory.listAssets({ query: { filter: "operating_mode/mode_name eq 'stop'" } })
  assert.equal(meta.totalElements, top.total.stopped)
  const { data: inside } = await admin.inventory.readTopologyGroups({ query: { ...query, parent: '10.0.0.0/24' } })
  assert.deepEqual(
    inside.assets.map(({ name, stopped }) => [name, stopped]),
    [
      ['PLC1', true],
      ['PLC2', undefined],
    ],
  )
  const { data: map } = await admin.inventory.readTopologyMap({ query })
  assert.equal(map.total.stopped, 1)
  const at = new Date().toISOString()
  const stoppedId = inside.assets[0]?.id ?? ''
  await applyWrite(admin, 'setDescription', { params: { id: stoppedId }, body: { data: { description: 'Pump' } } })
  const { data: earlier } = await admin.inventory.readTopologyGroups({ query: { ...query, at } })
  assert.equal(earlier.total.stopped, 1)
})

test('counts the assets in stop that were reached in the last 24 hours, now and at an earlier time', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const devices = ['PLC1', 'PLC2', 'PLC3', 'PLC4'].map((name) => ({
    name,
    address: addressOf(0),
    fields: { operating_mode: { mode_name: name === 'PLC4' ? 'run' : 'stop' } },
  }))
  const [, reached = '', old = '', running = ''] = await createDevices(admin, devices)
  for (const id of [reached, old, running])
    await applyWrite(admin, 'setReachabilityState', { params: { id }, body: { data: { state_value: 'reached' } } })
  await hub.context.database.transaction(hub.tenant, (tx) =>
    tx.run(
      statement(
        `update assets set reachability_state_at = now() - interval '25 hours' where tenant_id = $1 and id = $2::uuid`,
      ),
      old,
    ),
  )
  const query = { by: 'subnet' } as const
  const { data: top } = await admin.inventory.readTopologyGroups({ query })
  assert.deepEqual([top.total.stopped, top.total.stoppedRead, top.groups[0]?.stoppedRead], [3, 1, 1])
  const { data: inside } = await admin.inventory.readTopologyGroups({ query: { ...query, parent: '10.0.0.0/24' } })
  assert.deepEqual(
    inside.assets.map(({ name, stopped, stoppedRead }) => [name, stopped, stoppedRead]),
    [
      ['PLC1', true, undefined],
      ['PLC2', true, true],
      ['PLC3', true, undefined],
      ['PLC4', undefined, undefined],
    ],
  )
  const { data: map } = await admin.inventory.readTopologyMap({ query })
  assert.equal(map.total.stoppedRead, 1)
  const at = new Date().toISOString()
  await applyWrite(admin, 'setDescription', { params: { id: reached }, body: { data: { description: 'Pump' } } })
  const { data: earlier } = await admin.inventory.readTopologyGroups({ query: { ...query, at } })
  assert.deepEqual([earlier.total.stopped, earlier.total.stoppedRead], [3, 1])
})

test('a map without the parent of a group shows and counts the group at the top', () => {
  const none = { name: null, type: null, family: null, product: null, tag: null, management: null }
  const counted = {
    reachability: null,
    change: null,
    count: 1,
    added: 0,
    changed: 0,
    addressed: 0,
    outdated: 0,
    stopped: 0,
    stopped_read: 0,
    reachable: 0,
    unchecked: 0,
  }
  const row = { kind: 'asset', key: 'a1', other: 'inner', ...none, ...counted } as const
  const tree = [{ key: 'inner', name: 'Inner', parent: 'cut off' }]
  const map = mapOf({ kind: 'switch', tree, rows: [row], truncated: true })
  assert.deepEqual([map.total.assets, map.groups.map(({ name }) => name)], [1, ['Inner']])
})

describe('tree of switches', () => {
  const of = (id: string, connections = 3) => ({ id, name: id, connections })

  test('has one root for each network, and the shortest path to it', () => {
    const tree = networkTree(
      [of('a'), of('b', 9), of('c'), of('d'), of('x')],
      [
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'd'],
        ['d', 'b'],
      ],
    )
    assert.deepEqual(tree.roots, ['b', 'x'])
    assert.deepEqual(switchesBelow(tree, 'b').toSorted(), ['a', 'b', 'c', 'd'])
    assert.deepEqual(pathToSwitch(tree, 'd'), ['b', 'd'])
  })
})
