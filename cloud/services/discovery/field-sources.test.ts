import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { enrolledGateway, foundDevice, linkReport, runScan, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const links = {
  'ip-scan': 'millwright.links.ip-scan',
  snmp: 'millwright.links.snmp',
  opcua: 'millwright.links.opcua',
  foreign: 'example.cdm.al.reference',
} as const
type Link = keyof typeof links
type Reachability = { state_value: string }

describe('sources of fields', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  const jobs = new Map<Link, string>()
  let device = 0

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gateway = await enrolledGateway(hub, admin)
    const reports = Object.entries(links).map(([name, deviceClass]) =>
      linkReport({ appInstanceId: name, deviceClass, options: [] }),
    )
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: reports } } })
  })
  after(() => hub[Symbol.asyncDispose]())

  /** Runs a scan of a link that finds these devices. Returns how many devices it created, updated and left unchanged. */
  const scan = async (link: Link, ...assets: Record<string, unknown>[]) => {
    const existing = jobs.get(link)
    const jobId = existing ?? (await createDiscovery(link))
    if (existing !== undefined) await admin.discovery.runDiscovery({ params: { jobId } })
    const ended = await runScan({ hub, admin, gateway, jobId, assets })
    return { new: ended.created, changed: ended.updated, unchanged: ended.unchanged }
  }
  const createDiscovery = async (link: Link) => {
    const created = await admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId: link } },
    })
    jobs.set(link, created.jobId)
    return created.jobId
  }

  const changed = { new: 0, changed: 1, unchanged: 0 }
  const unchanged = { new: 0, changed: 0, unchanged: 1 }

  /** Returns functions for a new device: what a link reports about it, and the id of its asset. */
  const newDevice = () => {
    device += 1
    const { functional_object_type, asset_identifiers } = foundDevice(device)
    const mac = `02:00:00:00:00:${device.toString(16).padStart(2, '0')}`
    const at = (fields: Record<string, unknown>) => ({ functional_object_type, asset_identifiers, ...fields })
    return { mac, at, id: () => idOf(mac) }
  }
  const idOf = async (mac: string) => {
    const { data } = await admin.inventory.listAssets({
      query: { filter: `asset_identifiers/any(i: i/value eq '${mac}')` },
    })
    assert.equal(data.length, 1, 'one asset has the MAC address')
    return String(data[0]?.id)
  }
  const read = async (id: string) => (await admin.inventory.readAsset({ params: { id } })).data
  const historyOf = async (id: string) => (await admin.inventory.readHistory({ params: { id } })).data
  const sourcesOf = async (id: string) => (await admin.inventory.readFieldSources({ params: { id } })).data
  const rename = async (id: string, name: string) => {
    await admin.inventory.setName({ params: { id }, body: { data: { name } } })
    await hub.settle()
  }

  type Step = [source: Link | 'edit', name: string]
  const rule: { title: string; steps: Step[]; winner: Step }[] = [
    {
      title: 'specific after generic',
      steps: [
        ['ip-scan', 'a'],
        ['snmp', 'b'],
      ],
      winner: ['snmp', 'b'],
    },
    {
      title: 'generic after specific',
      steps: [
        ['snmp', 'a'],
        ['ip-scan', 'b'],
      ],
      winner: ['snmp', 'a'],
    },
    {
      title: 'unknown link after generic',
      steps: [
        ['ip-scan', 'a'],
        ['foreign', 'b'],
      ],
      winner: ['foreign', 'b'],
    },
    {
      title: 'generic after unknown link',
      steps: [
        ['foreign', 'a'],
        ['ip-scan', 'b'],
      ],
      winner: ['foreign', 'a'],
    },
    {
      title: 'specific after unknown link',
      steps: [
        ['foreign', 'a'],
        ['snmp', 'b'],
      ],
      winner: ['snmp', 'b'],
    },
    {
      title: 'unknown link after specific',
      steps: [
        ['snmp', 'a'],
        ['foreign', 'b'],
      ],
      winner: ['snmp', 'a'],
    },
    {
      title: 'newer after older',
      steps: [
        ['snmp', 'a'],
        ['opcua', 'b'],
      ],
      winner: ['opcua', 'b'],
    },
    {
      title: 'newer of the same link',
      steps: [
        ['snmp', 'a'],
        ['snmp', 'b'],
      ],
      winner: ['snmp', 'b'],
    },
    {
      title: 'repeated older value after newer',
      steps: [
        ['snmp', 'a'],
        ['opcua', 'b'],
        ['snmp', 'a'],
      ],
      winner: ['opcua', 'b'],
    },
    {
      title: 'changed value after newer',
      steps: [
        ['snmp', 'a'],
        ['opcua', 'b'],
        ['snmp', 'c'],
      ],
      winner: ['snmp', 'c'],
    },
    {
      title: 'equal value of two links, then a change by one of them',
      steps: [
        ['snmp', 'a'],
        ['opcua', 'a'],
        ['snmp', 'b'],
        ['opcua', 'a'],
      ],
      winner: ['snmp', 'b'],
    },
    {
      title: 'scan after an edit',
      steps: [
        ['snmp', 'a'],
        ['edit', 'b'],
        ['snmp', 'c'],
      ],
      winner: ['edit', 'b'],
    },
    {
      title: 'other link after an edit',
      steps: [
        ['ip-scan', 'a'],
        ['edit', 'b'],
        ['snmp', 'c'],
      ],
      winner: ['edit', 'b'],
    },
  ]
  test('uses the value of the winning source of a field', async () => {
    const rows = rule.map((row) => ({ ...row, ...newDevice() }))
    // Each step of all rows is one scan per link, because a scan takes a while.
    for (const index of [0, 1, 2, 3]) {
      const steps = rows.flatMap(({ steps, at, id }) => steps.slice(index, index + 1).map((step) => ({ step, at, id })))
      for (const { step, id } of steps) if (step[0] === 'edit') await rename(await id(), step[1])
      for (const link of Object.keys(links) as Link[]) {
        const assets = steps.flatMap(({ step, at }) => (step[0] === link ? [at({ name: step[1] })] : []))
        if (assets.length > 0) await scan(link, ...assets)
      }
    }
    const results: unknown[] = []
    for (const { title, id } of rows) {
      const assetId = await id()
      const shown = (await sourcesOf(assetId)).find(({ field }) => field === '/name')
      results.push([title, shown?.source, (await read(assetId)).name])
    }
    const expected = rule.map(({ title, winner: [source, name] }) => [
      title,
      source === 'edit' ? 'manual' : links[source],
      name,
    ])
    assert.deepEqual(results, expected)
  })

  const genericFields = (mac: string) => ({
    name: 'host-7.plant.example',
    product_instance_information: { manufacturer_product: { manufacturer: { name: 'Maker of the network card' } } },
    connection_points: points(mac, { id: 'network', address: '10.7.0.7' }),
    software_components: [],
  })
  const specificFields = (mac: string) => ({
    name: 'switch-7',
    description: 'Managed switch',
    product_instance_information: {
      serial_number: 'S-7',
      manufacturer_product: { manufacturer: { name: 'Maker of the switch' }, product_id: 'X200' },
    },
    connection_points: [
      ...points(mac, { id: 'port-1', address: '10.7.0.7', network_mask: '255.255.255.0' }),
      { connection_point_type: 'EthernetPort', id: 'port-2', name: 'port-2', mac_address: mac },
    ],
    software_components: [firmware('1.2')],
  })
  const points = (mac: string, { id, address, ...more }: { id: string; address: string; network_mask?: string }) => [
    { connection_point_type: 'EthernetPort', id, name: id, mac_address: mac },
    {
      connection_point_type: 'Ipv4Connectivity',
      id: `${id}-ipv4`,
      ipv4_address: address,
      ...more,
      related_connection_points: [{ connection_point_id: id, custom_relationship: 'Relies on' }],
    },
  ]
  const firmware = (version: string) => ({
    software_component_type: 'SoftwareArtifactComponent',
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      functional_object_schema_url: baseSchemaUrl,
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version }],
      is_firmware: true,
    },
  })
  type Points = { id: string; ipv4_address?: string; network_mask?: string; mac_address?: string }[]
  const pointsOf = (asset: Record<string, unknown>) => asset.connection_points as Points
  const eventsAbout = async (id: string) => {
    let count = 0
    for (let after = 0; ; ) {
      const { data, meta } = await admin.events.listEvents({ query: { after, limit: 100 } })
      count += data.filter(({ subject }) => subject === `asset/${id}`).length
      if (data.length < 100) return count
      after = meta.lastPosition
    }
  }

  for (const order of [
    ['ip-scan', 'snmp'],
    ['snmp', 'ip-scan'],
  ] as const) {
    test(
      `makes one asset of a device that two links find, first ${order[0]}, and changes nothing in a second scan`,
      order[0] === 'snmp' ? onlyInLongRuns : {},
      async () => {
        const { mac, at, id } = newDevice()
        const reports = { 'ip-scan': at(genericFields(mac)), snmp: at(specificFields(mac)) }
        for (const link of order) await scan(link, reports[link])
        const assetId = await id()
        const asset = await read(assetId)
        assert.equal(asset.name, 'switch-7')
        assert.deepEqual(asset.product_instance_information, specificFields(mac).product_instance_information)
        assert.equal((asset.software_components as unknown[]).length, 1)
        assert.equal(pointsOf(asset).length, 3, 'the links report the same port and address')
        assert.deepEqual(
          pointsOf(asset).flatMap(({ network_mask }) => network_mask ?? []),
          ['255.255.255.0'],
        )
        const ids = pointsOf(asset).map((point) => point.id)
        assert.equal(new Set(ids).size, 3)
        const { data: relations } = await admin.inventory.listAssetRelations({ params: { id: assetId }, query: {} })
        assert.deepEqual(relations.map(({ predicate }) => predicate).toSorted(), [
          'found_by_asset_link',
          'found_by_asset_link',
          'found_by_gateway',
        ])

        const [history, events] = [await historyOf(assetId), await eventsAbout(assetId)]
        for (const link of [...order, ...order.toReversed()])
          assert.deepEqual(await scan(link, reports[link]), unchanged)
        assert.deepEqual(await historyOf(assetId), history)
        assert.equal(await eventsAbout(assetId), events)
        // Only the time at which the device was last seen changes.
        const { reachability_state: seen, ...others } = await read(assetId)
        const { reachability_state: seenBefore, ...othersBefore } = asset
        assert.deepEqual(others, othersBefore)
        assert.equal((seen as Reachability).state_value, (seenBefore as Reachability).state_value)
      },
    )
  }

  test('shows in the history which link wrote a change, and which values were not used', async () => {
    const { mac, at, id } = newDevice()
    await scan('snmp', at(specificFields(mac)))
    await scan(
      'ip-scan',
      at({ ...genericFields(mac), location: [{ location_type: 'Okz', location_identifier: 'H1' }] }),
    )
    const assetId = await id()
    const [latest, first] = await historyOf(assetId)
    assert.deepEqual(latest?.source, { type: 'discovery', value: links['ip-scan'] })
    assert.deepEqual(latest?.overruled, [
      { field: '/name', source: links.snmp },
      { field: '/product_instance_information/manufacturer_product/manufacturer', source: links.snmp },
      { field: '/connection_points', source: links.snmp },
    ])
    assert.equal(first?.overruled, undefined)
    const sources = await sourcesOf(assetId)
    const manufacturer = sources.find(({ field }) => field.endsWith('/manufacturer'))
    assert.equal(manufacturer?.source, links.snmp)
    assert.deepEqual(
      manufacturer?.others.map(({ source, value }) => ({ source, value })),
      [{ source: links['ip-scan'], value: { name: 'Maker of the network card' } }],
    )
    assert.equal(sources.find(({ field }) => field === '/location/0')?.source, links['ip-scan'])
  })

  test('removes an entry of a list when no link reports it', async () => {
    const { mac, at, id } = newDevice()
    const withAddress = (address: string) => at({ connection_points: points(mac, { id: 'eth0', address }) })
    const addresses = async () => pointsOf(await read(await id())).flatMap(({ ipv4_address }) => ipv4_address ?? [])
    await scan('snmp', withAddress('10.7.1.1'))
    await scan('ip-scan', withAddress('10.7.1.1'))
    await scan('snmp', withAddress('10.7.1.2'))
    assert.deepEqual(await addresses(), ['10.7.1.1', '10.7.1.2'], 'one link still reports the old address')
    await scan('ip-scan', withAddress('10.7.1.2'))
    assert.deepEqual(await addresses(), ['10.7.1.2'])
  })

  test('ignores the report of a link that has not found the device for more than 30 days', async () => {
    const { mac, at, id } = newDevice()
    await scan('snmp', at(specificFields(mac)))
    await scan('ip-scan', at(genericFields(mac)))
    const assetId = await id()
    assert.equal((await read(assetId)).name, 'switch-7')
    const last = new Date(Date.now() - 31 * 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
    const path = [`${links.snmp} ${gateway.id}`, 'seen']
    await hub.asOwner((owner) =>
      owner.query(
        'update assets set field_sources = jsonb_set(field_sources::jsonb, $2, to_jsonb($3::text), false)::json where id = $1',
        [assetId, path, last],
      ),
    )
    await scan('ip-scan', at(genericFields(mac)))
    const asset = await read(assetId)
    assert.equal(asset.name, 'host-7.plant.example')
    assert.equal(pointsOf(asset).length, 2, 'the second port was reported only by the old report')
    assert.equal(asset.description, 'Managed switch', 'a field that the new report does not contain stays')
  })

  test('replaces the fields of an asset that a client created, and keeps the edits of a person after that', async () => {
    const { at, id } = newDevice()
    const product = (serial: string) => ({ product_instance_information: { serial_number: serial } })
    const asset = at({ name: 'Pump 1', description: 'Main pump', ...product('old') })
    await admin.inventory.createAsset({ body: { data: { asset } } })
    await hub.settle()
    const found = at({ name: 'plc-1', description: 'PLC', ...product('new') })
    assert.deepEqual(await scan('snmp', found), changed)
    const fields = async () => {
      const { name, description, product_instance_information } = await read(await id())
      return { name, description, product_instance_information }
    }
    const { functional_object_type: _, asset_identifiers: __, ...foundFields } = found
    assert.deepEqual(await fields(), foundFields)

    await admin.inventory.createAsset({ body: { data: { asset } } })
    await hub.settle()
    assert.deepEqual(await scan('snmp', found), changed)
    assert.deepEqual(await fields(), { name: 'Pump 1', description: 'Main pump', ...product('new') })
    assert.deepEqual(await scan('snmp', found), unchanged)
  })

  test('writes a description by scans again after a person cleared it', async () => {
    const { at, id } = newDevice()
    await scan('snmp', at({ name: 'a', description: 'found' }))
    const params = { id: await id() }
    const edit = async (description: string | null) => {
      await admin.inventory.setDescription({ params, body: { data: { description } } })
      await hub.settle()
      await scan('snmp', at({ name: 'a', description: 'found' }))
      return (await read(params.id)).description
    }
    assert.equal(await edit('edited'), 'edited')
    assert.equal(await edit(null), 'found')
  })

  test('replaces all fields of an asset that scans found before reports were stored', async () => {
    const { at, id } = newDevice()
    await scan('snmp', at({ name: 'a' }))
    const assetId = await id()
    await hub.asOwner((owner) => owner.query('update assets set field_sources = null where id = $1', [assetId]))
    assert.deepEqual(await sourcesOf(assetId), [])
    assert.deepEqual(await scan('ip-scan', at({ name: 'b' })), changed)
    assert.equal((await read(assetId)).name, 'b')
  })

  test('keeps the reports about both assets of a merge, and restores them when the merge is undone', async () => {
    const [one, other] = [newDevice(), newDevice()]
    await scan('snmp', one.at({ name: 'one' }))
    await scan('ip-scan', other.at({ name: 'other', description: 'found' }))
    const [id, otherId] = [await one.id(), await other.id()]
    const before = [await sourcesOf(id), await sourcesOf(otherId)]
    await admin.inventory.mergeAsset({ params: { id }, body: { data: { other: otherId } } })
    await hub.settle()
    assert.deepEqual(
      (await sourcesOf(id)).filter(({ field }) => /name|description/.test(field)).map(({ source }) => source),
      [links.snmp, links['ip-scan']],
    )
    assert.deepEqual(await scan('ip-scan', other.at({ name: 'other', description: 'found' })), unchanged)
    const { data: merges } = await admin.inventory.listMerges({ params: { id }, query: {} })
    await admin.inventory.undoMerge({ params: { id, mergeId: merges[0]?.id ?? '' } })
    await hub.settle()
    assert.deepEqual([await sourcesOf(id), await sourcesOf(otherId)], before)
  })

  test('replaces the copied name of an asset that was split off, and keeps a name that a person gave', async () => {
    for (const [name, expected] of [
      [undefined, 'b'],
      ['Pump 2', 'Pump 2'],
    ] as const) {
      const [one, other] = [newDevice(), newDevice()]
      const both = { asset_identifiers: [one, other].flatMap(({ at }) => at({}).asset_identifiers) }
      await scan('snmp', { ...one.at({ name: 'a' }), ...both })
      const id = await one.id()
      const identifiers = other.at({}).asset_identifiers as Record<string, unknown>[]
      await admin.inventory.splitAsset({
        params: { id },
        body: { data: { identifiers, ...(name === undefined ? {} : { name }) } },
      })
      await hub.settle()
      await scan('snmp', other.at({ name: 'b' }))
      assert.equal((await read(await other.id())).name, expected)
      assert.equal((await read(id)).name, 'a')
    }
  })

  test('hides the names and the unused values of links that the caller cannot read', async () => {
    const { at, id } = newDevice()
    await scan('opcua', at({ name: 'by opcua' }))
    await scan('snmp', at({ name: 'by snmp', description: 'by snmp' }))
    const assetId = await id()
    const { data: hidden } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hidden links' } } })
    const { data: found } = await admin.inventory.listRelations({
      query: { filter: `subject.id eq '${assetId}' and predicate eq 'found_by_asset_link'` },
    })
    const snmp = found.find(({ source }) => source.value === links.snmp)?.object.id ?? ''
    await admin.inventory.setAccessGroup({ params: { id: snmp }, body: { data: { access_group: hidden.id } } })
    await hub.settle()
    const { data: groups } = await admin.authorization.listAccessGroups({})
    const accessGroupId = groups.find(({ name }) => name === 'default')?.id ?? ''
    const reader = await createCaller(hub, [{ permissions: ['inventory_read_asset_data'], accessGroupId }])
    const shown = async (caller: TestCaller) =>
      (await caller.inventory.readFieldSources({ params: { id: assetId } })).data
        .filter(({ field }) => field === '/name' || field === '/description')
        .map(({ field, source, others }) => [field, source, others.map((other) => other.value)])
    assert.deepEqual(await shown(admin), [
      ['/name', links.snmp, ['by opcua']],
      ['/description', links.snmp, []],
    ])
    assert.deepEqual(await shown(reader), [
      ['/name', 'hidden link', ['by opcua']],
      ['/description', 'hidden link', []],
    ])
    await scan('opcua', at({ name: 'again by opcua' }))
    await scan('snmp', at({ name: 'again by snmp' }))
    await scan('opcua', at({ name: 'last by opcua' }))
    assert.deepEqual((await shown(admin))[0], ['/name', links.opcua, ['again by snmp']])
    assert.deepEqual((await shown(reader))[0], ['/name', links.opcua, []])
  })
})
