import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  canonical,
  columnsOf,
  createdDocument,
  isSame,
  mergeAsset,
  normaliseAsset,
  removePropertyValue,
  setFirmware,
  setGatewayVersion,
  setPropertyValue,
  setState,
  writeShape,
} from './asset.ts'

const now = '2026-01-01T00:00:00.000Z'
const later = '2026-02-01T00:00:00.000Z'

const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.jsonValue({ maxDepth: 2 }))
const fields = fc.dictionary(
  fc.constantFrom('name', 'description', 'operating_mode', 'location', 'software_components', 'power_kw', 'aaa', 'zzz'),
  fc.option(value),
)
const sent = fc
  .tuple(fc.constantFrom('Asset', 'Device', 'Gateway'), fields)
  .map(([type, more]) => ({ functional_object_type: type, ...more }))
const stored = sent.map((document) => createdDocument(document, { responsible: 'me', now }))

describe('mergeAsset', () => {
  test('mergeAsset returns the same document when the same fields are merged twice', () => {
    fc.assert(
      fc.property(stored, sent, (before, update) => {
        const once = mergeAsset(before, update)
        assert.deepEqual(mergeAsset(once, update), once)
      }),
    )
  })

  test('mergeAsset replaces sent fields, clears fields that are null, and keeps the others', () => {
    fc.assert(
      fc.property(stored, fields, (before, update) => {
        const after = mergeAsset(before, update)
        for (const name of new Set([...Object.keys(before), ...Object.keys(update)])) {
          const expected = Object.hasOwn(update, name) ? (update[name] ?? undefined) : before[name]
          assert.deepEqual(JSON.stringify(canonical({ x: after[name] })), JSON.stringify(canonical({ x: expected })))
        }
      }),
    )
  })

  test('mergeAsset returns the same document for two merges as for one merge of the combined fields', () => {
    fc.assert(
      fc.property(stored, fields, fields, (before, first, second) => {
        assert.deepEqual(mergeAsset(mergeAsset(before, first), second), mergeAsset(before, { ...first, ...second }))
      }),
    )
  })

  test('mergeAsset never changes fields that other operations write', () => {
    const before = createdDocument({ functional_object_type: 'Device' }, { responsible: 'me', now })
    const after = mergeAsset(before, { responsible: 'you', management_state: null, id: 'x', asset_identifiers: [] })
    assert.deepEqual(after, before)
  })
})

describe('stored document', () => {
  test('stores the same JSON text for every order of the sent fields', () => {
    fc.assert(
      fc.property(stored, (document) => {
        const reversed = Object.fromEntries(Object.entries(document).reverse())
        assert.equal(JSON.stringify(canonical(reversed)), JSON.stringify(document))
        assert.equal(JSON.stringify(canonical(document)), JSON.stringify(document))
      }),
    )
  })

  test('stores the type first and the timestamps last', () => {
    const document = createdDocument(
      { zone: 1, name: 'x', functional_object_type: 'Gateway' },
      { responsible: 'me', now },
    )
    assert.deepEqual(Object.keys(document), [
      'functional_object_type',
      'functional_object_schema_url',
      'name',
      'zone',
      'custom_properties',
      'management_state',
      'reachability_state',
      'trust_state',
      'responsible',
      'created_timestamp',
      'last_modified_timestamp',
    ])
    assert.deepEqual(document.management_state, { state_value: 'unknown', state_timestamp: now })
    assert.deepEqual(document.trust_state, { state_value: 'pending', state_timestamp: now })
  })

  test('stores no trust state until one is set, unless the asset is a gateway', () => {
    const document = createdDocument({ functional_object_type: 'Device' }, { responsible: 'me', now })
    assert.equal('trust_state' in document, false)
  })

  test('treats documents that differ only in timestamps as equal', () => {
    fc.assert(
      fc.property(sent, (input) => {
        const a = createdDocument(input, { responsible: 'me', now })
        const b = createdDocument(input, { responsible: 'me', now: later })
        assert.equal(isSame(a, b), true)
        assert.equal(isSame(a, setState(a, { state: 'reachability_state', value: 'unknown', now: later })), true)
        assert.equal(isSame(a, setState(a, { state: 'reachability_state', value: 'reached', now })), false)
        assert.equal(isSame(a, { ...a, name: 'another name' }), false)
      }),
    )
  })

  test('writeShape returns a stored document in the form in which it was sent', () => {
    const input = { functional_object_type: 'Device', functional_object_schema_url: 'u', name: 'x', power_kw: 1 }
    assert.deepEqual(writeShape(createdDocument(input, { responsible: 'me', now })), input)
  })
})

describe('normaliseAsset', () => {
  test('normalises types, identifiers and locations, and keeps null only at the top level to clear a field', () => {
    const { document, faults } = normaliseAsset({
      functional_object_type: 'software_artifact',
      name: null,
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '00-1B-1B-00-00-01' }],
      product_instance_information: { serial_number: null, manufacturer_product: { product_id: 'a\0b' } },
      software_components: [
        { software_component_type: 'SoftwareArtifactComponent', artifact: { functional_object_type: 'gateway' } },
      ],
      location: [
        { plant_designation: '+P1' },
        { latitude: 1 },
        {},
        { location_type: 'Okz', location_identifier: '=A' },
      ],
    })
    assert.deepEqual(faults, [])
    assert.deepEqual(document, {
      functional_object_type: 'SoftwareArtifact',
      name: null,
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '00:1b:1b:00:00:01' }],
      product_instance_information: { manufacturer_product: { product_id: 'a\ufffdb' } },
      software_components: [
        { software_component_type: 'SoftwareArtifactComponent', artifact: { functional_object_type: 'Gateway' } },
      ],
      location: [
        { location_type: 'Akz', plant_designation: '+P1' },
        { location_type: 'GeoLocation', latitude: 1 },
        { location_type: 'AssetLocation' },
        { location_type: 'Okz', location_identifier: '=A' },
      ],
    })
  })

  test('leaves a normalised asset unchanged when it is normalised again', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (input) => {
        const { document } = normaliseAsset(input)
        assert.deepEqual(normaliseAsset(document).document, document)
      }),
    )
  })

  test('reports fields that only other operations can write', () => {
    const { document, faults } = normaliseAsset({ name: 'x', management_state: {}, custom_properties: [], id: '1' })
    assert.deepEqual(document, { name: 'x' })
    assert.deepEqual(
      faults.map(({ pointer, code }) => [pointer, code]),
      [
        ['/management_state', 'unknown'],
        ['/custom_properties', 'unknown'],
        ['/id', 'unknown'],
      ],
    )
    assert.match(faults[0]?.detail ?? '', /PATCH \/assets\/\{id\}\/management-state/)
  })

  test('reports fields that are too large or too deeply nested', () => {
    const deep = JSON.parse(`${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`)
    const wide = Array.from({ length: 1001 }, () => 1)
    const { document, faults } = normaliseAsset({ name: 'x', 'a/b': deep, location: [{ wide }] })
    assert.deepEqual(document, { name: 'x' })
    assert.deepEqual(
      faults.map(({ pointer, detail }) => [pointer.slice(0, 18), detail]),
      [
        ['/a~1b/0/a/0/a/0/a/', 'is nested deeper than 16 levels'],
        ['/location/0/wide', 'has 1001 entries, but the limit is 1000'],
      ],
    )
  })

  test('accepts any member name, including __proto__, without changing object prototypes', () => {
    const { document } = normaliseAsset(JSON.parse('{"__proto__":{"polluted":true},"x":{"__proto__":1}}'))
    assert.equal(Object.getPrototypeOf(document), Object.prototype)
    assert.deepEqual(Object.keys(document), ['__proto__', 'x'])
    const merged = mergeAsset({}, document)
    assert.equal(Object.getPrototypeOf(merged), Object.prototype)
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })
})

describe('changes of a document', () => {
  const device = createdDocument({ functional_object_type: 'Device' }, { responsible: 'me', now })
  const firmware = (name: string, version: string) => ({
    software_component_type: 'RunningSoftwareComponent',
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name, version }],
      is_firmware: true,
    },
  })

  test('setFirmware adds a software component when the asset has none', () => {
    const changed = setFirmware(device, { version: '1.2' })
    assert.equal(columnsOf(changed).firmware_version, '1.2')
    assert.equal(columnsOf(setFirmware(changed, { version: '1.3' })).firmware_version, '1.3')
    assert.deepEqual(setFirmware(changed, { version: '1.2' }), changed)
  })

  test('setFirmware changes the component with the given name, or the first one if no name matches', () => {
    const two = { ...device, software_components: [firmware('boot', '1'), firmware('main', '1')] }
    const versions = (document: Record<string, unknown>) =>
      (document.software_components as ReturnType<typeof firmware>[]).map(
        ({ artifact }) => `${artifact.asset_identifiers[0]?.name} ${artifact.asset_identifiers[0]?.version}`,
      )
    assert.deepEqual(versions(setFirmware(two, { name: 'main', version: '2' })), ['boot 1', 'main 2'])
    assert.deepEqual(versions(setFirmware(two, { version: '2' })), ['boot 2', 'main 1'])
    assert.deepEqual(versions(setFirmware(two, { name: 'other', version: '2' })), ['other 2', 'main 1'])
  })

  test('setFirmware changes nothing when the component already has the version', () => {
    const imported = { ...device, software_components: [{ artifact: firmware('main', '1').artifact }] }
    assert.deepEqual(setFirmware(imported, { version: '1' }), imported)
  })

  test('setPropertyValue keeps one value for each key, sorted by key', () => {
    const set = setPropertyValue(setPropertyValue(device, { key: 'b', value: '1' }), { key: 'a', value: '2' })
    assert.deepEqual(setPropertyValue(set, { key: 'b', value: '3' }).custom_properties, [
      { key: 'a', value: '2' },
      { key: 'b', value: '3' },
    ])
    assert.deepEqual(removePropertyValue(removePropertyValue(set, 'a'), 'b'), device)
    assert.deepEqual(removePropertyValue(device, 'x'), device)
  })

  test('setGatewayVersion keeps the other fields of the product', () => {
    const gateway = {
      ...device,
      product_instance_information: { serial_number: 's', manufacturer_product: { product_id: 'p' } },
    }
    assert.deepEqual(setGatewayVersion(gateway, '1.0.1').product_instance_information, {
      manufacturer_product: { product_id: 'p', product_version: '1.0.1' },
      serial_number: 's',
    })
  })

  test('document changes return a new document and leave the given one unchanged', () => {
    const before = JSON.stringify(device)
    setFirmware(device, { version: '1' })
    setPropertyValue(device, { key: 'a', value: '1' })
    setState(device, { state: 'trust_state', value: 'trusted', now })
    assert.equal(JSON.stringify(device), before)
  })
})

test('columnsOf returns the values of the document, and null for missing values', () => {
  const document = createdDocument(
    {
      functional_object_type: 'Device',
      name: 'Drive',
      product_instance_information: {
        serial_number: 'S',
        manufacturer_product: { product_id: 'P', product_version: '3', manufacturer: { name: 'Works' } },
      },
      operating_mode: { mode_name: 'run' },
    },
    { responsible: 'me', now },
  )
  assert.deepEqual(columnsOf(document), {
    type: 'Device',
    schema_url: document.functional_object_schema_url,
    name: 'Drive',
    description: null,
    serial_number: 'S',
    product_id: 'P',
    product_version: '3',
    product_name: null,
    product_family: null,
    manufacturer: 'Works',
    firmware_version: null,
    firmware_order: null,
    operating_mode: 'run',
    management_state: 'unknown',
    management_state_at: now,
    reachability_state: 'unknown',
    reachability_state_at: now,
    trust_state: null,
    trust_state_at: null,
    responsible: 'me',
  })
})

test('columnsOf and all document changes accept any document without an error', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom(
          'product_instance_information',
          'software_components',
          'custom_properties',
          'operating_mode',
          'trust_state',
        ),
        fc.jsonValue(),
      ),
      (odd) => {
        columnsOf(odd)
        assert.equal(columnsOf(setFirmware(odd, { version: 'v' })).firmware_version, 'v')
        assert.equal(columnsOf(setGatewayVersion(odd, 'v')).product_version, 'v')
      },
    ),
  )
})
