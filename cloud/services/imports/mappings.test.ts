import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { importMediaTypes } from '@millwright/api/imports.ts'
import { openFile } from '../../platform/files/table.ts'
import { temporaryFile } from '../../platform/files/testing.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { importFile, rowsOf } from './testing.ts'

let hub: TestHub
let admin: TestCaller

before(async () => {
  hub = await testHub()
  admin = await hub.as('administrator')
})

after(() => hub[Symbol.asyncDispose]())

describe('mappings', () => {
  test('write the columns of a foreign file to fields, and ignore the others', async () => {
    const columns = [
      { from: 'Mac', to: 'mac_address' },
      { from: 'Bezeichnung', to: 'name' },
      { from: 'Zimmer', to: null },
    ]
    const { data: mapping } = await admin.imports.createMapping({ body: { data: { name: 'CMDB', columns } } })
    await assert.rejects(admin.imports.createMapping({ body: { data: { name: 'CMDB', columns } } }), {
      code: 'already_exists',
    })
    const file = 'MAC;Bezeichnung;Zimmer\n00:1b:1b:50:00:01;Drucker;7\n'
    const done = await importFile(admin, file, { mapping: mapping.id })
    const [row] = await rowsOf(admin, done.id)
    const { data: asset } = await admin.inventory.readAsset({ params: { id: row?.assetId ?? '' }, query: {} })
    assert.equal(asset.name, 'Drucker')
    const { data: suggested } = await admin.imports.suggestMapping({ body: { mediaType: 'text/csv', content: file } })
    assert.deepEqual([suggested.mappingId, suggested.columns[0]?.reason], [mapping.id, 'mapping'])
    const renamed = { name: 'CMDB 2', columns }
    const { data: updated } = await admin.imports.updateMapping({
      params: { mappingId: mapping.id },
      body: { data: renamed },
    })
    assert.equal(updated.name, 'CMDB 2')
    assert.equal((await admin.imports.listMappings({ query: {} })).meta.totalElements, 1)
    await admin.imports.deleteMapping({ params: { mappingId: mapping.id } })
    await assert.rejects(admin.imports.deleteMapping({ params: { mappingId: mapping.id } }), { code: 'not_found' })
    const unknown = [{ from: 'X', to: 'custom_properties/0198f0c2-7b1e-7c3a-9d55-0242ac120002' }]
    await assert.rejects(admin.imports.createMapping({ body: { data: { name: 'Y', columns: unknown } } }), {
      code: 'property_not_found',
    })
  })

  test('are suggested from English and German headings and from values, unless the values contradict', async () => {
    const file = 'Seriennr.;Hersteller;Hostname;X;Y;Z\nS-1;Acme;plc-1;00-1B-1B-00-00-07;10.0.0.7;hello\n'
    const { data } = await admin.imports.suggestMapping({ body: { mediaType: 'text/csv', content: file } })
    assert.deepEqual(
      data.columns.map(({ to, reason }) => [to, reason]),
      [
        ['serial_number', 'heading'],
        ['manufacturer', 'heading'],
        ['name', 'heading'],
        ['mac_address', 'values'],
        ['ip_address', 'values'],
        [null, null],
      ],
    )
    const doubtful = 'MAC;Typ;Einbauort\n00-1B-1B-00-00-07;S7-1500;Halle 1\n'
    const fitting = 'MAC;Typ;Einbauort\n00-1B-1B-00-00-07;Device;Plant/Halle 1\n'
    const fieldsOf = async (content: string) =>
      (await admin.imports.suggestMapping({ body: { mediaType: 'text/csv', content } })).data.columns.map(
        ({ to }) => to,
      )
    assert.deepEqual(await fieldsOf(doubtful), ['mac_address', null, null])
    assert.deepEqual(await fieldsOf(fitting), ['mac_address', 'functional_object_type', 'hierarchy_path'])
    await assert.rejects(admin.imports.suggestMapping({ body: { mediaType: 'text/csv', content: '%PDF' } }), {
      code: 'unsupported_file',
    })
  })
})

describe('files of the import service', () => {
  const download = async (path: string) => {
    const headers = { authorization: `Bearer ${admin.token}` }
    const answer = await hub.request({ method: 'GET', path: `/imports/v1${path}`, headers })
    assert.equal(answer.status, 200, answer.text)
    return answer
  }

  test('the template has the columns of the tenant, and can be imported', async () => {
    const answer = await download('/template?format=xlsx')
    assert.equal(answer.headers.get('content-type'), importMediaTypes.xlsx)
    using file = temporaryFile(answer.bytes)
    const { headings } = await openFile(file.path)
    assert.deepEqual(headings.slice(0, 3), ['Name', 'Type', 'Description'])
    assert.equal((await importFile(admin, new Uint8Array(answer.bytes))).problem?.code, 'file_without_rows')
    const csv = await download('/template?format=csv')
    assert.match(csv.text, /^\ufeff?Name,Type,Description,Manufacturer,/)
  })

  test('the report is the uploaded table with the result of each row and its reason', async () => {
    const csv = await importFile(admin, 'Name;MAC address\n=1;00:1b:1b:60:00:01\nB;wrong\n')
    const report = await download(`/files/${csv.id}/report`)
    assert.match(
      report.text,
      /Name,MAC address,Result,Reason\r\n'=1,00:1b:1b:60:00:01,created,\r\nB,wrong,failed,"?MAC/,
    )
    const ndjson = await importFile(admin, '{"name":"x"}\n', { mediaType: importMediaTypes.ndjson })
    assert.match(
      (await download(`/files/${ndjson.id}/report`)).text,
      /^\{"name":"x","result":"failed","reason":"The row/,
    )
  })
})
