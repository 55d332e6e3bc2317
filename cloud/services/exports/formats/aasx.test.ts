import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Problem } from '@millwright/api/problem.ts'
import { plantAssets } from '@millwright/links/plant/generator.ts'
import fc from 'fast-check'
import { type AasxRow, readAasx } from '../../../platform/files/aasx.ts'
import { ZipArchive } from '../../../platform/files/zip.ts'
import { zipParts } from '../../../platform/files/zip-writer.ts'
import { shellOf, submodelsOf } from './aas.ts'
import { aasJson } from './aas-environment.ts'
import { aasx } from './aasx.ts'
import { assetNamespace, type ExportedAsset } from './exported-asset.ts'
import { environmentXml, exportedAssets, streamOf, textOf } from './testing.ts'

const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'
const options = { namespace: assetNamespace('0199d1c0-0000-7000-8000-000000000000'), propertyName: () => 'Cost centre' }

/** Reads the packages with Eclipse BaSyx, which fails at the first error, and prints what they contain. */
const reader = `
import json, sys
from basyx.aas import model
from basyx.aas.adapter import aasx
for path in sys.argv[1:]:
    store = model.DictIdentifiableStore()
    with aasx.AASXReader(path, failsafe=False) as package:
        package.read_into(store, aasx.DictSupplementaryFileContainer())
    shells = [one for one in store if isinstance(one, model.AssetAdministrationShell)]
    for shell in shells:
        for reference in shell.submodel:
            reference.resolve(store)
    nameplates = [one for one in store if isinstance(one, model.Submodel) and one.id_short == 'Nameplate']
    names = {one.id: one.get_referable('ManufacturerName').value for one in nameplates}
    print(json.dumps({
        'ids': sorted(one.id for one in store),
        'manufacturers': {key: value['en'] for key, value in names.items() if value is not None},
    }))
`

function hasBasyx(): boolean {
  try {
    execFileSync(python, ['-c', 'from basyx.aas.adapter import aasx'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('Eclipse BaSyx reads packages of a generated plant and of random assets without an error', async (t) => {
  if (!hasBasyx()) return t.skip('basyx-python-sdk is not installed')
  const folder = await mkdtemp(join(tmpdir(), 'millwright-aasx-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const plant = [...plantAssets({ assets: 50, seed: 1, relations: 0 })].map(({ asset, place }) => ({
    document: { id: `00000000-0000-7000-8000-${String(place).padStart(12, '0')}`, ...asset },
    relations: [],
  }))
  const samples: ExportedAsset[][] = [plant, ...fc.sample(exportedAssets, { numRuns: 20, seed: 1 })]
  const paths = await Promise.all(
    samples.map(async (assets, index) => {
      const path = join(folder, `${index}.aasx`)
      const parts = await Array.fromAsync(aasx(() => streamOf(assets), options))
      await writeFile(path, Buffer.concat(parts))
      return path
    }),
  )
  const lines = execFileSync(python, ['-c', reader, ...paths])
    .toString()
    .trim()
    .split('\n')
  const read = lines.map((line) => JSON.parse(line))
  const ids = samples.map((assets) =>
    assets.flatMap((asset) => [shellOf(asset, options).id, ...submodelsOf(asset, options).map(({ id }) => id)]).sort(),
  )
  assert.deepEqual(
    read.map((one) => one.ids),
    ids,
  )
  assert.equal(Object.keys(read[0].manufacturers).length, plant.length)
})

describe('reading an exported package', () => {
  test('returns the documents of random assets unchanged, also if another program saved the package as XML', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'millwright-aasx-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    await fc.assert(
      fc.asyncProperty(exportedAssets, async (assets) => {
        const expected = assets.map(importedRow)
        const path = join(folder, 'exported.aasx')
        await writeFile(path, Buffer.concat(await Array.fromAsync(aasx(() => streamOf(assets), options))))
        assert.deepEqual(await rowsOf(path), expected)
        const environment = JSON.parse(await textOf(aasJson(() => streamOf(assets), options)))
        await writeXmlPackage(path, environmentXml(environment))
        assert.deepEqual(await rowsOf(path), expected)
      }),
      { numRuns: 40 },
    )
  })

  test('returns values that were changed in the nameplate and in the names of the shell', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'millwright-aasx-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const document = {
      id: '0199d1c0-0000-7000-8000-00000000000a',
      name: 'Old name',
      product_instance_information: {
        manufacturer_product: { manufacturer: { name: 'Old vendor' }, product_id: 'P1' },
      },
      software_components: [
        {
          software_component_type: 'SoftwareArtifactComponent',
          artifact: {
            functional_object_type: 'SoftwareArtifact',
            is_firmware: true,
            asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'FW', version: 'V1' }],
          },
        },
      ],
    }
    const text = await textOf(aasJson(() => streamOf([{ document, relations: [] }]), options))
    const environment = JSON.parse(text)
    environment.assetAdministrationShells[0].displayName[0].text = 'New name'
    const elements = environment.submodels[0].submodelElements as { idShort: string; value?: unknown }[]
    const element = (name: string) => elements.find(({ idShort }) => idShort === name) ?? { value: undefined }
    element('ManufacturerName').value = [{ language: 'en', text: 'New vendor' }]
    element('FirmwareVersion').value = 'V2'
    elements.push({ idShort: 'SerialNumber', value: 'S2', ...{ modelType: 'Property', valueType: 'xs:string' } })
    const path = join(folder, 'changed.aasx')
    await writeXmlPackage(path, environmentXml(environment))
    const [row] = await rowsOf(path)
    const [component] = document.software_components
    assert.deepEqual(row, {
      row: 1,
      document: {
        ...document,
        name: 'New name',
        product_instance_information: {
          serial_number: 'S2',
          manufacturer_product: { manufacturer: { name: 'New vendor' }, product_id: 'P1' },
        },
        software_components: [
          {
            ...component,
            artifact: {
              ...component?.artifact,
              asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'FW', version: 'V2' }],
            },
          },
        ],
      },
    })
  })
})

/** Returns the row that an import reads for an exported asset. */
function importedRow({ document, relations }: ExportedAsset, index: number): AasxRow {
  const {
    reachability_state: _,
    trust_state: __,
    created_timestamp: ___,
    last_modified_timestamp: ____,
    ...kept
  } = document
  const properties = (kept.custom_properties ?? []) as object[]
  const parent = relations.find(({ subject, predicate }) => subject.id === document.id && predicate === 'is_part_of')
  return {
    row: index + 1,
    document: {
      ...(parent === undefined ? {} : { parent: parent.object.id }),
      ...kept,
      ...(properties.length === 0
        ? {}
        : { custom_properties: properties.map((property) => ({ ...property, name: 'Cost centre' })) }),
    },
  }
}

async function rowsOf(path: string): Promise<AasxRow[]> {
  const archive = await ZipArchive.open(path, { entries: 100, unpackedBytes: 1e9 })
  try {
    return await Array.fromAsync(readAasx(archive))
  } finally {
    archive.close()
  }
}

/** Writes a package as older versions of the AASX Package Explorer do. */
async function writeXmlPackage(path: string, environment: string): Promise<void> {
  const relationships = (type: string, target: string) =>
    `<Relationships><Relationship Type="http://www.admin-shell.io/aasx/relationships/${type}" Target="${target}" Id="R" /></Relationships>`
  const parts = zipParts([
    { name: 'aasx/aasx-origin', content: [] },
    { name: '_rels/.rels', content: [relationships('aasx-origin', '/aasx/aasx-origin')] },
    { name: 'aasx/my shell/a.aas.xml', content: [environment] },
    { name: 'aasx/_rels/aasx-origin.rels', content: [relationships('aas-spec', 'my%20shell/a.aas.xml')] },
  ])
  await writeFile(path, Buffer.concat(await Array.fromAsync(parts)))
}

test('ends an export whose package an import could not read again, and names the remedy', async () => {
  const [assets = []] = fc.sample(exportedAssets, { numRuns: 1, seed: 1 })
  const parts = aasx(() => streamOf(assets), options, { environmentBytes: 100 })
  await assert.rejects(Array.fromAsync(parts), (problem: Problem) => {
    assert.equal(problem.code, 'conflict')
    assert.match(problem.message, /more than 100 bytes before compression.*Use a filter that selects fewer assets/)
    return true
  })
})
