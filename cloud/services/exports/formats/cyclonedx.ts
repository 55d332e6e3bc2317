import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import {
  identifiersOf,
  isSoftware,
  objectsIn,
  productOf,
  type SoftwareFields,
  softwareFields,
  softwareOf,
  textIn,
} from '../../../platform/files/asset-fields.ts'
import { type ExportedAsset, softwarePredicates } from './exported-asset.ts'
import { textParts } from './text-parts.ts'

/**
 * Writes software bills of materials as CycloneDX 1.6 JSON. A device is a component that contains its firmware and its
 * software. The bill of a plant is written asset by asset: only ids and the number of components stay in memory.
 */

type SbomOptions = {
  /** The prefix of the references to assets, from `assetNamespace`. */
  namespace: string
  /** The UUID of this bill. */
  serialNumber: string
  /** The time of the export in ISO 8601. */
  timestamp: string
  productVersion: string
}

type Component = { type: string; name: string; 'bom-ref': string; [field: string]: unknown }

/** Writes the bill of one asset. `installed` are the assets that are installed or run on this asset. */
export function assetSbom(
  asset: AssetDocument,
  { installed, ...options }: SbomOptions & { installed: Iterable<AssetDocument> },
): AsyncGenerator<string> {
  return textParts(assetTexts(asset, [...installed], options))
}

function* assetTexts(asset: AssetDocument, installed: AssetDocument[], options: SbomOptions): Generator<string> {
  const { namespace } = options
  const root = assetComponent(asset, namespace)
  const parts = [...softwareComponents(asset, namespace), ...installed.map((one) => nestedComponent(one, namespace))]
  const dependencies = [
    { ref: root['bom-ref'], dependsOn: parts.map((part) => part['bom-ref']) },
    ...installed.map((one) => dependencyOf(one, namespace)),
  ]
  yield headText(root, options)
  yield `"components":${JSON.stringify(parts)},\n"dependencies":${JSON.stringify(dependencies)}}\n`
}

/** Writes the bill of all given assets. `name` is the name of the plant. */
export function plantSbom(
  assets: AsyncIterable<ExportedAsset>,
  { name, ...options }: SbomOptions & { name: string },
): AsyncGenerator<string> {
  return textParts(plantTexts(assets, name, options))
}

async function* plantTexts(
  assets: AsyncIterable<ExportedAsset>,
  name: string,
  options: SbomOptions,
): AsyncGenerator<string> {
  const { namespace } = options
  const root = { type: 'platform', name, 'bom-ref': `${namespace}all` }
  const softwareCounts = new Map<string, number>()
  const installations = new Map<string, Set<string>>()
  yield headText(root, options)
  yield '"components":['
  for await (const { document, relations } of assets) {
    const id = String(document.id)
    if (softwareCounts.has(id)) continue
    yield `${softwareCounts.size === 0 ? '' : ','}\n${JSON.stringify(nestedComponent(document, namespace))}`
    softwareCounts.set(id, softwareOf(document).length)
    for (const { subject, predicate, object } of relations) {
      if (subject.id !== id || object.type !== 'asset' || !softwarePredicates.includes(predicate)) continue
      installations.set(object.id, (installations.get(object.id) ?? new Set()).add(id))
    }
  }
  yield '],\n"dependencies":[\n'
  yield `{"ref":${JSON.stringify(root['bom-ref'])},"dependsOn":[`
  let isFirst = true
  for (const id of softwareCounts.keys()) {
    yield `${isFirst ? '' : ','}${JSON.stringify(namespace + id)}`
    isFirst = false
  }
  yield ']}'
  for (const [id, count] of softwareCounts) {
    const ref = namespace + id
    const nested = Array.from({ length: count }, (_, index) => softwareReference(ref, index))
    const installed = [...(installations.get(id) ?? [])].map((one) => namespace + one)
    if (nested.length + installed.length > 0)
      yield `,\n${JSON.stringify({ ref, dependsOn: [...nested, ...installed] })}`
  }
  yield ']}\n'
}

function headText(root: Component, { serialNumber, timestamp, productVersion }: SbomOptions): string {
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${serialNumber}`,
    version: 1,
    metadata: {
      timestamp,
      lifecycles: [{ phase: 'operations' }],
      tools: { components: [{ type: 'application', name: 'Millwright', version: productVersion }] },
      component: root,
    },
  }
  return `${JSON.stringify(head).slice(0, -1)},\n`
}

function nestedComponent(document: AssetDocument, namespace: string): Component {
  const components = softwareComponents(document, namespace)
  const component = assetComponent(document, namespace)
  return components.length === 0 ? component : { ...component, components }
}

function dependencyOf(document: AssetDocument, namespace: string): { ref: string; dependsOn: string[] } {
  const ref = namespace + String(document.id)
  return { ref, dependsOn: softwareOf(document).map((_, index) => softwareReference(ref, index)) }
}

function softwareReference(assetReference: string, index: number): string {
  return `${assetReference}:software:${index}`
}

function assetComponent(document: AssetDocument, namespace: string): Component {
  const reference = namespace + String(document.id)
  if (isSoftware(document)) {
    const { name, ...component } = softwareComponent(softwareFields(document), reference)
    return { ...component, name: textIn(document, 'name') ?? name, ...withDescription(document) }
  }
  const product = productOf(document)
  const macAddresses = [
    ...identifiersOf(document, 'MacIdentifier'),
    ...objectsIn(document, 'connection_points').filter((point) => point.connection_point_type === 'EthernetPort'),
  ].flatMap((entry) => textIn(entry, 'mac_address') ?? [])
  return {
    type: 'device',
    'bom-ref': reference,
    name: textIn(document, 'name') ?? product.name ?? String(document.id),
    ...(product.version === undefined ? {} : { version: product.version }),
    ...organisation(product.manufacturer),
    ...withDescription(document),
    ...withLink(product.link),
    ...withProperties([
      ['cdx:device:serialNumber', product.serialNumber],
      ...[...new Set(macAddresses)].map((address) => ['cdx:device:macAddress', address] as const),
      ['millwright:asset:product', product.name],
      ['millwright:asset:article_number', product.articleNumber],
    ]),
  }
}

function softwareComponents(document: AssetDocument, namespace: string): Component[] {
  const reference = namespace + String(document.id)
  return softwareOf(document).map((software, index) => softwareComponent(software, softwareReference(reference, index)))
}

function softwareComponent({ artifact, name, version, isFirmware, runningId }: SoftwareFields, ref: string): Component {
  const { manufacturer, articleNumber, link } = productOf(artifact)
  const facts = identityFacts(artifact)
  return {
    type: isFirmware ? 'firmware' : 'application',
    'bom-ref': ref,
    name,
    ...(version === undefined ? {} : { version }),
    ...organisation(manufacturer),
    ...withLink(link),
    ...facts,
    ...withProperties([
      ['millwright:software:running_id', runningId],
      ['millwright:asset:article_number', articleNumber],
    ]),
  }
}

/** The manufacturer is also written as the supplier, the entity that creates and identifies a component. */
function organisation(name: string | undefined): object {
  return name === undefined ? {} : { supplier: { name }, manufacturer: { name } }
}

function withDescription(document: AssetDocument): object {
  const description = textIn(document, 'description')
  return description === undefined ? {} : { description }
}

function withLink(link: string | undefined): object {
  const url = link === undefined ? null : URL.parse(link)
  if (url === null || !/^https?:$/.test(url.protocol)) return {}
  // The parser keeps these characters, but a URI cannot contain them.
  const href = url.href.replace(/[|^`{}\\[\]]/g, encodeURIComponent)
  return { externalReferences: [{ type: 'website', url: href }] }
}

function withProperties(entries: readonly (readonly [string, string | undefined])[]): object {
  const properties = entries.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
  return properties.length === 0 ? {} : { properties }
}

/** The digests of CycloneDX, by their names without separators, with their lengths in hexadecimal digits. */
const digests: ReadonlyMap<string, { alg: string; digits: number }> = new Map(
  Object.entries({
    md5: { alg: 'MD5', digits: 32 },
    sha1: { alg: 'SHA-1', digits: 40 },
    sha256: { alg: 'SHA-256', digits: 64 },
    sha384: { alg: 'SHA-384', digits: 96 },
    sha512: { alg: 'SHA-512', digits: 128 },
    sha3256: { alg: 'SHA3-256', digits: 64 },
    sha3384: { alg: 'SHA3-384', digits: 96 },
    sha3512: { alg: 'SHA3-512', digits: 128 },
  }),
)

const purlPattern = /^pkg:[A-Za-z][A-Za-z0-9.+-]*\/[!-~]+$/

const attribute = String.raw`(?:\?*|\*?)(?:[A-Za-z0-9._-]|\\[!-/:-@[-\`{-~])+(?:\?*|\*?)|[*-]`
const cpeLanguage = '[A-Za-z]{2,3}(?:-(?:[A-Za-z]{2}|[0-9]{3}))?|[*-]'
const cpePattern = new RegExp(
  `^(?:cpe:2\\.3:[aho*-](?::(?:${attribute})){5}:(?:${cpeLanguage})(?::(?:${attribute})){4}` +
    '|cpe:/[aho](?::[A-Za-z0-9._~%-]*){0,6})$',
)

/** The maximum length of a package URL or CPE name. */
const identityCharacters = 1024

/** Returns the package URL, CPE name and hashes that the identifiers and annotations of an artifact contain. */
function identityFacts(artifact: AssetDocument): object {
  const entries = [
    ...identifiersOf(artifact, 'CustomIdentifier').map((entry) => [textIn(entry, 'name'), textIn(entry, 'value')]),
    ...objectsIn(artifact, 'instance_annotations').map((entry) => [textIn(entry, 'key'), textIn(entry, 'value')]),
  ]
  const values = entries.flatMap(([, value]) =>
    value !== undefined && value.length <= identityCharacters ? [value] : [],
  )
  const purl = values.find((value) => purlPattern.test(value))
  const cpe = values.find((value) => cpePattern.test(value))
  const hashes = new Map<string, { alg: string; content: string }>()
  for (const [name = '', content = ''] of entries) {
    const digest = digests.get(name.toLowerCase().replace(/[-_ ]/g, ''))
    if (digest !== undefined && content.length === digest.digits && /^[0-9A-Fa-f]+$/.test(content))
      hashes.set(digest.alg, { alg: digest.alg, content })
  }
  return {
    ...(hashes.size === 0 ? {} : { hashes: [...hashes.values()] }),
    ...(cpe === undefined ? {} : { cpe }),
    ...(purl === undefined ? {} : { purl }),
  }
}
