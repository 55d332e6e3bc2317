import assert from 'node:assert/strict'
import { test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { exportFormats } from '@millwright/api/exports.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { type TestCaller, type TestHub, testHub } from './platform/testing/hub.ts'

/** Generates assets with every kind of identifier and awkward texts. */
const text = fc.string({
  unit: fc.constantFrom(
    'a',
    'Ä',
    '😀',
    ' ',
    '"',
    "'",
    ',',
    ';',
    '=',
    '+',
    '-',
    '@',
    '\n',
    '\t',
    '<',
    '&',
    '0',
    '_x000D_',
  ),
  minLength: 1,
  maxLength: 8,
})
const some = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) => fc.record(fields, { requiredKeys: [] })
const hex = (bytes: number[]) => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':')
const mac = fc.array(fc.nat(255), { minLength: 6, maxLength: 6 }).map(hex)
const identifier = fc.oneof(
  mac.map((mac_address) => ({ asset_identifier_type: 'MacIdentifier', mac_address })),
  fc.record({
    asset_identifier_type: fc.constant('ProductInstanceIdentifier'),
    vendor: fc.constantFrom('Acme', 'Foo'),
    article_number: fc.constantFrom('', 'A1'),
    serial_number: fc.uuid(),
  }),
  fc.uuid().map((value) => ({ asset_identifier_type: 'CustomIdentifier', name: 'tag', value })),
  fc.uuid().map((id) => ({ asset_identifier_type: 'IdLinkIdentifier', id_link: `https://example.com/${id}` })),
)
const asset = fc
  .record({
    type: fc.constantFrom('Asset', 'Device', 'SoftwareArtifact'),
    identifiers: fc.uniqueArray(identifier, { minLength: 1, maxLength: 3, selector: (one) => JSON.stringify(one) }),
    fields: some({
      name: text,
      description: text,
      product_instance_information: some({
        serial_number: text,
        manufacturer_product: some({
          manufacturer: some({ name: text }),
          product_id: text,
          product_name: text,
          product_version: text,
          product_family: text,
        }),
      }),
      connection_points: fc.array(
        fc.oneof(
          fc.record({ connection_point_type: fc.constant('Ipv4Connectivity'), ipv4_address: fc.ipV4() }),
          fc.record({ connection_point_type: fc.constant('EthernetPort'), mac_address: mac }),
        ),
        { maxLength: 3 },
      ),
      instance_annotations: fc.array(fc.record({ key: text, value: text }), { maxLength: 2 }),
    }),
  })
  .map(({ type, identifiers, fields }) => ({
    functional_object_type: type,
    functional_object_schema_url: baseSchemaUrl,
    asset_identifiers: identifiers,
    ...fields,
  }))

async function createAssets(caller: TestCaller, assets: Record<string, unknown>[]): Promise<string[]> {
  const { data } = await caller.inventory.createAssets({ body: { data: { assets } }, headers: { prefer: 'wait=30' } })
  const results = data.detail?.result as { assetId?: string }[]
  return results.map(({ assetId }) => assetId ?? assert.fail(JSON.stringify(results)))
}

/** Exports all assets, and returns the content of the file. */
async function exportAssets(hub: TestHub, caller: TestCaller, format: (typeof exportFormats)[number]): Promise<Buffer> {
  const { exportId } = (await caller.exports.createExport({ body: { data: { what: 'assets', format } } })).data
  const read = async () => (await caller.exports.readExport({ params: { exportId } })).data
  const pause = growingPause()
  while (['queued', 'running'].includes((await read()).state)) await pause()
  const headers = { authorization: `Bearer ${caller.token}` }
  const answer = await hub.request({ method: 'GET', path: `/exports/v1/files/${exportId}/content`, headers })
  assert.equal(answer.status, 200, JSON.stringify(await read()))
  return answer.bytes
}

/** Imports a file, and returns the import with the rows that are not unchanged. */
async function importFile(caller: TestCaller, content: Uint8Array<ArrayBuffer>) {
  const body = { mediaType: 'application/octet-stream', content }
  const { importId } = (await caller.imports.uploadFile({ body })).data
  const read = async () => (await caller.imports.readImport({ params: { importId } })).data
  const pause = growingPause()
  while (['queued', 'running'].includes((await read()).state)) await pause()
  const { data } = await caller.imports.listRows({ params: { importId }, query: { limit: 100 } })
  return { done: await read(), changed: data.filter(({ outcome }) => outcome !== 'unchanged') }
}

test('importing an export changes nothing, for each format and random assets', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { data: colour } = await admin.inventory.createCustomProperty({ body: { data: { name: 'Name' } } })
  const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant/1' } } })
  const { data: node } = await admin.hierarchy.createNode({
    params: { id: tree.id },
    body: { data: { name: 'Hall\\1' } },
  })
  const ids = await createAssets(admin, fc.sample(asset, 60) as Record<string, unknown>[])
  const [first = '', second = '', third = ''] = ids
  await admin.hierarchy.assignAssets({ params: { id: node.id }, body: { data: { assetIds: [first, second] } } })
  await admin.inventory.createRelation({
    body: {
      data: {
        subject: { type: 'asset', id: first },
        predicate: 'is_module_of',
        object: { type: 'asset', id: third },
      },
    },
  })
  await admin.inventory.setPropertyValues({
    body: { data: [{ asset_id: first, key: colour.key, value: 'red' }] },
    headers: { prefer: 'wait=30' },
  })
  for (const format of ['csv', 'xlsx', 'ndjson', 'aasx', 'aas-json'] as const) {
    const content = await exportAssets(hub, admin, format)
    const { done, changed } = await importFile(admin, new Uint8Array(content))
    assert.deepEqual(
      [format, done.problem, done.rows, JSON.stringify(changed.slice(0, 2))],
      [format, undefined, new Set(ids).size, '[]'],
    )
  }
})
