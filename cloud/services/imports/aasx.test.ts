import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { unfinishedExportStates } from '@millwright/api/exports.ts'
import { importMediaTypes } from '@millwright/api/imports.ts'
import { plantAssets } from '@millwright/links/plant/generator.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { importFile, outcomesOf, rowsOf } from './testing.ts'

const aasx = { mediaType: importMediaTypes.aasx, fileName: 'plant.aasx' }

describe('imports of AASX packages', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('an exported plant is unchanged when it is imported, and complete when it is imported after a deletion', async () => {
    const plant = [...plantAssets({ assets: 30, seed: 7, relations: 5 })]
    const assets = plant.map(({ asset }) => asset)
    await admin.inventory.createAssets({ body: { data: { assets } }, headers: { prefer: 'wait=30' } })
    await hub.settle()
    const { data: property } = await admin.inventory.createCustomProperty({
      body: { data: { name: 'Cost', data_type: 'number' } },
    })
    const listed = (await admin.inventory.listAssets({ query: { limit: 100 } })).data
    const [part, whole] = listed.map(({ id }) => String(id)) as [string, string]
    await admin.inventory.setPropertyValues({
      body: { data: [{ asset_id: part, key: property.key, value: 12.5 }] },
      headers: { prefer: 'wait=30' },
    })
    const subject = { type: 'asset', id: part } as const
    const object = { type: 'asset', id: whole } as const
    await admin.inventory.createRelation({ body: { data: { subject, predicate: 'is_module_of', object } } })

    const content = await exportedPackage()
    const again = await importFile(admin, content, aasx)
    assert.deepEqual(
      [again.problem, again.format, again.rows, again.unchanged, again.failed],
      [undefined, 'aasx', 30, 30, 0],
      JSON.stringify(await failuresOf(again.id)),
    )

    const before = await documentOf(part)
    await admin.inventory.deleteAssets({ body: { data: { ids: [part] } }, headers: { prefer: 'wait=30' } })
    const restored = await importFile(admin, content, aasx)
    assert.deepEqual([restored.created, restored.unchanged, restored.failed], [1, 29, 0])
    const created = (await rowsOf(admin, restored.id)).find(({ outcome }) => outcome === 'created')
    const after = await documentOf(created?.assetId ?? '')
    assert.deepEqual(after, before)
    const { data: relations } = await admin.inventory.listAssetRelations({ params: { id: created?.assetId ?? '' } })
    assert.deepEqual(
      relations.map((relation) => relation.object.id),
      [whole],
    )
  })

  test('a nameplate of another program creates an asset, and fills in missing values of an existing one', async () => {
    const nameplate = (serial: string, more: object[] = []) =>
      JSON.stringify({
        assetAdministrationShells: [
          {
            modelType: 'AssetAdministrationShell',
            id: 'urn:shell',
            idShort: 'Valve',
            assetInformation: { assetKind: 'Instance' },
            submodels: [{ type: 'ModelReference', keys: [{ type: 'Submodel', value: 'urn:nameplate' }] }],
          },
        ],
        submodels: [
          {
            modelType: 'Submodel',
            id: 'urn:nameplate',
            idShort: 'Nameplate',
            submodelElements: [
              {
                modelType: 'MultiLanguageProperty',
                idShort: 'ManufacturerName',
                value: [{ language: 'en', text: 'Acme Valves' }],
              },
              { modelType: 'Property', idShort: 'SerialNumber', valueType: 'xs:string', value: serial },
              ...more,
            ],
          },
        ],
      })
    const first = await importFile(admin, nameplate('V-1'), aasx)
    assert.deepEqual([first.problem, first.format, first.created], [undefined, 'aasx', 1])
    const hardware = { modelType: 'Property', idShort: 'HardwareVersion', valueType: 'xs:string', value: 'H2' }
    const second = await importFile(admin, nameplate('V-1', [hardware]), aasx)
    assert.deepEqual([second.updated, second.failed], [1, 0])
    const rows = await rowsOf(admin, second.id)
    assert.deepEqual(outcomesOf(rows), ['1 updated'])
    const { name, product_instance_information: product } = await documentOf(rows[0]?.assetId ?? '')
    assert.deepEqual(
      [name, product],
      [
        'Valve',
        {
          serial_number: 'V-1',
          manufacturer_product: { manufacturer: { name: 'Acme Valves' }, product_version: 'H2' },
        },
      ],
    )
    const without = await importFile(admin, nameplate(''), aasx)
    assert.deepEqual(outcomesOf(await rowsOf(admin, without.id)), ['1 failed missing'])
  })

  test('a package that cannot be read fails with one problem', async () => {
    const damaged = await importFile(admin, '{"submodels":[{', aasx)
    assert.deepEqual([damaged.state, damaged.problem?.code], ['failed', 'damaged_file'])
  })

  async function exportedPackage(): Promise<Uint8Array<ArrayBuffer>> {
    const { data } = await admin.exports.createExport({ body: { data: { what: 'assets', format: 'aasx' } } })
    for (;;) {
      const { data: file } = await admin.exports.readExport({ params: { exportId: data.exportId } })
      if (!unfinishedExportStates.includes(file.state)) {
        assert.equal(file.state, 'finished', JSON.stringify(file.problem))
        break
      }
      await delay(20)
    }
    const headers = { authorization: `Bearer ${admin.token}` }
    const url = new URL(`/exports/v1/files/${data.exportId}/content`, await hub.listen())
    return new Uint8Array(await (await fetch(url, { headers })).arrayBuffer())
  }

  async function failuresOf(importId: string) {
    return (await rowsOf(admin, importId)).filter(({ outcome }) => outcome !== 'unchanged').slice(0, 3)
  }

  /** Returns an asset without the fields that differ after it is created again. */
  async function documentOf(id: string): Promise<Record<string, unknown>> {
    const { data } = await admin.inventory.readAsset({ params: { id }, query: {} })
    const { data: identifiers } = await admin.inventory.readIdentifiers({ params: { id } })
    const kept = Object.entries(data).filter(([name]) => !/^id$|_timestamp$|_state$/.test(name))
    return { ...Object.fromEntries(kept), identifiers }
  }
})
