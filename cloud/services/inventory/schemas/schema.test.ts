import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assetSchema, assetTypes, baseSchemaId, baseSchemaUrl, type JsonSchema } from '@millwright/api/asset-schema.ts'
import { Problem } from '@millwright/api/problem.ts'
import { createdDocument, normaliseAsset } from '../assets/asset.ts'
import { checkSchema, isBuiltInUrl, normaliseType, SchemaRegistry } from './schema.ts'

const draft = 'https://json-schema.org/draft/2020-12/schema'
const olderDraft = 'https://json-schema.org/draft/2019-09/schema'
const own = 'https://example.com/schemas/drive/v1.json'

function registryWith(schemas: Record<string, JsonSchema> = {}) {
  const loaded: string[] = []
  const registry = new SchemaRegistry<{ tenantId: string }>({
    async load({ tenantId }, url) {
      loaded.push(url)
      const schema = tenantId === 'ours' ? schemas[url] : undefined
      return schema === undefined ? undefined : { schema }
    },
  })
  return { registry, loaded }
}

const mac = { asset_identifier_type: 'MacIdentifier', mac_address: '00:1B:1B:00:00:01' }

function device(more: Record<string, unknown> = {}) {
  return { functional_object_type: 'Device', asset_identifiers: [mac], ...more }
}

async function faults(asset: Record<string, unknown>, schemas?: Record<string, JsonSchema>) {
  const { registry } = registryWith(schemas)
  return registry.faultsOfWrite({ tenantId: 'ours' }, asset)
}

const completeAsset = {
  functional_object_type: 'Gateway',
  functional_object_schema_url: baseSchemaUrl,
  name: 'Gateway of line 1',
  description: null,
  asset_identifiers: [
    mac,
    {
      asset_identifier_type: 'IdLinkIdentifier',
      id_link: 'HTTPS://I.Example.com/1P6ES7+SC-1',
      identifier_uncertainty: 1,
    },
    { asset_identifier_type: 'ProductInstanceIdentifier', vendor: 'V', article_number: 'A', serial_number: 'S' },
    { asset_identifier_type: 'SoftwareIdentifier', name: 'gateway', version: '1.0.0', identifier_type: null },
    { asset_identifier_type: 'CertificateIdentifier', certificate_id: 'c2tpZA==' },
    { asset_identifier_type: 'CustomIdentifier', name: 'inventory', value: 'A-1' },
    { asset_identifier_type: 'HostBasedSoftwareIdentifier', host_identifier: 'h', name: 'n', version: '1' },
    { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: mac, slot: 1, subslot: 0 },
  ],
  product_instance_information: {
    serial_number: 'S-1',
    manufacturer_product: {
      manufacturer: { name: 'Works' },
      product_id: '6ES7',
      product_version: '2',
      product_name: 'Box',
      product_link: 'https://example.com/box',
      product_family: 'Boxes',
      product_type: 'Gateway',
    },
  },
  connection_points: [
    { connection_point_type: 'EthernetPort', id: 'e', mac_address: '00-1b-1b-00-00-01', name: null },
    {
      connection_point_type: 'Ipv4Connectivity',
      ipv4_address: '192.168.0.1',
      network_mask: '255.255.255.0',
      router_ipv4_address: '192.168.0.254',
      related_connection_points: [{ connection_point_id: 'e', custom_relationship: 'Relies on' }],
    },
    {
      connection_point_type: 'Ipv6Connectivity',
      ipv6_address: '2001:db8:0:0:0:0:0:1',
      ipv6_network_prefix: '2001:db8::/32',
      router_ipv6_address: 'fe80::1',
    },
  ],
  software_components: [
    {
      software_component_type: 'RunningSoftwareComponent',
      running_software_id: 'r',
      artifact: {
        functional_object_type: 'SoftwareArtifact',
        functional_object_schema_url: baseSchemaUrl,
        asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'fw', version: '1' }],
        is_firmware: true,
      },
    },
    { software_component_type: 'SoftwareArtifactComponent', artifact: null },
  ],
  asset_links: [{ artifact: null }],
  is_firmware: false,
  asset_operations: [{ operation_name: 'FirmwareUpdate', activation_flag: true }],
  asset_relations: [
    {
      predicate: 'is_module_of',
      related_asset: { asset_identifiers: [mac] },
      relational_role_of_related_asset: 'object',
      is_bidirectional: null,
    },
  ],
  location: [
    { location_type: 'GeoLocation', latitude: 49.4, longitude: 11.1, elevation: null },
    { location_type: 'MountingLocation', station_number: 1, slot_name: 'X', slot_number: 2, subslot_number: 3 },
    { location_type: 'Okz', location_identifier: '=A1' },
    { location_type: 'Akz', plant_designation: '+P1' },
    { location_type: 'PostalAddress', street: 'Way 1', postal_code: '90402', city: 'N', region: null, country: 'DE' },
    { location_type: 'AssetLocation' },
  ],
  operating_mode: { mode_name: 'run' },
  instance_annotations: [{ key: 'a', value: 'b' }],
}

describe('the base schema', () => {
  test('the base schema accepts an asset with all fields and one with only the required fields', async () => {
    assert.deepEqual(await faults(completeAsset), [])
    for (const type of assetTypes) assert.deepEqual(await faults(device({ functional_object_type: type })), [])
  })

  test('the base schema passes the checks for uploaded schemas', async () => {
    await checkSchema('ours', assetSchema)
  })

  test('reports the pointer and the expected value of an invalid field', async () => {
    const wrong = await faults(
      device({
        nmae: 'x',
        name: 7,
        asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: 'x' }, { name: 'x' }],
        connection_points: [{ connection_point_type: 'Ipv4Connectivity', ipv4_address: '1.2.3' }],
        operating_mode: { mode_name: 'dancing' },
        location: [{ location_type: 'PostalAddress', street: 's', postal_code: '1', country: 'DE' }],
      }),
    )
    const by = new Map(wrong.map(({ pointer, detail }) => [pointer, detail]))
    assert.match(by.get('/nmae') ?? '', /^is unknown; allowed: .*\bname\b/)
    assert.equal(by.get('/name'), 'must be a string or null')
    assert.match(by.get('/asset_identifiers/0/mac_address') ?? '', /six pairs of hexadecimal digits/)
    assert.equal(by.get('/asset_identifiers/1/asset_identifier_type'), 'is missing')
    assert.match(by.get('/connection_points/0/ipv4_address') ?? '', /an IPv4 address/)
    assert.match(by.get('/operating_mode/mode_name') ?? '', /must be one of .*\brun\b/)
    assert.equal(by.get('/location/0/city'), 'is missing')
    assert.equal(wrong.length, by.size)
  })

  test('the base schema requires a type and an identifier', async () => {
    assert.deepEqual(
      (await faults({})).map(({ pointer }) => pointer),
      ['/functional_object_type'],
    )
    assert.deepEqual(
      (await faults(device({ asset_identifiers: [] }))).map(({ pointer }) => pointer),
      ['/asset_identifiers'],
    )
    assert.deepEqual(
      (await faults(device({ functional_object_type: 'Robot' }))).map(({ pointer }) => pointer),
      ['/functional_object_type'],
    )
  })

  test('uses the base schema for an asset without a schema URL and for each public URL of the base schema', async () => {
    for (const url of [
      baseSchemaUrl,
      baseSchemaId,
      'https://industrial-assets.io/schemas/iah/base-schema/released/v1',
      'https://industrial-assets.io/schemas/iah/base-schema/released/v1.20.0/iah-base.json',
      'https://industrial-assets.io/schemas/iah/base-schema/released/v1/Device',
      'https://schema.industrial-assets.io/base/v0.12.0',
      'https://schema.industrial-assets.io/base/v0.7.5/Asset',
    ]) {
      assert.equal(isBuiltInUrl(url), true, url)
      assert.deepEqual(await faults(device({ functional_object_schema_url: url })), [])
    }
    for (const url of [
      'https://schema.industrial-assets.io/sat/v0.8.2/SatController',
      'https://industrial-assets.io.example.com/base/v1',
      'http://industrial-assets.io/base/v1',
      'https://industrial-assets.io/schemas/iah/base-schema/released/v1/../../x',
    ]) {
      assert.equal(isBuiltInUrl(url), false, url)
    }
  })
})

describe('schema of a tenant', () => {
  const drive: JsonSchema = {
    $schema: draft,
    $id: own,
    $ref: `${baseSchemaUrl}#/$defs/Device`,
    properties: { power_kw: { type: 'number', minimum: 0 }, rating: { $ref: '#/$defs/Rating' } },
    required: ['power_kw'],
    unevaluatedProperties: false,
    $defs: { Rating: { type: 'string', pattern: '^IP[0-9]+(_[a-z0-9]+)*$' } },
  }
  const drives = { [own]: drive }

  test('accepts the additional fields of a tenant schema', async () => {
    await checkSchema('ours', drive)
    const asset = device({ functional_object_schema_url: own, power_kw: 5.5, rating: 'IP67' })
    assert.deepEqual(await faults(asset, drives), [])
    assert.deepEqual(
      (await faults({ ...asset, power_kw: -1, rating: 'x', colour: 'red' }, drives))
        .map(({ pointer }) => pointer)
        .sort(),
      ['/colour', '/power_kw', '/rating'],
    )
  })

  test('checks the fields of the base schema in addition to those of a tenant schema', async () => {
    const lax = { [own]: { $schema: draft } }
    const wrong = await faults(device({ functional_object_schema_url: own, name: 5, anything: 1 }), lax)
    assert.deepEqual(
      wrong.map(({ pointer }) => pointer),
      ['/name'],
    )
  })

  test('accepts a tenant schema of draft 2019-09', async () => {
    const older = {
      [own]: { $schema: olderDraft, definitions: { A: { const: 1 } }, properties: { a: { $ref: '#/definitions/A' } } },
    }
    await checkSchema('ours', older[own] ?? {})
    assert.equal((await faults(device({ functional_object_schema_url: own, a: 2 }), older))[0]?.detail, 'must be 1')
  })

  test('checks the required fields of a tenant schema in the resulting asset, not in a partial update', async () => {
    const { registry } = registryWith(drives)
    const sent = device({ functional_object_schema_url: own })
    assert.deepEqual(await registry.faultsOfWrite({ tenantId: 'ours' }, sent), [])
    const stored = createdDocument(sent, { responsible: 'me', now: '2026-01-01T00:00:00.000Z' })
    const wrong = await registry.faultsOf({ tenantId: 'ours' }, stored)
    assert.deepEqual(wrong, [{ pointer: '/power_kw', code: 'missing', detail: 'is missing' }])
    assert.deepEqual(await registry.faultsOf({ tenantId: 'ours' }, { ...stored, power_kw: 1 }), [])
  })

  test('does not find a schema of another tenant, and never downloads a schema', async () => {
    const { registry } = registryWith(drives)
    const asset = device({ functional_object_schema_url: own })
    await registry.faultsOfWrite({ tenantId: 'ours' }, asset)
    const [fault] = await registry.faultsOfWrite({ tenantId: 'theirs' }, asset)
    assert.equal(fault?.code, 'schema_not_found')
  })

  test('loads a tenant schema once while it is in the cache', async () => {
    const { registry, loaded } = registryWith(drives)
    const asset = device({ functional_object_schema_url: own })
    await registry.faultsOfWrite({ tenantId: 'ours' }, asset)
    await registry.faultsOfWrite({ tenantId: 'ours' }, asset)
    assert.deepEqual(loaded, [own])
  })

  test('evicts a tenant schema from the cache when many other schemas are used', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 70 }, (_, i) => [`https://example.com/${i}`, { $schema: draft }]),
    )
    const { registry, loaded } = registryWith(many)
    for (const url of [...Object.keys(many), 'https://example.com/69', 'https://example.com/0']) {
      await registry.faultsOfWrite({ tenantId: 'ours' }, device({ functional_object_schema_url: url }))
    }
    assert.equal(loaded.length, 71)
  })

  test('does not block other requests while an asset is validated with an expensive schema', async () => {
    const levels = Array.from({ length: 30 }, (_, i) => [
      `L${i}`,
      { allOf: [{ $ref: `#/$defs/L${i + 1}` }, { $ref: `#/$defs/L${i + 1}` }] },
    ])
    const slow = {
      $schema: draft,
      properties: { x: { $ref: '#/$defs/L0' } },
      $defs: { ...Object.fromEntries(levels), L30: { type: 'string' } },
    }
    await assert.rejects(checkSchema('ours', slow), /has more than 250000 subschemas after its references are expanded/)
    // An earlier version stored this schema. The worker validates it with a time limit, so that it does not block the event
    // loop.
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const wrong = await faults(device({ functional_object_schema_url: own, x: 1 }), { [own]: slow })
    clearInterval(timer)
    assert.equal(wrong[0]?.code, 'too_long')
    assert.ok(turns > 1, `the event loop made ${turns} turns during the validation`)
  })
})

describe('checkSchema', () => {
  const deep = Array.from({ length: 40 }).reduce<JsonSchema>((inner) => ({ not: inner }), {})
  const cases: Record<string, { schema: JsonSchema; why: RegExp }> = {
    'of an unsupported draft': {
      schema: { $schema: 'http://json-schema.org/draft-07/schema#' },
      why: /\$schema must be one of/,
    },
    'that is too large': { schema: { description: 'x'.repeat(257 * 1024) }, why: /larger than 256 KiB/ },
    'that is nested too deeply': { schema: deep, why: /nested deeper than 32/ },
    'that refers to another URL': {
      schema: { properties: { a: { $ref: 'https://example.com/x.json' } } },
      why: /\/properties\/a\/\$ref must refer to a part of this schema .* other schemas are not fetched/,
    },
    'that refers to another file': { schema: { $ref: 'other.json' }, why: /must refer to a part of this schema/ },
    'that refers dynamically to another URL': {
      schema: { $dynamicRef: 'https://example.com/x.json#node' },
      why: /must refer to a part of this schema/,
    },
    'with a reference that does not exist': { schema: { $ref: '#/$defs/A' }, why: /which is not a schema/ },
    'with a reference to a value that is not a schema': {
      schema: { $ref: '#/x/y', x: { y: { pattern: '(a+)+$' } } },
      why: /which is not a schema/,
    },
    'with a reference that the base schema does not have': {
      schema: { $ref: `${baseSchemaUrl}#/$defs/Robot` },
      why: /which the base schema does not have/,
    },
    'with an infinite loop of references': { schema: { $ref: '#' }, why: /contains an infinite loop of references/ },
    'with $id below the top level': {
      schema: { $defs: { A: { $id: baseSchemaId } } },
      why: /\$id is only allowed at the top level/,
    },
    'with $async': { schema: { $async: true }, why: /\$async is not a keyword/ },
    'with a back-reference in a pattern': {
      schema: { properties: { a: { type: 'string', pattern: '(a)\\1' } } },
      why: /\/properties\/a\/pattern contains a back reference/,
    },
    'with a look-around in a pattern of names': {
      schema: { patternProperties: { '(?=a)': {} } },
      why: /\/patternProperties\/\(\?=a\) contains a lookaround/,
    },
    'that is not a JSON Schema': { schema: { type: 'thing' }, why: /is not a JSON Schema/ },
    'with a keyword of the wrong type': { schema: { $ref: 5 }, why: /\$ref must be text/ },
  }
  for (const [fault, { schema, why }] of Object.entries(cases)) {
    test(`refuses a schema ${fault}`, async () => {
      await assert.rejects(
        checkSchema('ours', schema),
        (error) => error instanceof Problem && error.code === 'invalid_schema' && why.test(error.message),
      )
    })
  }

  test('accepts properties and examples with the names of JSON Schema keywords', async () => {
    await checkSchema('ours', {
      properties: { $ref: { type: 'string' }, pattern: { type: 'string' } },
      examples: [{ $ref: 'x' }],
    })
    await checkSchema('ours', {
      $id: own,
      $ref: `${own}#/$defs/A`,
      $defs: { A: { $anchor: 'a' }, B: { $ref: '#a' }, 'C/d~': {} },
    })
    await checkSchema('ours', { allOf: [{ $ref: '#/$defs/C~1d%7E0' }], $defs: { 'C/d~': { pattern: '^(a+)+$' } } })
  })
})

test('normaliseType accepts asset types in any case, with or without underscores', () => {
  assert.equal(normaliseType('device'), 'Device')
  assert.equal(normaliseType('SOFTWARE_ARTIFACT'), 'SoftwareArtifact')
  assert.equal(normaliseType('softwareArtifact'), 'SoftwareArtifact')
  assert.deepEqual(normaliseType('robot'), {
    pointer: '/functional_object_type',
    code: 'enum',
    detail: 'must be one of Asset, Device, Gateway, SoftwareArtifact',
  })
})

test('accepts locations without a type after normalisation', async () => {
  const { document, faults: wrong } = normaliseAsset(device({ location: [{ slot_number: 3, location_type: null }] }))
  assert.deepEqual(wrong, [])
  assert.deepEqual(await faults(document), [])
})
