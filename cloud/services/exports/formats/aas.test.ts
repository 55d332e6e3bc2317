import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import type { GraphEdge } from '@millwright/api/inventory/inventory.ts'
import fc from 'fast-check'
import { aasJson } from './aas-environment.ts'
import { assetNamespace, type ExportedAsset } from './exported-asset.ts'
import { exportedAssets, streamOf, textOf } from './testing.ts'

/** The library has no working ES modules. */
const { jsonization, verification } = createRequire(import.meta.url)('@aas-core-works/aas-core3.0-typescript')

const namespace = assetNamespace('0199d1c0-0000-7000-8000-000000000000')
const options = { namespace, propertyName: (key: string) => (key.startsWith('0') ? undefined : `property ${key}`) }

const device = '0199d1c0-0000-7000-8000-00000000000a'
const module = '0199d1c0-0000-7000-8000-00000000000b'
const edge: GraphEdge = {
  id: '0199d1c0-0000-7000-8000-0000000000ab',
  subject: { type: 'asset', id: module },
  predicate: 'is_module_of',
  object: { type: 'asset', id: device },
}

const assets: ExportedAsset[] = [
  {
    document: {
      id: device,
      functional_object_type: 'Device',
      name: '7 Press "A"',
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:00:01' }],
      product_instance_information: {
        serial_number: 'S1',
        manufacturer_product: {
          manufacturer: { name: 'Acme' },
          product_id: 'A-100',
          product_name: 'PLC 100',
          product_version: '3',
          product_family: 'PLC',
          product_type: 'P',
        },
      },
      software_components: [
        {
          software_component_type: 'SoftwareArtifactComponent',
          artifact: {
            functional_object_type: 'SoftwareArtifact',
            is_firmware: true,
            asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version: 'V2.9' }],
          },
        },
      ],
    },
    relations: [edge],
  },
  {
    document: { id: module, functional_object_type: 'Device', asset_identifiers: [] },
    relations: [edge],
  },
]

describe('Asset Administration Shells', () => {
  test('each asset has a shell, and the submodels of the templates with its fields', async () => {
    const environment = await environmentOf(assets)
    const [shell] = environment.assetAdministrationShells
    assert.equal(shell?.id, `${namespace}${device}:shell`)
    assert.equal(shell.idShort, 'Press_A_')
    assert.deepEqual(shell.assetInformation, {
      assetKind: 'Instance',
      globalAssetId: namespace + device,
      specificAssetIds: [
        { name: 'serialNumber', value: 'S1' },
        { name: 'articleNumber', value: 'A-100' },
        { name: 'macAddress', value: '02:00:00:00:00:01' },
      ],
    })
    const submodels = environment.submodels.slice(0, shell.submodels.length)
    assert.deepEqual(
      shell.submodels.map(({ keys: [key] }) => key?.value),
      submodels.map(({ id }) => id),
    )
    assert.deepEqual(
      submodels.map(({ idShort, semanticId: { keys } }) => [idShort, keys[0]?.value]),
      [
        ['Nameplate', 'https://admin-shell.io/idta/nameplate/3/0/Nameplate'],
        ['TechnicalData', '0173-1#01-AHX837#002'],
        ['HierarchicalStructures', 'https://admin-shell.io/idta/HierarchicalStructures/1/1/Submodel'],
        ['SoftwareNameplate', 'https://admin-shell.io/idta/SoftwareNameplate/1/0'],
      ],
    )
    const [nameplate, , structure, software] = submodels.map(({ submodelElements }) => valuesOf(submodelElements))
    assert.deepEqual(nameplate, {
      URIOfTheProduct: namespace + device,
      ManufacturerName: 'Acme',
      ManufacturerProductDesignation: 'PLC 100',
      AddressInformation: { Street: undefined, Zipcode: undefined, CityTown: undefined, NationalCode: undefined },
      ManufacturerProductFamily: 'PLC',
      ManufacturerProductType: 'P',
      OrderCodeOfManufacturer: 'A-100',
      ProductArticleNumberOfManufacturer: 'A-100',
      SerialNumber: 'S1',
      HardwareVersion: '3',
      FirmwareVersion: 'V2.9',
    })
    assert.equal(structure?.ArcheType, 'OneDown')
    assert.deepEqual(software?.SoftwareNameplateInstance, {
      InstalledVersion: 'V2.9',
      InstallationDate: undefined,
      InstalledOnHost: '7 Press "A"',
    })
  })

  test('a part refers to its whole, and the whole to its parts', async () => {
    const { submodels } = await environmentOf(assets)
    const structures = submodels.filter(({ idShort }) => idShort === 'HierarchicalStructures')
    assert.deepEqual(
      structures.map(({ submodelElements: [entry, archeType] }) => [
        archeType?.value,
        entry?.globalAssetId,
        entry?.statements?.map(({ idShort, globalAssetId }) => [idShort, globalAssetId]),
      ]),
      [
        [
          'OneDown',
          namespace + device,
          [
            ['Node_0', namespace + module],
            ['HasPart_0', undefined],
          ],
        ],
        [
          'OneUp',
          namespace + module,
          [
            ['Node_0', namespace + device],
            ['IsPartOf_0', undefined],
          ],
        ],
      ],
    )
  })

  test('environments of random assets have no errors in the verification of aas-core', async () => {
    await fc.assert(
      fc.asyncProperty(exportedAssets, async (random) => {
        await environmentOf(random)
      }),
      { numRuns: 40 },
    )
  })

  test('an asset that is created or deleted during the export leaves a valid environment', async () => {
    const [first, second] = assets as [ExportedAsset, ExportedAsset]
    const passes = [
      [[first], [second, first]],
      [[first, second], [second]],
      [[first], []],
      [[], [first]],
    ]
    for (const [before = [], after = []] of passes) {
      const reads = [before, after]
      const environment = parsed(await textOf(aasJson(() => streamOf(reads.shift() ?? []), options)))
      const shells = environment.assetAdministrationShells ?? []
      assert.equal(shells.length, before.length)
      const ids = shells.map(({ id }) => id.replace(/shell$/, ''))
      for (const { id } of environment.submodels ?? []) assert.ok(ids.some((start) => id.startsWith(start)))
    }
  })
})

type Item = {
  idShort: string
  value?: unknown
  globalAssetId?: string
  statements?: Item[]
}
type Environment = {
  assetAdministrationShells: {
    id: string
    idShort: string
    assetInformation: object
    submodels: { keys: { value: string }[] }[]
  }[]
  submodels: { id: string; idShort: string; semanticId: { keys: { value: string }[] }; submodelElements: Item[] }[]
}

async function environmentOf(list: readonly ExportedAsset[]): Promise<Environment> {
  return parsed(await textOf(aasJson(() => streamOf(list), options)))
}

/** Parses an environment with the library, which also verifies all constraints of the metamodel. */
function parsed(text: string): Environment {
  const value = JSON.parse(text)
  const { value: environment, error } = jsonization.environmentFromJsonable(value)
  assert.equal(error, null, error === null ? '' : `${error.message} at ${error.path}`)
  const errors = [...verification.verify(environment)]
  assert.deepEqual(
    errors.map(({ message, path }) => `${message} at ${path}`),
    [],
  )
  return value
}

function valuesOf(items: Item[]): { [name: string]: unknown } {
  return Object.fromEntries(
    items.map(({ idShort, value }) => {
      if (!Array.isArray(value)) return [idShort, value]
      return [idShort, 'language' in value[0] ? value[0].text : valuesOf(value)]
    }),
  )
}
