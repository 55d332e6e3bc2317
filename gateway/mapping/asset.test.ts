import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { assetSchema, baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import {
  type DiscoveredDevice,
  DiscoveredDeviceSchema,
  DiscoverResponseSchema,
} from '@millwright/api/proto/generated/discover_pb.js'
import type { DeviceIdentifierSchema } from '@millwright/api/proto/generated/identifiers_pb.js'
import { identifiersOf } from '@millwright/link-sdk/device-identifiers.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { assetOfDevice, assetOfDocument } from './asset.ts'
import { type Reading, readDiscovered } from './reading.ts'

const now = 'https://industrial-assets.io/schemas/iah/base-schema/released/v1/Device#'
const former = 'https://schema.industrial-assets.io/base/v0.12.0/Asset#'

type Init = MessageInitShape<typeof DeviceIdentifierSchema>
const at = (uri: string) => [{ type: 'URI', value: uri }]
const text = (uri: string, value: string): Init => ({ classifiers: at(uri), value: { case: 'text', value } })
const container = (uri: string, ...value: Init[]): Init => ({
  classifiers: at(uri),
  value: { case: 'children', value: { value } },
})
const mapped = (...identifiers: Init[]) => assetOfDevice(readingsOf(create(DiscoveredDeviceSchema, { identifiers })))

/** Returns the readings of a device, decoded from its bytes. */
function readingsOf(device: DiscoveredDevice): Reading[] {
  const bytes = toBinary(DiscoverResponseSchema, create(DiscoverResponseSchema, { devices: [device] }))
  return readDiscovered(Buffer.from(bytes)).devices[0]?.readings ?? []
}

const mac = container(
  `${now}asset_identifiers`,
  text(`${now}asset_identifiers/asset_identifier_type`, 'MacIdentifier'),
  text(`${now}asset_identifiers/mac_address`, '00:16:3e:00:00:00'),
)
const macIdentifier = { asset_identifier_type: 'MacIdentifier', mac_address: '00:16:3e:00:00:00' }

const isAsset = new Ajv2020({ strictTypes: false, allErrors: true }).compile(assetSchema)

describe('a device in the current schema', () => {
  test('maps a device in the current schema to an asset', () => {
    const { asset, faults } = mapped(
      text(`${now}name`, 'Simulated Device A0'),
      text(`${now}product_instance_information/serial_number`, 'SN123450000'),
      text(`${now}product_instance_information/manufacturer_product/manufacturer/name`, 'Works'),
      mac,
      container(
        `${now}connection_points`,
        text(`${now}connection_points/connection_point_type`, 'EthernetPort'),
        text(`${now}connection_points/mac_address`, '00:16:3e:00:00:00'),
        text(`${now}connection_points/id`, 'enp0'),
      ),
      container(
        `${now}connection_points`,
        text(`${now}connection_points/connection_point_type`, 'Ipv4Connectivity'),
        text(`${now}connection_points/ipv4_address`, '192.168.0.10'),
        container(
          `${now}connection_points/related_connection_points`,
          text(`${now}connection_points/related_connection_points/connection_point_id`, 'enp0'),
          text(`${now}connection_points/related_connection_points/custom_relationship`, 'Relies on'),
        ),
      ),
      container(
        `${now}asset_operations`,
        text(`${now}asset_operations/operation_name`, 'firmware_update'),
        text(`${now}asset_operations/activation_flag`, 'true'),
      ),
    )
    assert.deepEqual(faults, [])
    assert.deepEqual(asset, {
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name: 'Simulated Device A0',
      product_instance_information: {
        serial_number: 'SN123450000',
        manufacturer_product: { manufacturer: { name: 'Works' } },
      },
      asset_identifiers: [macIdentifier],
      connection_points: [
        { connection_point_type: 'EthernetPort', mac_address: '00:16:3e:00:00:00', id: 'enp0' },
        {
          connection_point_type: 'Ipv4Connectivity',
          ipv4_address: '192.168.0.10',
          related_connection_points: [{ connection_point_id: 'enp0', custom_relationship: 'Relies on' }],
        },
      ],
      asset_operations: [{ operation_name: 'FirmwareUpdate', activation_flag: true }],
    })
  })

  test('accepts list indexes that are unordered, not contiguous, nested or escaped', () => {
    const points = `${now}connection_points`
    const related = '/related_connection_points'
    const { asset, faults } = mapped(
      mac,
      container(
        points,
        text(`${points}[7]/connection_point_type`, 'EthernetPort'),
        text(`${points}[2]/connection_point_type`, 'Ipv4Connectivity'),
        text(`${points}%5B2%5D%2Fipv4_address`, '10.0.0.1'),
        text(`${points}[7]/mac_address`, '00-16-3e-00-00-00'),
        container(
          `${points}[2]${related}`,
          text(`${points}[2]${related}[5]/connection_point_id`, 'b'),
          text(`${points}[2]${related}[5]/custom_relationship`, 'Relies on'),
          text(`${points}[2]${related}[1]/connection_point_id`, 'a'),
          text(`${points}[2]${related}[1]/custom_relationship`, 'Relies on'),
        ),
      ),
    )
    assert.deepEqual(faults, [])
    assert.deepEqual(asset?.connection_points, [
      {
        connection_point_type: 'Ipv4Connectivity',
        ipv4_address: '10.0.0.1',
        related_connection_points: [
          { connection_point_id: 'a', custom_relationship: 'Relies on' },
          { connection_point_id: 'b', custom_relationship: 'Relies on' },
        ],
      },
      { connection_point_type: 'EthernetPort', mac_address: '00-16-3e-00-00-00' },
    ])
  })

  test('maps 64-bit integers, bytes and dictionary codes', () => {
    const slot = `${now}location`
    const { asset, faults } = mapped(
      mac,
      container(
        slot,
        text(`${slot}/location_type`, 'MountingLocation'),
        { classifiers: at(`${slot}/slot_number`), value: { case: 'uint64Value', value: 3n } },
        { classifiers: at(`${slot}/slot_name`), value: { case: 'uint64Value', value: 18446744073709551615n } },
      ),
      { classifiers: at(`${now}description`), value: { case: 'rawData', value: new Uint8Array([1, 2]) } },
      { classifiers: [{ type: 'IRDI', value: '0173-1#02-AAM556#004' }], value: { case: 'text', value: 'S-1' } },
    )
    assert.deepEqual(faults, [])
    assert.deepEqual(asset?.location, [
      { location_type: 'MountingLocation', slot_number: 3, slot_name: '18446744073709551615' },
    ])
    assert.equal(asset?.description, 'AQI=')
    assert.deepEqual(asset?.product_instance_information, { serial_number: 'S-1' })
  })

  test('leaves out an invalid field, and reports its pointer', () => {
    const { asset, faults } = mapped(
      mac,
      text(`${now}name`, 'Pump'),
      text(`${now}operating_mode/mode_name`, 'dancing'),
      container(
        `${now}connection_points`,
        text(`${now}connection_points/connection_point_type`, 'Ipv4Connectivity'),
        text(`${now}connection_points/ipv4_address`, '300.1.1.1'),
      ),
      container(
        `${now}asset_operations`,
        text(`${now}asset_operations/operation_name`, 'Backup'),
        text(`${now}asset_operations/activation_flag`, 'perhaps'),
      ),
      container(`${now}location`, text(`${now}location/location_type`, 'Moon')),
    )
    assert.equal(asset?.name, 'Pump')
    assert.deepEqual(
      faults.map(({ pointer }) => pointer),
      [
        '/operating_mode/mode_name',
        '/connection_points/0/ipv4_address',
        '/asset_operations/0/activation_flag',
        '/location/0/location_type',
      ],
    )
    assert.ok(isAsset(asset))
  })

  test('stores fields of an extended schema as annotations, and drops fields below meta', () => {
    const sat = 'https://schema.industrial-assets.io/sat/v0.8.2/SatController#'
    const { asset, faults } = mapped(
      text(`${sat}password_protected`, 'true'),
      mac,
      text(`${now}meta/session`, 'x'),
      text(`${now}__proto__/polluted`, 'yes'),
    )
    assert.equal(asset?.functional_object_type, 'Device')
    assert.deepEqual(asset?.instance_annotations, [{ key: 'password_protected', value: 'true' }])
    assert.deepEqual(
      faults.map(({ pointer }) => pointer),
      ['/__proto__'],
    )
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })
})

describe('the identifiers of a device', () => {
  const port = container(
    `${now}connection_points`,
    text(`${now}connection_points/connection_point_type`, 'EthernetPort'),
    text(`${now}connection_points/mac_address`, '00163E000001'),
  )
  const product = `${now}product_instance_information/`

  test('derives identifiers from the MAC addresses of the ports', () => {
    const { asset } = mapped(port)
    assert.deepEqual(asset?.asset_identifiers, [
      { asset_identifier_type: 'MacIdentifier', mac_address: '00:16:3E:00:00:01' },
    ])
  })

  test('derives an identifier from an id link only if it contains the serial number', () => {
    const serial = text(`${product}serial_number`, 'SN 12345')
    const link = (url: string) => text(`${product}manufacturer_product/product_link`, url)
    assert.deepEqual(mapped(serial, link('https://x.example/?1P=A&S=SN%2012345')).asset?.asset_identifiers, [
      { asset_identifier_type: 'IdLinkIdentifier', id_link: 'https://x.example/?1P=A&S=SN%2012345' },
    ])
    assert.equal(mapped(serial, link('https://x.example/products/A')).asset, undefined)
  })

  test('reports a device without an identifier instead of importing it', () => {
    const { asset, faults } = mapped(text(`${now}name`, 'Somebody'))
    assert.equal(asset, undefined)
    assert.deepEqual(faults, [{ pointer: '/asset_identifiers', detail: 'is missing' }])
  })
})

describe('a device in the legacy schema', () => {
  const software = `${former}software_components`
  const points = `${former}connection_points`

  test('converts a device in the legacy schema to the current schema', () => {
    const { asset, faults } = mapped(
      text(`${former}@type`, 'EthernetDevice'),
      text(`${former}@context/base`, 'https://schema.industrial-assets.io/base/v0.12.0/'),
      text(`${former}name`, 'Shelly'),
      text(`${former}management_state/state_value`, 'unknown'),
      text(`${former}product_instance_identifier/serial_number`, 'S1'),
      text(`${former}product_instance_identifier/manufacturer_product/name`, 'Plug'),
      text(`${former}product_instance_identifier/manufacturer_product/id`, 'https://shelly.example/plug'),
      text(`${former}product_instance_identifier/manufacturer_product/manufacturer/id`, 'abc'),
      text(`${former}product_instance_identifier/manufacturer_product/manufacturer/name`, 'Shelly'),
      container(`${former}mac_identifiers`, text(`${former}mac_identifiers/mac_address`, 'AA:BB:CC:00:00:01')),
      container(
        software,
        text(`${software}/software_identifier/name`, 'firmware'),
        text(`${software}/software_identifier/version`, '1.0'),
        text(`${software}/is_firmware`, 'true'),
        text(`${software}/management_state/state_value`, 'unknown'),
      ),
      container(
        points,
        text(`${points}/connection_point_type`, 'Ipv4Connectivity'),
        text(`${points}/ipv4_address`, '10.0.0.9'),
        container(
          `${points}/instance_annotations`,
          text(`${points}/instance_annotations/key`, 'name'),
          text(`${points}/instance_annotations/value`, 'wifi'),
        ),
        container(
          `${points}/related_connection_points`,
          text(`${points}/related_connection_points/connection_point`, 'eth'),
          text(`${points}/related_connection_points/custom_relationship`, 'Relies on'),
        ),
      ),
    )
    assert.deepEqual(faults, [])
    assert.deepEqual(asset, {
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name: 'Shelly',
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: 'AA:BB:CC:00:00:01' }],
      product_instance_information: {
        serial_number: 'S1',
        manufacturer_product: {
          product_link: 'https://shelly.example/plug',
          product_name: 'Plug',
          manufacturer: { name: 'Shelly' },
        },
      },
      connection_points: [
        {
          connection_point_type: 'Ipv4Connectivity',
          ipv4_address: '10.0.0.9',
          name: 'wifi',
          related_connection_points: [{ connection_point_id: 'eth', custom_relationship: 'Relies on' }],
        },
      ],
      software_components: [
        {
          software_component_type: 'SoftwareArtifactComponent',
          artifact: {
            functional_object_type: 'SoftwareArtifact',
            is_firmware: true,
            asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version: '1.0' }],
          },
        },
      ],
    })
  })

  test('converts identifiers with legacy names', () => {
    const { asset } = assetOfDocument({
      asset_identifiers: [
        { asset_identifier_type: 'IdLink', id_link: 'https://i.example/1P1+SA' },
        {
          asset_identifier_type: 'ProductSerialIdentifier',
          serial_number: 'S',
          manufacturer_product: { product_id: 'A', manufacturer: { name: 'V' } },
        },
        { asset_identifier_type: 'Ipv4Identifier', ipv4_address: '10.0.0.1' },
        { asset_identifier_type: 'AssetIdentifier' },
      ],
    })
    assert.deepEqual(asset?.asset_identifiers, [
      { asset_identifier_type: 'IdLinkIdentifier', id_link: 'https://i.example/1P1+SA' },
      { asset_identifier_type: 'ProductInstanceIdentifier', serial_number: 'S', vendor: 'V', article_number: 'A' },
      { asset_identifier_type: 'CustomIdentifier', name: 'ipv4_address', value: '10.0.0.1' },
    ])
  })
})

test('maps a device from its protobuf encoding', () => {
  const field = (number: number, bytes: Buffer) =>
    Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes])
  const uri = 'https://industrial-assets.io/x/Device#name'
  const classifier = Buffer.concat([field(1, Buffer.from('URI')), field(2, Buffer.from(uri))])
  const identifier = Buffer.concat([field(5, Buffer.from('Pump')), field(8, classifier)])
  const device = fromBinary(
    DiscoveredDeviceSchema,
    Buffer.concat([field(1, identifier), Buffer.from([0x19]), Buffer.alloc(8)]),
  )
  assert.deepEqual(assetOfDevice(readingsOf(device)).faults, [{ pointer: '/asset_identifiers', detail: 'is missing' }])
  assert.equal(device.identifiers[0]?.value.value, 'Pump')
})

describe('mapping of any input', () => {
  const names = [
    'name',
    'connection_points',
    'asset_identifiers',
    'location',
    'x',
    '__proto__',
    'mac_address',
    'artifact',
  ]
  const path = fc
    .array(fc.tuple(fc.constantFrom(...names), fc.constantFrom('', '[0]', '[3]', '[999999999]')), {
      minLength: 1,
      maxLength: 4,
    })
    .map((steps) => now + steps.map(([name, index]) => name + index).join('/'))
  const { identifier } = fc.letrec<{ identifier: Init; container: Init }>((tie) => ({
    container: fc
      .tuple(path, fc.array(tie('identifier'), { maxLength: 4 }))
      .map(([uri, children]) => container(uri, ...children)),
    identifier: fc.oneof(
      { maxDepth: 3 },
      fc
        .tuple(path, fc.oneof(fc.string(), fc.constantFrom('true', '00:16:3e:00:00:00', 'EthernetPort')))
        .map(([uri, value]) => text(uri, value)),
      tie('container'),
    ),
  }))

  test('maps any device to an asset that matches the schema of the inventory', () => {
    fc.assert(
      fc.property(fc.array(identifier, { maxLength: 12 }), (identifiers) => {
        const { asset } = mapped(mac, ...identifiers)
        assert.ok(asset === undefined || isAsset(asset), JSON.stringify(isAsset.errors))
      }),
      { numRuns: 300 },
    )
  })

  test('imports only the fields of a document that match the schema', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names, 'software_components', 'is_firmware'), fc.jsonValue()),
        (document) => {
          const { asset } = assetOfDocument({ mac_identifiers: [{ mac_address: '00:16:3e:00:00:00' }], ...document })
          assert.ok(asset === undefined || isAsset(asset), JSON.stringify(isAsset.errors))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('imports an asset from the link SDK unchanged', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '7', '-', 'ü'), minLength: 1, maxLength: 12 })
    const hex = fc.stringMatching(/^[0-9a-f]{2}$/)
    const macs = fc.array(hex, { minLength: 6, maxLength: 6 }).map((pairs) => pairs.join(':'))
    const point = fc.oneof(
      fc.record({ connection_point_type: fc.constant('EthernetPort'), mac_address: macs, id: word }),
      fc.record({ connection_point_type: fc.constant('Ipv4Connectivity'), ipv4_address: fc.ipV4(), name: word }),
    )
    const anAsset = fc.record({
      functional_object_type: fc.constantFrom('Device', 'Asset', 'Gateway'),
      functional_object_schema_url: fc.constant(baseSchemaUrl),
      name: word,
      asset_identifiers: fc.uniqueArray(macs, { minLength: 1, maxLength: 3 }).map((all) =>
        all.map((mac_address) => ({
          asset_identifier_type: 'MacIdentifier',
          mac_address,
          identifier_uncertainty: 1,
        })),
      ),
      product_instance_information: fc.record({
        serial_number: word,
        manufacturer_product: fc.record({ product_id: word, manufacturer: fc.record({ name: word }) }),
      }),
      connection_points: fc.array(point, { minLength: 1, maxLength: 4 }),
      asset_operations: fc.array(fc.record({ operation_name: word, activation_flag: fc.boolean() }), {
        minLength: 1,
        maxLength: 3,
      }),
    })
    fc.assert(
      fc.property(anAsset, (sent) => {
        const asset = JSON.parse(JSON.stringify(sent))
        assert.deepEqual(mapped(...identifiersOf(asset)), { asset, faults: [] })
      }),
      { numRuns: 100 },
    )
  })
})
