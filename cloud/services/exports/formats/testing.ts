import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import fc from 'fast-check'
import { escapedXml } from '../../../platform/files/xml-text.ts'
import type { Identifiable } from './aas.ts'
import type { ExportedAsset } from './exported-asset.ts'

/** Random assets for the tests of the formats. */

/** Text with everything that a format could have to escape. */
export const hostileText = fc.oneof(
  fc
    .array(fc.integer({ min: 0, max: 0x10ffff }), { minLength: 1, maxLength: 24 })
    .map((points) => String.fromCodePoint(...points)),
  fc.string({
    unit: fc.constantFrom(
      ...'"\\\'<>&;#{}[]|\r\n\t\u0001\u007f\u0085\u2028\ufffe\ud800 \u00e9\u4e16\ud83d\ude00N%=-$_',
    ),
    minLength: 1,
    maxLength: 24,
  }),
  fc.constantFrom(
    '\\N',
    '&amp;',
    '&#65;',
    ']]>',
    '<!--',
    '--',
    '</data>',
    '"',
    '\\"',
    '\\',
    '\r\n',
    '__proto__',
    '<b>x</b>',
    '$ref',
  ),
)

/** Text that the database can store: without NUL and without surrogates that have no other half. */
const storedText = hostileText.map((text) => text.toWellFormed().replaceAll('\u0000', '\ufffd'))

const name = fc.oneof(fc.constantFrom('Pump 7', 'Steuerung Süd', ''), storedText)
const version = fc.oneof(fc.constantFrom('1.0', 'V2.9.1', '2024-05'), storedText)
const hexadecimal = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 })
const macAddress = fc
  .array(fc.integer({ min: 0, max: 255 }), { minLength: 6, maxLength: 6 })
  .map((bytes) => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':'))

const product = fc.record(
  {
    manufacturer: fc.record({ name }),
    product_id: name,
    product_version: version,
    product_name: name,
    product_link: fc.oneof(fc.webUrl(), storedText, fc.constant('https://example.com/a|b^c`{d}\\[e] f?q=[1]#<x>')),
    product_family: name,
    product_type: name,
  },
  { requiredKeys: [] },
)

const identity = fc.oneof(
  fc.record({
    asset_identifier_type: fc.constant('CustomIdentifier'),
    name: fc.constantFrom('purl', 'cpe', 'SHA-256', 'md5', 'constructor'),
    value: fc.oneof(
      fc.constantFrom('pkg:generic/openssl@3.0.1', 'cpe:2.3:o:acme:firmware:1.0:*:*:*:*:*:*:*', 'cpe:2.3:o', 'pkg:'),
      hexadecimal,
    ),
  }),
  fc.record({ asset_identifier_type: fc.constant('SoftwareIdentifier'), name: storedText, version }),
)

const artifact = fc.record(
  {
    functional_object_type: fc.constant('SoftwareArtifact'),
    asset_identifiers: fc.array(identity, { maxLength: 3 }),
    name,
    is_firmware: fc.boolean(),
    product_instance_information: fc.record({ manufacturer_product: product }),
    instance_annotations: fc.array(fc.record({ key: fc.constantFrom('sha512', 'note'), value: storedText }), {
      maxLength: 2,
    }),
  },
  { requiredKeys: ['functional_object_type', 'asset_identifiers'] },
)

const assetIdentifier = fc.oneof(
  fc.record({
    asset_identifier_type: fc.constant('ProductInstanceIdentifier'),
    vendor: name,
    article_number: name,
    serial_number: storedText,
  }),
  fc.record({ asset_identifier_type: fc.constant('MacIdentifier'), mac_address: macAddress }),
  fc.record({
    asset_identifier_type: fc.constant('IdLinkIdentifier'),
    id_link: fc.webUrl({ validSchemes: ['https'] }),
  }),
  fc.record({ asset_identifier_type: fc.constant('CertificateIdentifier'), certificate_id: storedText }),
  fc.record({
    asset_identifier_type: fc.constant('ParentRelativeIdentifier'),
    parent_identifier: fc.record({ asset_identifier_type: fc.constant('MacIdentifier'), mac_address: macAddress }),
    slot: fc.integer({ min: -5, max: 99 }),
    subslot: fc.integer({ min: 0, max: 9 }),
  }),
  identity,
)

const documentFields = fc.record(
  {
    id: fc.uuid(),
    access_group: name,
    functional_object_type: fc.constantFrom('Asset', 'Device', 'Gateway', 'SoftwareArtifact'),
    functional_object_schema_url: fc.constant('https://example.com/schema.json'),
    asset_identifiers: fc.array(assetIdentifier, { minLength: 1, maxLength: 4 }),
    name,
    description: name,
    product_instance_information: fc.record(
      { serial_number: name, manufacturer_product: product },
      { requiredKeys: [] },
    ),
    connection_points: fc.array(
      fc.oneof(
        fc.record({ connection_point_type: fc.constant('EthernetPort'), id: name, mac_address: macAddress }),
        fc.record({ connection_point_type: fc.constant('Ipv4Connectivity'), ipv4_address: fc.ipV4() }),
      ),
      { maxLength: 2 },
    ),
    software_components: fc.array(
      fc.oneof(
        fc.record({ software_component_type: fc.constant('SoftwareArtifactComponent'), artifact }),
        fc.record({
          software_component_type: fc.constant('RunningSoftwareComponent'),
          artifact,
          running_software_id: storedText,
        }),
      ),
      { maxLength: 3 },
    ),
    location: fc.array(
      fc.oneof(
        fc.record({
          location_type: fc.constant('GeoLocation'),
          latitude: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
          elevation: fc.integer(),
        }),
        fc.record({ location_type: fc.constant('Okz'), location_identifier: storedText }),
      ),
      { maxLength: 2 },
    ),
    instance_annotations: fc.array(fc.record({ key: storedText, value: storedText }), { maxLength: 2 }),
    custom_properties: fc.array(fc.record({ key: fc.uuid(), value: storedText }), { maxLength: 2 }),
    management_state: fc.record({
      state_value: fc.constantFrom('regarded', 'ignored'),
      state_timestamp: fc.constant('2026-01-01T00:00:00.000Z'),
    }),
  },
  { requiredKeys: ['id', 'access_group', 'functional_object_type', 'asset_identifiers'] },
)

/** A random asset document in the form in which the inventory returns it. */
export const assetDocument: fc.Arbitrary<AssetDocument> = documentFields.map((fields) =>
  JSON.parse(JSON.stringify(fields)),
)

export async function* streamOf<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items
}

export async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const part of parts) text += part
  return text
}

/** Random assets with relations between them. */
export const exportedAssets: fc.Arbitrary<ExportedAsset[]> = fc
  .uniqueArray(assetDocument, { minLength: 1, maxLength: 3, selector: ({ id }) => id })
  .chain((documents) => {
    const end = fc.constantFrom(...documents).map(({ id }) => ({ type: 'asset' as const, id: String(id) }))
    const predicate = fc.oneof(fc.constantFrom('is_part_of', 'is_connected_to'), storedText)
    return fc.array(fc.record({ id: fc.uuid(), subject: end, predicate, object: end }), { maxLength: 4 }).map((edges) =>
      documents.map((document) => ({
        document,
        relations: edges.filter(({ subject, object }) => [subject.id, object.id].includes(String(document.id))),
      })),
    )
  })

/** Returns an environment in the XML serialization, as other programs write it. */
export function environmentXml(environment: {
  assetAdministrationShells?: Identifiable[]
  submodels?: Identifiable[]
}): string {
  const lists = Object.entries(environment).map(
    ([name, items]) => `<aas:${name}>${items.map((item) => xmlItem(item, name)).join('\n')}</aas:${name}>`,
  )
  const root = 'aas:environment xmlns:aas="https://admin-shell.io/aas/3/0"'
  return `<?xml version="1.0"?>\n<!-- > --><${root}>${lists.join('')}</aas:environment>`
}

/** The names of the items of lists that have no `modelType`. */
const itemNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    extensions: 'extension',
    displayName: 'langStringNameType',
    description: 'langStringTextType',
    value: 'langStringTextType',
    keys: 'key',
    submodels: 'reference',
    specificAssetIds: 'specificAssetId',
  }),
)

function xmlItem(item: { modelType?: unknown }, list: string): string {
  const { modelType } = item
  const name =
    typeof modelType === 'string' ? modelType.charAt(0).toLowerCase() + modelType.slice(1) : (itemNames.get(list) ?? '')
  return xmlElement(name, item)
}

function xmlElement(name: string, value: unknown): string {
  return `<aas:${name}>${xmlContent(name, value)}</aas:${name}>`
}

function xmlContent(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => xmlItem(item, name)).join('')
  if (typeof value !== 'object' || value === null) return escapedXml(String(value))
  return Object.entries(value)
    .map(([member, content]) => (member === 'modelType' ? '' : xmlElement(member, content)))
    .join('')
}
