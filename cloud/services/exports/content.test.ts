import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { read, utils } from '@e965/xlsx'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { ExportRequest } from '@millwright/api/exports.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { addPart, deleteEarlierParts, type ExportRow, findExport, startAttempt } from './export-store.ts'
import { endedExport, exportedFile, fetchContent, insertWaiting, readExport, runWaiting, valuesIn } from './testing.ts'

describe('content of exports', () => {
  let hub: TestHub
  let admin: TestCaller
  /** A caller that can read the assets of line 1 only. */
  let reader: TestCaller
  const ids: Record<string, string> = {}

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    const group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line-1' } } })).data.id
    reader = await createCaller(hub, [
      { permissions: ['glb_file_export', 'glb_inventory_read_relation_data'] },
      { permissions: ['inventory_read_asset_data'], accessGroupId: group },
    ])
    const created = await admin.inventory.createCustomProperty({
      body: { data: { name: 'Cost', data_type: 'number' } },
    })
    const property = created.data.key
    const names = ['press', 'pump', 'robot']
    const assets = names.map((name, index) => ({
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name,
      access_group: name === 'robot' ? 'default' : 'line-1',
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: `00:1b:1b:00:00:0${index}` }],
    }))
    await admin.inventory.createAssets({ body: { data: { assets } }, headers: { prefer: 'wait=30' } })
    await hub.settle()
    for (const { id, name } of (await admin.inventory.listAssets({})).data) ids[String(name)] = String(id)
    await admin.inventory.setPropertyValues({
      body: { data: [{ asset_id: ids.press ?? '', key: property, value: 12.5 }] },
      headers: { prefer: 'wait=30' },
    })
    const relate = (subject: string, predicate: string, object: string) =>
      admin.inventory.createRelation({
        body: {
          data: {
            subject: { type: 'asset', id: ids[subject] ?? '' },
            predicate,
            object: { type: 'asset', id: ids[object] ?? '' },
          },
        },
      })
    await relate('pump', 'is_part_of', 'press')
    await relate('robot', 'is_part_of', 'press')
    const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    const { data: hall } = await admin.hierarchy.createNode({
      params: { id: tree.id },
      body: { data: { name: 'Hall/1', properties: { color: 'blue' } } },
    })
    await admin.hierarchy.assignAssets({ params: { id: hall.id }, body: { data: { assetIds: [ids.pump ?? ''] } } })
    await hub.settle()
  })

  after(() => hub[Symbol.asyncDispose]())

  const linesOf = async (caller: TestCaller, request: ExportRequest) =>
    valuesIn((await exportedFile(hub, caller, request)).content)

  test('exports all columns of assets as .xlsx: custom properties, parents, hierarchy paths and ids', async () => {
    const { content } = await exportedFile(hub, admin, { what: 'assets', format: 'xlsx', sort: 'name' })
    const book = read(content)
    const rows = utils.sheet_to_json<Record<string, string>>(book.Sheets.Assets ?? {}, { defval: '' })
    const shown = rows.map((row) => [
      row.Name,
      row.Cost,
      row.Parent,
      row['Hierarchy path'],
      row['Access group'],
      row.ID,
    ])
    assert.deepEqual(shown, [
      ['press', '12.5', '', '', 'line-1', ids.press],
      ['pump', '', `press [${ids.press}]`, 'Plant/Hall\\/1', 'line-1', ids.pump],
      ['robot', '', `press [${ids.press}]`, '', 'default', ids.robot],
    ])
  })

  test('leaves out parents and hierarchy paths that the caller cannot read', async () => {
    const columns = ['name', 'parent', 'hierarchy_path']
    const { content } = await exportedFile(hub, reader, { what: 'assets', format: 'csv', columns, sort: 'name' })
    assert.deepEqual(content.toString().split('\r\n').slice(1, -1), ['press,,', `pump,press [${ids.press}],`])
  })

  test('exports relations only between readable assets', async () => {
    const relations = { what: 'relations', format: 'ndjson', filter: `predicate eq 'is_part_of'` } as const
    const all = await linesOf(admin, relations)
    assert.deepEqual(all.map(({ subjectName }) => subjectName).toSorted(), ['pump', 'robot'])
    assert.deepEqual(
      (await linesOf(reader, { what: 'relations', format: 'ndjson' }))
        .map(({ subjectName, predicate, objectName }) => [subjectName, predicate, objectName])
        .filter(([, predicate]) => predicate === 'is_part_of'),
      [['pump', 'is_part_of', 'press']],
    )
    const { content } = await exportedFile(hub, reader, { ...relations, format: 'csv', columns: ['object_name', 'id'] })
    assert.match(content.toString(), /^\ufeffObject name,ID\r\npress,[0-9a-f-]{36}\r\n$/)
  })

  test('exports the nodes of hierarchies', async () => {
    assert.deepEqual(await linesOf(admin, { what: 'hierarchy', format: 'ndjson' }), [
      { hierarchy: 'Plant', path: ['Hall/1'], properties: { color: 'blue' } },
    ])
    const { content } = await exportedFile(hub, admin, { what: 'hierarchy', format: 'csv' })
    assert.equal(
      content.toString(),
      '\ufeffHierarchy,Path,Name,Level,Type,Properties\r\nPlant,Hall\\/1,Hall/1,1,,color: blue\r\n',
    )
  })

  test('exports the audit trail with its filters, in a form that can be verified', async () => {
    const entries = { action: 'hierarchy.createHierarchy' }
    await hub.settle()
    const exported = await linesOf(admin, { what: 'audit', format: 'ndjson', entries })
    assert.deepEqual(
      exported.map(({ action }) => action),
      ['hierarchy.createHierarchy'],
    )
    assert.match(String(exported[0]?.hash), /^[0-9a-f]{64}$/)
    const columns = ['action', 'outcome', 'principal_kind']
    const { content } = await exportedFile(hub, admin, { what: 'audit', format: 'csv', entries, columns })
    assert.equal(content.toString(), '\ufeffAction,Outcome,Principal kind\r\nhierarchy.createHierarchy,done,user\r\n')
  })

  test('exports the graph of all readable assets, and the graph around an asset', async () => {
    const graphOf = async (caller: TestCaller, request: Partial<ExportRequest>) => {
      const { content } = await exportedFile(hub, caller, { what: 'graph', format: 'json', ...request })
      const { nodes, edges } = JSON.parse(content.toString()) as Record<'nodes' | 'edges', Record<string, unknown>[]>
      return [nodes.flatMap(({ name }) => name ?? []).toSorted(), edges.map(({ predicate }) => predicate)]
    }
    assert.deepEqual(await graphOf(admin, {}), [
      ['press', 'pump', 'robot'],
      ['is_part_of', 'is_part_of'],
    ])
    assert.deepEqual(await graphOf(reader, {}), [['press', 'pump'], ['is_part_of']])
    assert.deepEqual(await graphOf(admin, { filter: `name eq 'pump'` }), [['pump'], []])
    const around = await graphOf(admin, { assetId: ids.robot ?? '', depth: 2 })
    assert.deepEqual(around[0], ['press', 'pump', 'robot'])
    for (const [format, start] of [
      ['graphml', '<?xml'],
      ['dot', 'digraph'],
    ] as const) {
      const { content } = await exportedFile(hub, admin, { what: 'graph', format })
      assert.ok(content.toString().startsWith(start), content.toString().slice(0, 100))
      assert.ok(content.includes('robot'))
    }
  })

  test('exports assets in the formats of other standards', async () => {
    const { content: bill } = await exportedFile(hub, admin, { what: 'assets', format: 'cyclonedx' })
    assert.equal(JSON.parse(bill.toString()).components.length, 3)
    const one = { what: 'assets', format: 'cyclonedx', assetId: ids.pump ?? '' } as const
    const ofOne = await exportedFile(hub, admin, one)
    assert.equal(JSON.parse(ofOne.content.toString()).metadata.component.name, 'pump')
    assert.deepEqual([ofOne.file.rows, ofOne.file.total], [1, 1])
    const shells = await exportedFile(hub, reader, { what: 'assets', format: 'aas-json' })
    assert.equal(JSON.parse(shells.content.toString()).assetAdministrationShells.length, 2)
    assert.deepEqual([shells.file.rows, shells.file.total], [2, 2])
    const { content: aasx, headers } = await exportedFile(hub, admin, { what: 'assets', format: 'aasx' })
    assert.equal(aasx.toString('latin1', 0, 2), 'PK')
    assert.equal(headers.get('content-type'), 'application/asset-administration-shell-package')
  })

  test('exports an empty selection as a valid file in every format', async () => {
    const nothing = { what: 'assets', filter: `name eq 'nothing'` } as const
    for (const format of ['csv', 'ndjson', 'json', 'xlsx', 'aas-json', 'cyclonedx'] as const) {
      const { file, content } = await exportedFile(hub, admin, { ...nothing, format })
      assert.equal(file.rows, 0)
      if (format === 'json') assert.deepEqual(JSON.parse(content.toString()), { data: [] })
      if (format === 'xlsx') assert.equal(utils.sheet_to_json(read(content).Sheets.Assets ?? {}).length, 0)
    }
  })

  const rowOf = (id: string): Promise<ExportRow | undefined> =>
    hub.context.database.read(hub.tenant, (handle) => findExport(handle, id))

  test('deletes an export and its content when it expires', async () => {
    const { file } = await exportedFile(hub, admin, { what: 'assets', format: 'ndjson' })
    const count = (table: string, column: string) =>
      hub.asOwner(async (owner) =>
        Number((await owner.query(`select count(*) from ${table} where ${column} = $1`, [file.id])).rows[0].count),
      )
    assert.equal(await count('export_parts', 'export_id'), 1)
    await hub.asOwner((owner) =>
      owner.query(`update exports set expires_at = now() - interval '1 second' where id = $1`, [file.id]),
    )
    hub.contextOf('exports').tasks.wake(hub.tenant.tenantId, 'exports.prune')
    await hub.settle()
    assert.equal(await rowOf(file.id), undefined)
    assert.deepEqual([await count('export_parts', 'export_id'), await count('exports', 'id')], [0, 0])
    assert.equal((await fetchContent(hub, admin, file.id)).status, 404)
  })

  test('starts an interrupted export again from the beginning, without its old content', async () => {
    const id = await insertWaiting(hub, admin, { what: 'assets', format: 'ndjson', sort: 'name' })
    // A worker that died after its first part leaves this state.
    await hub.asOwner(async (owner) => {
      await owner.query(`update exports set state = 'running', attempt = 1, parts = 1, bytes = 4 where id = $1`, [id])
      await owner.query(
        `insert into export_parts (tenant_id, export_id, number, is_compressed, content) values ($1, $2, 0, false, 'old!')`,
        [hub.tenant.tenantId, id],
      )
    })
    await runWaiting(hub, id)
    const file = await endedExport(admin, id)
    const content = Buffer.from(await (await fetchContent(hub, admin, id)).arrayBuffer())
    assert.deepEqual(
      valuesIn(content).map(({ name }) => name),
      ['press', 'pump', 'robot'],
    )
    assert.equal(content.length, file.bytes)
    assert.equal((await rowOf(id))?.attempt, 2)
  })

  test('ends the job of a deleted export whose process died before it ended the job', async () => {
    const id = await insertWaiting(hub, admin, { what: 'assets', format: 'ndjson' })
    const { jobId } = await readExport(admin, id)
    await hub.asOwner((owner) =>
      owner.query(
        `update exports set state = 'canceled', is_deleted = true, finished_at = now(), expires_at = now() where id = $1`,
        [id],
      ),
    )
    hub.contextOf('exports').tasks.wake(hub.tenant.tenantId, 'exports.prune')
    await hub.settle()
    assert.equal((await admin.jobs.getJob({ params: { id: jobId } })).data.phase, 'canceled')
    assert.equal(await rowOf(id), undefined)
  })

  test('refuses the parts of a worker after another worker has started the export, and after its cancellation', async () => {
    const id = await insertWaiting(hub, admin, { what: 'assets', format: 'ndjson' })
    const now = new Date().toISOString()
    const inTransaction = <Result>(work: (tx: Transaction) => Promise<Result>) =>
      hub.context.database.transaction(hub.tenant, work)
    const part = { content: Buffer.from('part'), bytes: 4, isCompressed: false }
    const store = (attempt: number) => inTransaction((tx) => addPart(tx, { id, attempt }, part, now))
    await inTransaction((tx) => startAttempt(tx, id, now))
    assert.equal(await store(1), true)
    await inTransaction((tx) => startAttempt(tx, id, now))
    const deleteEarlier = (attempt: number) => inTransaction((tx) => deleteEarlierParts(tx, { id, attempt }, 10))
    assert.deepEqual(await deleteEarlier(2), { isEmpty: true })
    assert.deepEqual([await store(1), await store(2)], [false, true])
    assert.equal(await deleteEarlier(1), undefined)
    await admin.exports.cancelExport({ params: { exportId: id } })
    assert.equal(await store(2), false)
    assert.equal(await inTransaction((tx) => startAttempt(tx, id, now)), undefined)
    hub.contextOf('exports').tasks.wake(hub.tenant.tenantId, 'exports.prune')
    await hub.settle()
    const left = await hub.asOwner(
      async (owner) =>
        (await owner.query('select count(*) from export_parts where export_id = $1', [id])).rows[0].count,
    )
    assert.equal(Number(left), 0)
  })
})
