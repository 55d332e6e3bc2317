import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ExportRequest, exportContents, exportFormats, exportLimits, formatsOf } from '@millwright/api/exports.ts'
import type { Problem } from '@millwright/api/problem.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  endedExport,
  exportedFile,
  fetchContent,
  insertWaiting,
  readExport,
  runWaiting,
  startExport,
  valuesIn,
} from './testing.ts'

const assets = { what: 'assets', format: 'ndjson' } as const satisfies ExportRequest

describe('exports', () => {
  let hub: TestHub
  let admin: TestCaller
  let line1: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    line1 = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line-1' } } })).data.id
    const { baseSchemaUrl } = await import('@millwright/api/asset-schema.ts')
    const documents = ['press', 'robot', 'scale'].map((name, index) => ({
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name,
      ...(name === 'press' ? { access_group: 'line-1' } : {}),
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: `00:1b:1b:00:00:0${index}` }],
    }))
    await admin.inventory.createAssets({ body: { data: { assets: documents } }, headers: { prefer: 'wait=30' } })
    await hub.settle()
  })

  after(() => hub[Symbol.asyncDispose]())

  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'done',
      (error: unknown) => (error as Problem).code,
    )

  test('exports all readable assets with their identifiers as NDJSON', async () => {
    const { file, content, headers } = await exportedFile(hub, admin, assets)
    const exported = valuesIn(content)
    assert.deepEqual(exported.map(({ name }) => name).toSorted(), ['press', 'robot', 'scale'])
    const { data } = await admin.inventory.listAssets({})
    const withoutIdentifiers = exported.map(({ asset_identifiers: _, ...document }) => document)
    assert.deepEqual(withoutIdentifiers, data)
    const [{ asset_identifiers: [identifier] = [] } = {}] = exported as {
      asset_identifiers?: { mac_address: string }[]
    }[]
    assert.match(identifier?.mac_address ?? '', /^00:1b:1b:00:00:0/)
    assert.deepEqual([file.rows, file.total, file.progress, file.mediaType], [3, 3, 100, 'application/x-ndjson'])
    assert.equal(headers.get('content-type'), 'application/x-ndjson')
    assert.equal(
      headers.get('content-disposition'),
      `attachment; filename="${file.fileName}"; filename*=UTF-8''${file.fileName}`,
    )
    assert.match(file.fileName, /^assets-\d{8}-\d{6}\.ndjson$/)
    assert.equal(Date.parse(file.expiresTimestamp ?? '') - Date.parse(file.finishedTimestamp ?? ''), 24 * 3_600_000)
  })

  test('exports only the assets that the caller can read and that the filter selects', async () => {
    const reader = await createCaller(hub, [
      { permissions: ['glb_file_export'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: line1 },
    ])
    const names = async (caller: TestCaller, request: Partial<ExportRequest>) =>
      valuesIn((await exportedFile(hub, caller, { ...assets, ...request })).content).map(({ name }) => name)
    assert.deepEqual(await names(reader, {}), ['press'])
    assert.deepEqual(await names(reader, { filter: `name eq 'robot'` }), [])
    assert.deepEqual(await names(admin, { filter: `name ne 'robot'`, sort: '-name' }), ['scale', 'press'])
    assert.deepEqual(await names(admin, { q: 'rob' }), ['robot'])
  })

  test('exports the chosen columns as CSV, in their order', async () => {
    const columns = ['mac_address', 'name', 'management_state']
    const { content, headers } = await exportedFile(hub, admin, {
      what: 'assets',
      format: 'csv',
      columns,
      sort: 'name',
    })
    assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
    assert.deepEqual(content.toString().split('\r\n'), [
      '\ufeffMAC address,Name,Management state',
      '00:1b:1b:00:00:00,press,unknown',
      '00:1b:1b:00:00:01,robot,unknown',
      '00:1b:1b:00:00:02,scale,unknown',
      '',
    ])
  })

  test('refuses each combination of content and format that has no meaning, with the formats of the content', async () => {
    for (const what of exportContents)
      for (const format of exportFormats) {
        if (formatsOf[what].includes(format)) continue
        await assert.rejects(startExport(admin, { what, format }), (problem: Problem) => {
          assert.equal(problem.code, 'invalid_body')
          assert.equal(problem.errors?.[0]?.pointer, '/data/format')
          assert.ok(problem.message.includes(formatsOf[what].join(', ')))
          return true
        })
      }
  })

  test('refuses fields that do not apply, unknown columns, invalid filters and hidden assets', async () => {
    const missing = '00000000-0000-4000-8000-000000000000'
    const cases: [ExportRequest, string, string?][] = [
      [{ ...assets, hierarchyId: missing }, 'invalid_body', '/data/hierarchyId'],
      [{ ...assets, columns: ['name'] }, 'invalid_body', '/data/columns'],
      [{ what: 'assets', format: 'csv', columns: ['name', 'colour'] }, 'invalid_body', '/data/columns/1'],
      [{ what: 'audit', format: 'csv', columns: ['name'] }, 'invalid_body', '/data/columns/0'],
      [{ what: 'graph', format: 'dot', depth: 2 }, 'invalid_body', '/data/depth'],
      [{ ...assets, filter: 'name eq' }, 'invalid_filter', '/data/filter'],
      [{ ...assets, filter: `colour eq 'red'` }, 'unknown_property', '/data/filter'],
      [{ what: 'relations', format: 'csv', filter: `colour eq 'red'` }, 'unknown_property', '/data/filter'],
      [{ ...assets, assetId: missing }, 'not_found'],
      [{ what: 'hierarchy', format: 'csv', hierarchyId: missing }, 'not_found'],
    ]
    for (const [request, code, pointer] of cases)
      await assert.rejects(startExport(admin, request), (problem: Problem) => {
        assert.deepEqual([problem.code, problem.errors?.[0]?.pointer], [code, pointer], JSON.stringify(request))
        return true
      })
  })

  test('requires the permission to read the content', async () => {
    const exporter = await createCaller(hub, [{ permissions: ['glb_file_export', 'inventory_read_asset_data'] }])
    for (const what of ['relations', 'hierarchy', 'audit'] as const)
      assert.equal(await codeOf(startExport(exporter, { what, format: 'csv' })), 'forbidden', what)
  })

  test('shows an export only to its user, and its content to no other user', async () => {
    const other = await hub.as('operator')
    const { file } = await exportedFile(hub, await hub.as('operator'), assets)
    const params = { exportId: file.id }
    assert.deepEqual((await other.exports.listExports({})).data, [])
    assert.equal(await codeOf(other.exports.readExport({ params })), 'not_found')
    assert.equal(await codeOf(other.exports.cancelExport({ params })), 'not_found')
    assert.equal((await fetchContent(hub, other, file.id)).status, 404)
    // An administrator manages the exports of all users, but does not read their content.
    assert.equal((await readExport(admin, file.id)).id, file.id)
    assert.equal((await fetchContent(hub, admin, file.id)).status, 404)
    await admin.exports.deleteExport({ params })
    assert.equal(await codeOf(admin.exports.readExport({ params })), 'not_found')
  })

  test('refuses the download after the user has lost a right with which the content was read', async () => {
    const line2 = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line-2' } } })).data.id
    const grantsOf = async ({ principalId }: TestCaller) =>
      (await admin.authorization.listGrants({ query: { principal: principalId } })).data
    for (const lost of [line2, null]) {
      const user = await createCaller(hub, [
        { permissions: ['glb_file_export'] },
        { permissions: ['inventory_read_asset_data'], accessGroupId: line1 },
        { permissions: ['inventory_read_asset_data'], accessGroupId: line2 },
      ])
      const { file } = await exportedFile(hub, user, assets)
      for (const grant of await grantsOf(user))
        if (grant.accessGroup === lost) await admin.authorization.deleteGrant({ params: { id: grant.id } })
      const response = await fetchContent(hub, user, file.id)
      assert.deepEqual([response.status, ((await response.json()) as Problem).code], [403, 'forbidden'])
    }
  })

  test('refuses the download of relations after the user has lost the permission to read relations', async () => {
    const user = await createCaller(hub, [
      { permissions: ['glb_file_export', 'inventory_read_asset_data'] },
      { permissions: ['glb_inventory_read_relation_data'] },
    ])
    const { file } = await exportedFile(hub, user, { what: 'relations', format: 'ndjson' })
    const { data: grants } = await admin.authorization.listGrants({ query: { principal: user.principalId } })
    await admin.authorization.deleteGrant({ params: { id: grants[1]?.id ?? '' } })
    assert.equal((await fetchContent(hub, user, file.id)).status, 403)
  })

  test('cancels a waiting export, and deletes it on request', async () => {
    const exportId = await insertWaiting(hub, admin, assets)
    assert.equal((await fetchContent(hub, admin, exportId)).status, 409)
    const { data } = await admin.exports.cancelExport({ params: { exportId } })
    assert.equal(data.state, 'canceled')
    const job = () => admin.jobs.getJob({ params: { id: data.jobId } })
    assert.deepEqual((await job()).data.phase, 'canceled')
    assert.equal(await codeOf(admin.exports.cancelExport({ params: { exportId } })), 'conflict')
    await admin.exports.deleteExport({ params: { exportId } })
    assert.equal(await codeOf(readExport(admin, exportId)), 'not_found')
  })

  test('shows the export as a job with its result', async () => {
    const { file } = await exportedFile(hub, admin, assets)
    await hub.settle()
    const { data } = await admin.jobs.getJob({ params: { id: file.jobId } })
    assert.deepEqual(
      [data.type, data.phase, data.progress, data.definition.exportId, data.message],
      ['file-export', 'finished', 100, file.id, `${file.fileName}: 3 rows`],
    )
    assert.deepEqual(
      data.history.map(({ state }) => state),
      ['CREATED', 'RUNNING', 'FINISHED'],
    )
  })

  test('limits the unfinished exports of a user', async () => {
    const user = await hub.as('operator')
    const ids: string[] = []
    for (let number = 0; number < exportLimits.unfinishedOfUser; number++)
      ids.push(await insertWaiting(hub, user, assets))
    assert.equal(await codeOf(startExport(user, assets)), 'conflict')
    await user.exports.deleteExport({ params: { exportId: ids[0] ?? '' } })
    assert.equal(await codeOf(startExport(user, assets)), 'done')
    for (const exportId of ids.slice(1)) await user.exports.cancelExport({ params: { exportId } })
  })

  test('fails if the user loses the permission before the export runs', async () => {
    const user = await createCaller(hub, [{ permissions: ['glb_file_export', 'inventory_read_asset_data'] }])
    const exportId = await insertWaiting(hub, user, assets)
    const { data: grants } = await admin.authorization.listGrants({ query: { principal: user.principalId } })
    for (const { id } of grants) await admin.authorization.deleteGrant({ params: { id } })
    await runWaiting(hub, exportId)
    const file = await endedExport(admin, exportId)
    assert.deepEqual([file.state, file.problem?.code], ['failed', 'forbidden'])
    await hub.settle()
    const { data } = await admin.jobs.getJob({ params: { id: file.jobId } })
    assert.equal(data.phase, 'failed')
  })
})
