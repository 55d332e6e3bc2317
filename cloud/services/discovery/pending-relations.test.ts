import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { enrolledGateway, foundDevice, linkReport, runScan, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const links = { 'ip-scan': 'millwright.links.ip-scan', snmp: 'millwright.links.snmp' } as const
type Link = keyof typeof links

const mac = (number: number) => `02:00:00:00:00:${number.toString(16).padStart(2, '0')}`
const macIdentifier = (number: number) => ({ asset_identifier_type: 'MacIdentifier', mac_address: mac(number) })

/** A cable to a device. The device is one of the MAC addresses. */
const cableTo = (...numbers: number[]) => ({
  predicate: 'is_connected_to',
  relational_role_of_related_asset: 'object',
  is_bidirectional: true,
  related_asset: { asset_identifiers: numbers.map(macIdentifier) },
})
const moduleOf = (number: number) => ({
  predicate: 'is_module_of',
  relational_role_of_related_asset: 'object',
  related_asset: { asset_identifiers: [macIdentifier(number)] },
})

describe('relations to devices that are found later', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  let other: TestGateway
  let last = 0

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gateway = await gatewayWithLinks('line 1')
    other = await gatewayWithLinks('line 2')
  })
  after(() => hub[Symbol.asyncDispose]())

  const gatewayWithLinks = async (name: string) => {
    const created = await enrolledGateway(hub, admin, { name })
    const reports = Object.entries(links).map(([appInstanceId, deviceClass]) =>
      linkReport({ appInstanceId, deviceClass, options: [] }),
    )
    await created.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: reports } } })
    return created
  }
  const scan = async (link: Link, assets: Record<string, unknown>[], by = gateway) => {
    const body = { data: { assetLinkId: link } }
    const { jobId } = await admin.discovery.createDiscovery({ params: { gatewayId: by.id }, body })
    return runScan({ hub, admin, gateway: by, jobId, assets })
  }
  const newNumbers = (count: number) => Array.from({ length: count }, () => (last += 1))
  const deviceWith = (number: number, ...relations: object[]) => foundDevice(number, { asset_relations: relations })
  const idOf = async (number: number) => {
    const filter = `asset_identifiers/any(i: i/value eq '${mac(number)}')`
    return String((await admin.inventory.listAssets({ query: { filter } })).data[0]?.id)
  }
  /** Returns the relations between two devices, with their sources. */
  const relationsBetween = async (one: number, another: number) => {
    const names = new Map([
      [await idOf(one), 'one'],
      [await idOf(another), 'another'],
    ])
    const { data } = await admin.inventory.listAssetRelations({ params: { id: await idOf(one) }, query: {} })
    return data
      .filter(({ subject, object }) => names.has(subject.id) && names.has(object.id))
      .map(({ subject, predicate, object, source }) => [
        `${names.get(subject.id)} ${predicate} ${names.get(object.id)}`,
        source.value,
      ])
      .toSorted()
  }
  const cable = [
    ['another is_connected_to one', links.snmp],
    ['one is_connected_to another', links.snmp],
  ]
  const pendingOf = async (number: number) => {
    const id = await idOf(number)
    const { rows } = await hub.asOwner((owner) =>
      owner.query('select key from pending_relations where asset_id = $1', [id]),
    )
    return rows.length
  }

  test('writes a cable when another link finds the device at its end, under any of its addresses', async () => {
    const [one = 0, another = 0, unknown = 0, missing = 0] = newNumbers(4)
    await scan('snmp', [deviceWith(one, cableTo(unknown, another), cableTo(missing))])
    assert.equal(await pendingOf(one), 3)
    await scan('ip-scan', [foundDevice(another)])
    assert.deepEqual(await relationsBetween(one, another), cable)
    assert.equal(await pendingOf(one), 1, 'only the device that was not found is left')
    await scan('snmp', [deviceWith(one, cableTo(unknown, another), cableTo(missing))])
    assert.deepEqual(await relationsBetween(one, another), cable)
  })

  test('writes the relation of a module that is reported before its device, also in one scan', async () => {
    const [one = 0, another = 0, third = 0] = newNumbers(3)
    await scan('snmp', [deviceWith(one, moduleOf(another))])
    await scan('snmp', [foundDevice(another), deviceWith(third, moduleOf(another))])
    assert.deepEqual(await relationsBetween(one, another), [['one is_module_of another', links.snmp]])
    assert.deepEqual(await relationsBetween(third, another), [['one is_module_of another', links.snmp]])
    assert.equal(await pendingOf(one), 0)
  })

  test('does not write a cable that a later scan does not report', async () => {
    const [one = 0, another = 0, third = 0] = newNumbers(3)
    await scan('snmp', [deviceWith(one, cableTo(another))])
    await scan('snmp', [deviceWith(one, cableTo(third))])
    await scan('ip-scan', [foundDevice(another), foundDevice(third)])
    assert.deepEqual(await relationsBetween(one, another), [])
    assert.deepEqual(await relationsBetween(one, third), cable)
  })

  test('does not write a cable that was reported more than 30 days ago', async () => {
    const [one = 0, another = 0] = newNumbers(2)
    await scan('snmp', [deviceWith(one, cableTo(another))])
    const id = await idOf(one)
    await hub.asOwner((owner) =>
      owner.query(`update pending_relations set reported_at = now() - interval '31 days' where asset_id = $1`, [id]),
    )
    await scan('ip-scan', [foundDevice(another)])
    assert.deepEqual(await relationsBetween(one, another), [])
  })

  test('writes a cable only when the gateway that reported it finds the device', async () => {
    const [one = 0, another = 0] = newNumbers(2)
    await scan('snmp', [deviceWith(one, cableTo(another))])
    await scan('ip-scan', [foundDevice(another)], other)
    assert.deepEqual(await relationsBetween(one, another), [])
    await scan('ip-scan', [foundDevice(another)])
    assert.deepEqual(await relationsBetween(one, another), cable)
  })

  test('forgets the cables of a deleted asset', async () => {
    const [one = 0, another = 0] = newNumbers(2)
    await scan('snmp', [deviceWith(one, cableTo(another))])
    await admin.inventory.deleteAssets({ body: { data: { ids: [await idOf(one)] } } })
    await hub.settle()
    await scan('ip-scan', [foundDevice(another)])
    const { data } = await admin.inventory.listAssetRelations({ params: { id: await idOf(another) }, query: {} })
    assert.deepEqual(
      data.filter(({ predicate }) => predicate === 'is_connected_to'),
      [],
    )
  })
})
