import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import fc from 'fast-check'
import { assetSbom, plantSbom } from './cyclonedx.ts'
import { assetNamespace, type ExportedAsset } from './exported-asset.ts'
import { assetDocument, streamOf, textOf } from './testing.ts'

const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
const namespace = assetNamespace('0199d1c0-0000-7000-8000-000000000000')
const options = {
  namespace,
  serialNumber: '0199d1c0-0000-4000-8000-000000000001',
  timestamp: '2026-01-02T03:04:05.678Z',
  productVersion: '1.2.3',
}

const device = {
  id: '0199d1c0-0000-7000-8000-00000000000a',
  functional_object_type: 'Device',
  name: 'PLC 1',
  description: 'controls the press',
  asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:00:01' }],
  product_instance_information: {
    serial_number: 'S1',
    manufacturer_product: {
      manufacturer: { name: 'Acme' },
      product_id: 'A-100',
      product_name: 'PLC 100',
      product_version: '3',
      product_link: 'https://example.com/a b',
    },
  },
  software_components: [
    {
      software_component_type: 'SoftwareArtifactComponent',
      artifact: {
        functional_object_type: 'SoftwareArtifact',
        is_firmware: true,
        asset_identifiers: [
          { asset_identifier_type: 'SoftwareIdentifier', name: 'PLC firmware', version: 'V2.9' },
          {
            asset_identifier_type: 'CustomIdentifier',
            name: 'cpe',
            value: 'cpe:2.3:o:acme:plc_firmware:2.9:*:*:*:*:*:*:*',
          },
          { asset_identifier_type: 'CustomIdentifier', name: 'sha256', value: 'ab'.repeat(32) },
        ],
      },
    },
  ],
}

const runtime = {
  id: '0199d1c0-0000-7000-8000-00000000000b',
  functional_object_type: 'SoftwareArtifact',
  name: 'Runtime',
  asset_identifiers: [
    { asset_identifier_type: 'SoftwareIdentifier', name: 'acme-runtime', version: '1.4' },
    { asset_identifier_type: 'CustomIdentifier', name: 'purl', value: 'pkg:generic/acme/runtime@1.4' },
  ],
}

const installation = {
  id: '0199d1c0-0000-7000-8000-0000000000ab',
  subject: { type: 'asset', id: runtime.id },
  predicate: 'is_installed_on',
  object: { type: 'asset', id: device.id },
} as const

describe('CycloneDX', () => {
  test('the bill of an asset contains its firmware and the software that is installed on it', async () => {
    const bill = await validBill(assetSbom(device, { ...options, installed: [runtime] }))
    assert.equal(bill.serialNumber, `urn:uuid:${options.serialNumber}`)
    assert.deepEqual(bill.metadata.component, {
      type: 'device',
      'bom-ref': namespace + device.id,
      name: 'PLC 1',
      version: '3',
      supplier: { name: 'Acme' },
      manufacturer: { name: 'Acme' },
      description: 'controls the press',
      externalReferences: [{ type: 'website', url: 'https://example.com/a%20b' }],
      properties: [
        { name: 'cdx:device:serialNumber', value: 'S1' },
        { name: 'cdx:device:macAddress', value: '02:00:00:00:00:01' },
        { name: 'millwright:asset:product', value: 'PLC 100' },
        { name: 'millwright:asset:article_number', value: 'A-100' },
      ],
    })
    assert.deepEqual(bill.components, [
      {
        type: 'firmware',
        'bom-ref': `${namespace}${device.id}:software:0`,
        name: 'PLC firmware',
        version: 'V2.9',
        hashes: [{ alg: 'SHA-256', content: 'ab'.repeat(32) }],
        cpe: 'cpe:2.3:o:acme:plc_firmware:2.9:*:*:*:*:*:*:*',
      },
      {
        type: 'application',
        'bom-ref': namespace + runtime.id,
        version: '1.4',
        purl: 'pkg:generic/acme/runtime@1.4',
        name: 'Runtime',
      },
    ])
    assert.deepEqual(bill.dependencies, [
      { ref: namespace + device.id, dependsOn: [`${namespace}${device.id}:software:0`, namespace + runtime.id] },
      { ref: namespace + runtime.id, dependsOn: [] },
    ])
  })

  test('the bill of a plant contains devices with their components, and what each device depends on', async () => {
    const assets = [
      { document: device, relations: [installation] },
      { document: runtime, relations: [installation] },
    ]
    const bill = await validBill(plantSbom(streamOf(assets), { ...options, name: 'Plant 1' }))
    assert.deepEqual(bill.metadata.component, { type: 'platform', name: 'Plant 1', 'bom-ref': `${namespace}all` })
    assert.deepEqual(
      bill.components.map(({ name, components = [] }) => [name, components.map((one) => one.name)]),
      [
        ['PLC 1', ['PLC firmware']],
        ['Runtime', []],
      ],
    )
    assert.deepEqual(bill.dependencies, [
      { ref: `${namespace}all`, dependsOn: [namespace + device.id, namespace + runtime.id] },
      { ref: namespace + device.id, dependsOn: [`${namespace}${device.id}:software:0`, namespace + runtime.id] },
    ])
  })

  test('the bill of a plant without assets is valid', async () => {
    const bill = await validBill(plantSbom(streamOf<ExportedAsset>([]), { ...options, name: 'Plant 1' }))
    assert.deepEqual(bill.components, [])
  })

  test('bills of random assets are valid in the strict schema, and every reference has its component', async () => {
    const documents = fc.uniqueArray(assetDocument, { maxLength: 4, selector: ({ id }) => id })
    await fc.assert(
      fc.asyncProperty(documents, async (assets) => {
        const exported = assets.map((document) => ({ document, relations: relationsTo(document, assets) }))
        const plant = await validBill(plantSbom(streamOf(exported), { ...options, name: 'Plant 1' }))
        assertReferences(plant)
        const [first, ...others] = assets
        if (first === undefined) return
        assertReferences(await validBill(assetSbom(first, { ...options, installed: others })))
      }),
      { numRuns: 60 },
    )
  })
})

type Component = { name: string; 'bom-ref': string; components?: Component[] }
type Bill = {
  serialNumber: string
  metadata: { component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

async function validBill(parts: AsyncIterable<string>): Promise<Bill> {
  const text = await textOf(parts)
  assert.equal(await validator.validate(text), null)
  return JSON.parse(text)
}

function relationsTo(document: AssetDocument, others: AssetDocument[]) {
  return others.map((other) => ({
    ...installation,
    subject: { type: 'asset' as const, id: String(document.id) },
    object: { type: 'asset' as const, id: String(other.id) },
  }))
}

function assertReferences({ metadata, components, dependencies }: Bill): void {
  const referencesOf = (list: Component[]): string[] =>
    list.flatMap((one) => [one['bom-ref'], ...referencesOf(one.components ?? [])])
  const references = referencesOf([metadata.component, ...components])
  assert.equal(new Set(references).size, references.length)
  for (const reference of dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]))
    assert.ok(references.includes(reference), reference)
}
