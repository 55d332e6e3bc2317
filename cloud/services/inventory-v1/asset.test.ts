import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import fc from 'fast-check'
import { fromV1, mergePatch, placementOf, toV1 } from './asset.ts'
import { otherFields } from './change.ts'

const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', '.', '-'), minLength: 1, maxLength: 6 })
const mac = fc.constantFrom('00:1b:1b:00:00:01', '00:1b:1b:00:00:02')
const of = (type: string, fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({ asset_identifier_type: fc.constant(type), ...fields })
const identifier = fc.oneof(
  of('MacIdentifier', { mac_address: mac }),
  of('IdLinkIdentifier', { id_link: fc.constantFrom('https://a.io/1', 'https://a.io/2') }),
  of('ProductInstanceIdentifier', { vendor: text, article_number: text, serial_number: text }),
  of('SoftwareIdentifier', { name: text, version: text }),
  of('CertificateIdentifier', { certificate_id: text }),
  of('CustomIdentifier', { name: fc.constantFrom('x', 'checksum', 'ipv4_address', 'ipv6_address'), value: text }),
  of('HostBasedSoftwareIdentifier', { host_identifier: text, name: text, version: text }),
  of('ParentRelativeIdentifier', {
    parent_identifier: of('MacIdentifier', { mac_address: mac }),
    slot: fc.nat(3),
    subslot: fc.nat(3),
  }),
)
const identifiers = fc.uniqueArray(identifier, { minLength: 1, maxLength: 4, selector: (one) => JSON.stringify(one) })
const some = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) => fc.record(fields, { requiredKeys: [] })

const product = some({
  serial_number: text,
  manufacturer_product: some({
    manufacturer: some({ name: text }),
    product_id: text,
    product_version: text,
    product_name: text,
    product_link: fc.constant('https://example.com/p'),
    product_family: text,
    product_type: text,
  }),
})
const point = fc.oneof(
  fc.record({ connection_point_type: fc.constant('EthernetPort'), mac_address: mac, id: text }),
  fc.record({
    connection_point_type: fc.constant('Ipv4Connectivity'),
    ipv4_address: fc.ipV4(),
    name: text,
    related_connection_points: fc.array(fc.record({ connection_point_id: text, custom_relationship: text })),
  }),
)
const artifact = fc
  .tuple(
    fc.constantFrom('SoftwareArtifact', 'Gateway'),
    identifiers,
    some({ name: text, is_firmware: fc.boolean(), product_instance_information: product }),
  )
  .map(([type, own, fields]) => ({
    functional_object_type: type,
    functional_object_schema_url: baseSchemaUrl,
    asset_identifiers: own,
    ...fields,
  }))
const component = fc.oneof(
  fc.record(
    { software_component_type: fc.constant('SoftwareArtifactComponent'), artifact },
    { requiredKeys: ['software_component_type'] },
  ),
  fc.record(
    { software_component_type: fc.constant('RunningSoftwareComponent'), artifact, running_software_id: text },
    { requiredKeys: ['software_component_type'] },
  ),
)
const mounting = fc.record({ location_type: fc.constant('MountingLocation'), slot_number: fc.nat(9) })
const elsewhere = fc.oneof(
  fc.record({ location_type: fc.constant('Okz'), location_identifier: text }),
  fc.record({ location_type: fc.constant('GeoLocation'), latitude: fc.nat(90) }),
)
/** Generates locations. After a round trip, the location that has its own field in version 1 comes first. */
const location = fc.oneof(
  fc.array(elsewhere),
  fc.tuple(mounting, fc.array(fc.oneof(elsewhere, mounting))).map(([first, others]) => [first, ...others]),
)
const state = (value: string) => fc.constant({ state_value: value, state_timestamp: '2026-01-01T00:00:00.000Z' })
const asset = fc
  .tuple(
    fc.constantFrom('Asset', 'Device', 'Gateway', 'SoftwareArtifact'),
    fc.constantFrom(baseSchemaUrl, 'https://example.com/own.json'),
    some({
      id: fc.uuid(),
      access_group: text,
      name: text,
      description: text,
      product_instance_information: product,
      connection_points: fc.array(point),
      software_components: fc.array(component),
      asset_operations: fc.array(fc.record({ operation_name: text, activation_flag: fc.boolean() })),
      location,
      operating_mode: fc.constant({ mode_name: 'run' }),
      instance_annotations: fc.array(fc.record({ key: text, value: text })),
      custom_properties: fc.array(fc.record({ key: fc.uuid(), value: text })),
      management_state: state('regarded'),
      reachability_state: state('reached'),
      trust_state: state('trusted'),
      responsible: text,
      last_modified_timestamp: fc.constant('2026-01-01T00:00:00.000Z'),
    }),
  )
  .map(([type, url, fields]) => ({ functional_object_type: type, functional_object_schema_url: url, ...fields }))

describe('conversion between version 1 and version 2', () => {
  test('keeps a version 2 asset unchanged after conversion to version 1 and back', () => {
    fc.assert(
      fc.property(asset, identifiers, some({ gatewayId: fc.uuid(), parentId: fc.uuid() }), (input, own, places) => {
        const shown = toV1({ asset: input, identifiers: own, labels: new Map(), ...places } as Parameters<
          typeof toV1
        >[0])
        assert.deepEqual(JSON.parse(JSON.stringify(fromV1(shown))), {
          asset: plain(input),
          identifiers: plain(own),
          ...places,
        })
      }),
      { numRuns: 500 },
    )
  })

  test('keeps a version 1 document unchanged after conversion to version 2 and back', () => {
    fc.assert(
      fc.property(asset, identifiers, (input, own) => {
        const shown = toV1({ asset: input, identifiers: own })
        assert.deepEqual(plain(toV1(fromV1(shown))), plain(shown))
      }),
    )
  })

  test('converts an asset to the field names of version 1', () => {
    const shown = toV1({
      asset: {
        id: 'i',
        functional_object_type: 'Gateway',
        functional_object_schema_url: baseSchemaUrl,
        access_group: 'line-1',
        product_instance_information: {
          serial_number: 's',
          manufacturer_product: { product_name: 'Box', product_id: 'b' },
        },
        location: [{ location_type: 'MountingLocation', slot_number: 3 }],
        trust_state: { state_value: 'trusted' },
        custom_properties: [{ key: 'k', value: 'v' }],
      },
      identifiers: [{ asset_identifier_type: 'CertificateIdentifier', certificate_id: 'c' }],
      labels: new Map([['k', 'Colour']]),
      gatewayId: 'g',
      parentId: 'p',
    })
    const { product_instance_identifier: product, ...rest } = shown
    assert.deepEqual(rest, {
      '@type': 'Gateway',
      '@context': { '@vocab': baseSchemaUrl },
      id: 'i',
      functional_object_type: 'Gateway',
      zone: 'line-1',
      trust_established_state: { state_value: 'trusted' },
      asset_identifiers: [{ asset_identifier_type: 'GatewayIdentifier', certificate_id: 'c' }],
      mounting_location: { slot_number: 3 },
      custom_ui_properties: [{ key: 'k', label: 'Colour', value: 'v' }],
      gateway: { id: 'g' },
      parent: { id: 'p' },
    })
    const { manufacturer_product: inner, serial_number: serial } = product as Record<string, Record<string, unknown>>
    assert.deepEqual([serial, inner?.name, inner?.product_id, typeof inner?.id], ['s', 'Box', 'b', 'string'])
  })

  test('converts the documents that existing version 1 links send', () => {
    const parsed = fromV1({
      '@type': 'EthernetDevice',
      '@context': {},
      mac_identifiers: [{ mac_address: '00:1b:1b:00:00:01' }],
      asset_identifiers: [
        { asset_identifier_type: 'MacIdentifier', mac_address: '00:1b:1b:00:00:01' },
        { asset_identifier_type: 'AssetIdentifier' },
        { asset_identifier_type: 'SiemensIdLink', id_link: 'https://i.siemens.com/1P6ES7+S1' },
      ],
      connection_points: [
        { connection_point_type: 'ConnectionPoint', id: 'x' },
        {
          connection_point_type: 'Ipv4Connectivity',
          id: 'y',
          ipv4_address: '10.0.0.1',
          instance_annotations: [{ key: 'name', value: 'X1' }],
        },
      ],
      software_components: [
        {
          functional_object_type: 'SoftwareArtifact',
          id: 'z',
          software_identifier: { name: 'fw', version: '1' },
          is_firmware: true,
          management_state: { state_value: 'unknown' },
        },
      ],
    })
    assert.deepEqual(parsed.asset.functional_object_type, 'Device')
    assert.deepEqual(parsed.identifiers, [
      { asset_identifier_type: 'MacIdentifier', mac_address: '00:1b:1b:00:00:01' },
      { asset_identifier_type: 'IdLinkIdentifier', id_link: 'https://i.siemens.com/1P6ES7+S1' },
    ])
    assert.deepEqual(parsed.asset.connection_points, [
      { connection_point_type: 'Ipv4Connectivity', id: 'y', ipv4_address: '10.0.0.1', name: 'X1' },
    ])
    assert.deepEqual(parsed.asset.software_components, [
      {
        software_component_type: 'SoftwareArtifactComponent',
        artifact: {
          functional_object_type: 'SoftwareArtifact',
          functional_object_schema_url: baseSchemaUrl,
          is_firmware: true,
          asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'fw', version: '1' }],
        },
      },
    ])
  })

  test('converts any JSON document without failing', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(
            '@type',
            'asset_identifiers',
            'location',
            'software_components',
            'product_instance_identifier',
            'gateway',
          ),
          fc.jsonValue(),
        ),
        (odd) => typeof fromV1(odd).asset === 'object',
      ),
    )
  })
})

test('placementOf returns the parent of an asset and the gateway that found the asset last', () => {
  const relation = (predicate: string, id: string, lastModifiedTimestamp: string) => ({
    subject: { id: 'a' },
    predicate,
    object: { id },
    lastModifiedTimestamp,
  })
  const relations = [
    relation('found_by_gateway', 'g1', '1'),
    relation('found_by_gateway', 'g2', '2'),
    relation('is_module_of', 'p', '1'),
  ]
  assert.deepEqual(placementOf('a', relations), { gatewayId: 'g2', parentId: 'p' })
  assert.deepEqual(placementOf('p', relations), {})
})

test('does not write fields that a patch leaves unchanged, because other requests may have changed them', () => {
  const document = {
    '@type': 'Device',
    management_state: { state_value: 'regarded' },
    trust_established_state: { state_value: 'trusted' },
    responsible: 'jane',
    custom_ui_properties: [{ key: 'k', value: '1' }],
    parent: { id: 'rack' },
  }
  const restAfter = (patch: object) =>
    otherFields(fromV1(mergePatch(document, patch) as typeof document), fromV1(document))
  assert.deepEqual(restAfter({ name: 'another' }), { states: {} })
  assert.deepEqual(restAfter({ management_state: { state_value: 'ignored' }, responsible: 'joe' }), {
    states: { management_state: 'ignored' },
    responsible: 'joe',
  })
  assert.deepEqual(restAfter({ custom_ui_properties: null }), { states: {}, properties: [] })
})

test('mergePatch follows the examples of RFC 7396', () => {
  assert.deepEqual(mergePatch({ a: 'b', c: { d: 'e', f: 'g' } }, { a: 'z', c: { f: null } }), { a: 'z', c: { d: 'e' } })
  assert.deepEqual(mergePatch({ a: [{ b: 'c' }] }, { a: [1] }), { a: [1] })
  assert.deepEqual(mergePatch({}, { a: { bb: { ccc: null } } }), { a: { bb: {} } })
  assert.deepEqual(mergePatch({ e: null }, { a: 1 }), { e: null, a: 1 })
  assert.deepEqual(mergePatch([1, 2], { a: 'b', c: null }), { a: 'b' })
})

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
