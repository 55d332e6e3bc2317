import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type DeviceFacts, deviceAsset, isIdentified, relationTo } from './device-asset.ts'

const mac = '02:00:5E:00:00:01'
const typesOf = (facts: DeviceFacts) =>
  (deviceAsset(facts).asset_identifiers as { asset_identifier_type: string }[]).map((one) => one.asset_identifier_type)

test('deviceAsset returns all identifiers in the order of their certainty', () => {
  const facts = { manufacturer: 'ACME', orderNumber: 'A-1', serialNumber: 'S7', macAddress: mac, certificateHash: 'ab' }
  assert.deepEqual(typesOf(facts), ['ProductInstanceIdentifier', 'MacIdentifier', 'CertificateIdentifier'])
  assert.deepEqual(typesOf({ serialNumber: 'S7' }), [], 'a serial number without a manufacturer is not unique')
  assert.deepEqual(typesOf({ manufacturer: 'ACME', serialNumber: ' ' }), [])
})

test('deviceAsset uses the product name as article number if there is no order number, and requires one of them', () => {
  const facts = { manufacturer: 'ACME', serialNumber: 'S7' }
  assert.equal(isIdentified(facts), false)
  const [identifier] = deviceAsset({ ...facts, orderNumber: ' ', product: 'Oven' }).asset_identifiers as object[]
  assert.deepEqual(identifier, {
    asset_identifier_type: 'ProductInstanceIdentifier',
    vendor: 'ACME',
    article_number: 'Oven',
    serial_number: 'S7',
  })
})

test('deviceAsset has the same serial number with and without the data identifier of labels', () => {
  const of = (serialNumber: string) => {
    const { asset_identifiers, product_instance_information } = deviceAsset({
      ...{ manufacturer: 'Siemens', orderNumber: '6ES7 516-3FN02-0AB0', serialNumber },
    })
    return { asset_identifiers, product_instance_information }
  }
  assert.deepEqual(of('S C-X1234567'), of('C-X1234567'))
  assert.notDeepEqual(of('S 1'), of('1'), 'a short serial number can start with S')
})

test('deviceAsset does not identify a device by a placeholder', () => {
  const placeholders = ['0', '00000000', 'N/A', 'n/a', 'none', 'Unknown', '-', '???', 'FFFFFFFF', 'Not available']
  for (const serialNumber of placeholders)
    assert.equal(isIdentified({ manufacturer: 'ACME', product: 'A', serialNumber }), false, serialNumber)
  for (const serialNumber of ['1', 'S C-B1U71234', '100', 'F00', 'NONE-1'])
    assert.equal(isIdentified({ manufacturer: 'ACME', product: 'A', serialNumber }), true, serialNumber)
  for (const macAddress of ['', '00:00:00:00:00:00', 'FF:FF:FF:FF:FF:FF', '01:00:5E:00:00:01', '02:00:5E', 'eth0'])
    assert.equal(isIdentified({ macAddress }), false, macAddress)
  for (const macAddress of [mac, '02-00-5e-00-00-01']) assert.equal(isIdentified({ macAddress }), true, macAddress)
})

test('deviceAsset returns each interface once, with all its IP addresses', () => {
  const interfaces = [
    { name: 'eth0', macAddress: mac, ipAddress: '10.0.0.1' },
    { name: 'eth0', macAddress: mac, ipAddress: '10.0.0.2', networkMask: '255.255.255.0' },
    { name: 'tun0', ipAddress: '10.8.0.1' },
    { name: 'eth1', macAddress: '02:00:5E:00:00:02' },
  ]
  const points = deviceAsset({ interfaces }).connection_points as Record<string, unknown>[]
  assert.deepEqual(
    points.map(({ id, mac_address, related_connection_points }) => [id, mac_address, related_connection_points]),
    [
      ['eth0', mac, undefined],
      ['eth1', '02:00:5E:00:00:02', undefined],
      ['eth0-ipv4-10.0.0.1', undefined, [{ connection_point_id: 'eth0', custom_relationship: 'Relies on' }]],
      ['eth0-ipv4-10.0.0.2', undefined, [{ connection_point_id: 'eth0', custom_relationship: 'Relies on' }]],
      ['tun0-ipv4-10.8.0.1', undefined, []],
    ],
  )
})

test('deviceAsset adds firmware, location and further fields', () => {
  const asset = deviceAsset({
    firmwareVersion: '1.2',
    location: 'Hall 3',
    more: { asset_relations: [relationTo('is_connected_to', mac)] },
  })
  assert.match(JSON.stringify(asset.software_components), /"name":"Firmware","version":"1.2"/)
  assert.deepEqual(asset.location, [{ location_type: 'Okz', location_identifier: 'Hall 3' }])
  assert.match(JSON.stringify(asset.asset_relations), /is_connected_to.*object.*02:00:5E:00:00:01/)
  assert.deepEqual(deviceAsset({}).software_components, [])
})

test('deviceAsset accepts any text, and connection points have unique ids', () => {
  const text = fc.option(fc.string({ maxLength: 20 }), { nil: undefined })
  const facts = fc.record({
    name: text,
    manufacturer: text,
    serialNumber: text,
    macAddress: text,
    firmwareVersion: text,
    interfaces: fc.uniqueArray(fc.record({ name: fc.string(), macAddress: text, ipAddress: fc.ipV4() }), {
      selector: ({ name, ipAddress }) => `${name} ${ipAddress}`,
    }),
  })
  fc.assert(
    fc.property(facts, (device) => {
      const asset = deviceAsset(device)
      const ids = (asset.connection_points as { connection_point_type: string; id: string }[]).map(
        ({ connection_point_type, id }) => `${connection_point_type} ${id}`,
      )
      assert.equal(new Set(ids).size, ids.length)
      assert.equal((asset.asset_identifiers as unknown[]).length > 0, isIdentified(device))
    }),
  )
})
