import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { importLimits, importMediaTypes } from '@millwright/api/imports.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { endOf, importFile, outcomesOf, rowsOf } from './testing.ts'

let hub: TestHub
let admin: TestCaller

before(async () => {
  hub = await testHub()
  admin = await hub.as('administrator')
})

after(() => hub[Symbol.asyncDispose]())

/** Returns the document of the asset of a row. */
async function assetOf(importId: string, row: number) {
  const id = (await rowsOf(admin, importId)).find((one) => one.row === row)?.assetId ?? ''
  return (await admin.inventory.readAsset({ params: { id }, query: {} })).data
}

describe('an import', () => {
  test('creates the assets of a CSV file, and changes nothing when the file is imported again', async () => {
    const file =
      'Name;MAC address;Manufacturer;Serial number;IP address\nDrive 1;00-1B-1B-AA-00-01;Acme;S1;10.0.0.1\nDrive 2;;Acme;S2;fe80::2\nNo id;;;;\n'
    const first = await importFile(admin, file, { fileName: 'drives.csv' })
    assert.deepEqual(
      [
        first.problem,
        first.state,
        first.fileName,
        first.format,
        first.rows,
        first.created,
        first.failed,
        first.progress,
      ],
      [undefined, 'finished', 'drives.csv', 'csv', 3, 2, 1, 100],
    )
    const rows = await rowsOf(admin, first.id)
    assert.deepEqual(outcomesOf(rows), ['2 created', '3 created', '4 failed missing'])
    assert.equal((await assetOf(first.id, 2)).name, 'Drive 1')
    const again = await importFile(admin, file)
    assert.deepEqual([again.created, again.updated, again.unchanged, again.failed], [0, 0, 2, 1])
    assert.equal((await rowsOf(admin, again.id))[0]?.matchedBy?.length, 2)
  })

  test('shows in a dry run what the import does, and then does it', async () => {
    const file = 'Name,MAC address\nA,00:1b:1b:bb:00:01\nB,wrong\n'
    const dry = await importFile(admin, file, { dryRun: true })
    assert.deepEqual([dry.state, dry.dryRun, dry.created, dry.failed, dry.canRun], ['finished', true, 1, 1, true])
    const preview = await rowsOf(admin, dry.id)
    assert.deepEqual(outcomesOf(preview), ['2 created', '3 failed pattern'])
    assert.equal(preview[1]?.errors?.[0]?.column, 'MAC address')
    assert.equal(preview[0]?.assetId, undefined)
    const filter = `asset_identifiers/any(i: i/mac_address eq '00:1b:1b:bb:00:01')`
    assert.equal((await admin.inventory.listAssets({ query: { filter } })).data.length, 0)
    const { data } = await admin.imports.runImport({ params: { importId: dry.id } })
    assert.notEqual(data.jobId, dry.jobId)
    const done = await endOf(admin, dry.id)
    assert.deepEqual([done.dryRun, done.created, done.failed, done.canRun], [false, 1, 1, false])
    assert.deepEqual(outcomesOf(await rowsOf(admin, dry.id)), outcomesOf(preview))
    assert.equal((await admin.inventory.listAssets({ query: { filter } })).data.length, 1)
    await assert.rejects(admin.imports.runImport({ params: { importId: dry.id } }), { code: 'conflict' })
  })

  test('changes only the fields of cells that are not empty', async () => {
    const heading = 'MAC address,Name,Type,Manufacturer,Product,Order number,Firmware version,IP address,Description\n'
    const mac = '00:1b:1b:cc:00:01'
    const first = await importFile(admin, `${heading}${mac},Pump,device,Acme,P1,O-1,V1.0,10.1.0.1,"two\nlines"\n`)
    const before = await assetOf(first.id, 2)
    const second = await importFile(admin, `${heading}${mac},,,,P2,,V2.0,,\n`)
    assert.equal(second.updated, 1)
    const product = (name: string) => ({
      manufacturer_product: { manufacturer: { name: 'Acme' }, product_id: 'O-1', product_name: name },
    })
    assert.deepEqual(before.product_instance_information, product('P1'))
    const after = await assetOf(second.id, 2)
    assert.deepEqual(after.product_instance_information, product('P2'))
    assert.deepEqual([after.name, after.description], ['Pump', 'two\nlines'])
    assert.match(JSON.stringify(after.software_components), /V2\.0/)
    assert.deepEqual(after.connection_points, before.connection_points)
  })

  test('writes custom properties, and reports the column of a wrong value', async () => {
    const create = async (name: string, data_type: 'boolean' | 'number') =>
      (await admin.inventory.createCustomProperty({ body: { data: { name, data_type } } })).data.key
    const key = await create('In use', 'boolean')
    await create('Weight', 'number')
    const file = 'MAC address,In use,Weight\n00:1b:1b:dd:00:01,TRUE,\n00:1b:1b:dd:00:02,,heavy\n'
    const done = await importFile(admin, file)
    const rows = await rowsOf(admin, done.id)
    assert.deepEqual(outcomesOf(rows), ['2 created', '3 failed type'])
    assert.deepEqual(rows[1]?.errors, [{ column: 'Weight', code: 'type', detail: 'Weight must be a number' }])
    assert.deepEqual((await assetOf(done.id, 2)).custom_properties, [{ key, value: 'true' }])
    assert.equal((await importFile(admin, file)).unchanged, 1)
  })

  test('requires write permission in the access group of each row', async () => {
    const group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'Hall 3' } } })).data
    const hidden = (await admin.authorization.createAccessGroup({ body: { data: { name: 'Hall 4' } } })).data
    await admin.authorization.createRole({ body: { data: { name: 'importer', permissions: ['glb_file_import'] } } })
    const importer = await hub.as('importer')
    await admin.authorization.createGrant({
      body: { data: { principal: importer.principalId, role: 'operator', accessGroup: group.id } },
    })
    const caller = hub.withToken(
      await hub.tokenFor(importer.principalId, { roles: ['importer', 'operator'] }),
      importer.principalId,
    )
    await importFile(admin, `MAC address,Access group\n00:1b:1b:ee:00:09,${hidden.name}\n`)
    const file = [
      'MAC address,Access group',
      `00:1b:1b:ee:00:01,${group.name}`,
      `00:1b:1b:ee:00:02,${hidden.name}`,
      '00:1b:1b:ee:00:03,no such group',
      '00:1b:1b:ee:00:04,',
      `00:1b:1b:ee:00:09,${group.name}`,
    ]
    for (const dryRun of [true, false]) {
      const done = await importFile(caller, `${file.join('\n')}\n`, { dryRun })
      assert.deepEqual(outcomesOf(await rowsOf(caller, done.id)), [
        '2 created',
        '3 failed access_group_not_found',
        '4 failed access_group_not_found',
        '5 failed forbidden',
        '6 failed identity_taken',
      ])
    }
  })

  test('fails a row that repeats the identifier of an earlier row', async () => {
    const file = 'MAC address,Name\n00:1b:1b:ff:00:01,a\n00-1B-1B-FF-00-01,b\n'
    for (const dryRun of [true, false]) {
      const rows = await rowsOf(admin, (await importFile(admin, file, { dryRun })).id)
      assert.deepEqual(outcomesOf(rows), ['2 created', '3 failed duplicate_row'])
    }
  })

  test('assigns assets to nodes and parents, also to parents in later rows', async () => {
    const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    const node = (name: string, parentId?: string) =>
      admin.hierarchy.createNode({
        params: { id: tree.id },
        body: { data: { name, ...(parentId === undefined ? {} : { parentId }) } },
      })
    const hall = (await node('Hall 1')).data.id
    const line = (await node('Line 1/2', hall)).data.id
    const file = [
      'MAC address,Name,Hierarchy path,Parent',
      '00:1b:1b:10:00:01,Module,,Rack 7',
      '00:1b:1b:10:00:02,Rack 7,Plant/Hall 1/Line 1\\/2,',
      '00:1b:1b:10:00:03,Lost,Plant/Hall 2,',
      '00:1b:1b:10:00:04,Orphan,,no such rack',
      '00:1b:1b:10:00:05,Other,Factory/Hall 1,',
    ]
    const expected = ['4 failed node_not_found', '5 failed asset_not_found', '6 failed node_not_found']
    const dry = await importFile(admin, `${file.join('\n')}\n`, { dryRun: true })
    assert.deepEqual(outcomesOf(await rowsOf(admin, dry.id)), ['2 created', '3 created', ...expected])
    await admin.imports.runImport({ params: { importId: dry.id } })
    const done = await endOf(admin, dry.id)
    const rows = await rowsOf(admin, done.id)
    assert.deepEqual(outcomesOf(rows), ['2 created', '3 created', ...expected])
    const { data: assigned } = await admin.hierarchy.listNodeAssets({ params: { id: line }, query: {} })
    assert.deepEqual(
      assigned.map(({ name }) => name),
      ['Rack 7'],
    )
    const { data: relations } = await admin.inventory.listAssetRelations({
      params: { id: rows[0]?.assetId ?? '' },
      query: {},
    })
    assert.deepEqual(
      relations.map(({ predicate, object }) => [predicate, object.id]),
      [['is_part_of', rows[1]?.assetId]],
    )
    const again = await importFile(admin, `${file.join('\n')}\n`)
    assert.deepEqual([again.created, again.updated, again.unchanged, again.failed], [0, 0, 2, 3])
    const moved = await importFile(admin, 'MAC address,Hierarchy path\n00:1b:1b:10:00:02,Plant/Hall 1\n')
    assert.equal(moved.updated, 1)
  })

  test('fails with the problem of a file that cannot be read', async () => {
    const failed = await importFile(admin, '%PDF-1.7', { mediaType: 'application/octet-stream' })
    assert.deepEqual([failed.state, failed.problem?.code, failed.rows], ['failed', 'unsupported_file', 0])
    const unknown = await importFile(admin, 'Foo,Bar\n1,2\n')
    assert.match(unknown.problem?.detail ?? '', /no column that identifies assets.*Foo, Bar.*template/)
    assert.equal((await importFile(admin, 'MAC address\n')).problem?.code, 'file_without_rows')
    await assert.rejects(admin.imports.readReport({ params: { importId: failed.id } }), { code: 'conflict' })
  })

  test('has a job that the user sees, with the counts of the rows', async () => {
    const done = await importFile(admin, 'MAC address\n00:1b:1b:20:00:01\n', { fileName: 'job.csv' })
    for (;;) {
      const { data: job } = await admin.jobs.getJob({ params: { id: done.jobId } })
      if (job.phase !== 'finished') continue
      assert.deepEqual([job.type, job.definition.fileName, job.progress], ['file-import', 'job.csv', 100])
      assert.match(job.message ?? '', /created: 1, updated: 0/)
      return
    }
  })
})

describe('tables of spreadsheet programs', () => {
  test('the line with the separator, and texts in the form of a formula, are read as Excel reads them', async () => {
    const file = 'sep=;\nName;MAC address;Description\nFan, left;00:1b:1b:e1:00:01;="00123"\n'
    const done = await importFile(admin, file)
    assert.deepEqual(outcomesOf(await rowsOf(admin, done.id)), ['3 created'])
    const { name, description } = await assetOf(done.id, 3)
    assert.deepEqual([name, description], ['Fan, left', '00123'])
  })

  test('a rounded serial number fails, because different devices would become one asset', async () => {
    const file = 'Name,Manufacturer,Serial number\nA,Acme,1.23457E+11\nB,Acme,"1,23457E+11"\nC,Acme,1E5\n'
    const rows = await rowsOf(admin, (await importFile(admin, file)).id)
    assert.deepEqual(outcomesOf(rows), ['2 failed pattern', '3 failed pattern', '4 created'])
    assert.equal(rows[0]?.errors?.[0]?.column, 'Serial number')
    assert.match(rows[0]?.errors?.[0]?.detail ?? '', /rounded/)
  })

  test('a date can have the day first', async () => {
    const body = { data: { name: 'Built on', data_type: 'date' as const } }
    const { key } = (await admin.inventory.createCustomProperty({ body })).data
    const done = await importFile(admin, 'MAC address,Built on\n00:1b:1b:e1:00:02,7.5.2024\n00:1b:1b:e1:00:03,soon\n')
    assert.deepEqual(outcomesOf(await rowsOf(admin, done.id)), ['2 created', '3 failed type'])
    assert.deepEqual((await assetOf(done.id, 2)).custom_properties, [{ key, value: '2024-05-07' }])
  })
})

describe('large rows', () => {
  test('are shortened in the list of rows, and complete in the report', onlyInLongRuns, async () => {
    const long = 'ä'.repeat(importLimits.cellCharacters)
    const columns = Array.from({ length: 100 }, (_, index) => `Note ${index}`)
    const cells = columns.map(() => long).join(',')
    const mac = (row: number) => `00:1b:1b:e5:00:${row.toString(16).padStart(2, '0')}`
    const lines = Array.from({ length: 10 }, (_, row) => `${mac(row)},${cells}\n`)
    const done = await importFile(admin, `MAC address,${columns.join(',')}\n${lines.join('')}`)
    assert.deepEqual([done.problem, done.created], [undefined, 10])
    const { data } = await admin.imports.listRows({ params: { importId: done.id }, query: {} })
    assert.equal(data[9]?.cells.length, 101)
    assert.deepEqual(data[9]?.cells.slice(0, 2), [mac(9), `${'ä'.repeat(importLimits.shownCharacters - 1)}…`])
    const report = String(await admin.imports.readReport({ params: { importId: done.id } }))
    assert.equal(report.split(long).length, 10 * 100 + 1)
    const document = {
      description: long.slice(0, 4_000),
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac(20) }],
      responsible: 'someone',
    }
    const content = `${JSON.stringify(document)}\n`
    const other = await importFile(admin, content, { mediaType: importMediaTypes.ndjson })
    const [row] = await rowsOf(admin, other.id)
    assert.deepEqual([row?.outcome, row?.cells.length], ['created', 1])
    assert.equal(row?.cells[0]?.length, importLimits.shownDocumentCharacters)
  })

  test('fail with the column of a text that is too long for an index of the database', async () => {
    const text = () => randomBytes(importLimits.cellCharacters / 2).toString('hex')
    const file = `Name,MAC address,Parent\n${text()},00:1b:1b:e6:00:01,\nok,00:1b:1b:e6:00:02,${text()}\n`
    const rows = await rowsOf(admin, (await importFile(admin, file)).id)
    assert.deepEqual(outcomesOf(rows), ['2 failed maxLength', '3 failed asset_not_found'])
    assert.deepEqual(
      rows.map(({ errors }) => errors?.[0]?.column),
      ['Name', 'Parent'],
    )
    assert.ok((rows[1]?.errors?.[0]?.detail.length ?? 0) < 300, 'the error repeats the whole text')
  })
})

test('a column can have no heading', async () => {
  const done = await importFile(admin, 'MAC address,,Name\n00:1b:1b:e7:00:01,a,b\n')
  assert.deepEqual(
    [done.created, done.columns],
    [
      1,
      [
        { from: 'MAC address', to: 'mac_address' },
        { from: '', to: null },
        { from: 'Name', to: 'name' },
      ],
    ],
  )
  const body = { mediaType: 'text/csv', content: 'Foo,\n1,00:1b:1b:e7:00:01\n' }
  const { data } = await admin.imports.suggestMapping({ query: {}, body })
  assert.deepEqual(
    data.columns.map(({ from }) => from),
    ['Foo'],
  )
})

test('the detail of an error names its column once', async () => {
  const file = 'MAC address,IP address,Name\n00:1b:1b:e8:00:01,999.1.1.1,a\n,,b\n'
  const rows = await rowsOf(admin, (await importFile(admin, file)).id)
  const details = rows.map(({ errors }) => errors?.[0]?.detail ?? '')
  assert.match(details[0] ?? '', /^IP address must be/)
  assert.match(details[1] ?? '', /^The row has no identifier/)
})

describe('places of rows', () => {
  test('a parent with the id of another tenant is found by its row or its name', async () => {
    const [one, two, other] = Array.from({ length: 3 }, () => crypto.randomUUID())
    await importFile(admin, 'Name,MAC address\nStored rack,00:1b:1b:e9:00:01\n')
    const file = [
      'ID,Name,MAC address,Parent',
      `${one},Rack,00:1b:1b:e9:00:02,`,
      `${two},Rack,00:1b:1b:e9:00:03,`,
      `,M1,00:1b:1b:e9:00:04,Rack [${two}]`,
      `,M2,00:1b:1b:e9:00:05,Stored rack [${other}]`,
      `,M3,00:1b:1b:e9:00:06,[${other}]`,
    ]
    const done = await importFile(admin, `${file.join('\n')}\n`)
    const rows = await rowsOf(admin, done.id)
    const expected = ['2 created', '3 created', '4 created', '5 created', '6 failed asset_not_found']
    assert.deepEqual(outcomesOf(rows), expected)
    const id = rows[2]?.assetId ?? ''
    const { data } = await admin.inventory.listAssetRelations({ params: { id }, query: {} })
    assert.deepEqual(
      data.map(({ object }) => object.id),
      [rows[1]?.assetId],
    )
  })

  test('an asset that names itself as its parent fails, in a dry run too', async () => {
    const file = 'Name,MAC address,Parent\nLonely crane,00:1b:1b:e2:00:01,Lonely crane\n'
    const dry = await importFile(admin, file, { dryRun: true })
    assert.deepEqual(outcomesOf(await rowsOf(admin, dry.id)), ['2 failed conflict'])
    const done = await importFile(admin, file)
    assert.deepEqual(outcomesOf(await rowsOf(admin, done.id)), ['2 failed conflict'])
  })

  test('finds many stored parents by name, MAC address, serial number and id', async () => {
    const pair = (index: number) => index.toString(16).padStart(2, '0')
    const rack = (index: number) => `Rack ${index},00:1b:1b:e3:00:${pair(index)},Acme,O'S-${index}`
    const racks = Array.from({ length: 60 }, (_, index) => rack(index))
    const twins = ['Twin,00:1b:1b:e3:02:01,Acme,T1', 'Twin,00:1b:1b:e3:02:02,Acme,T2']
    const stored = await importFile(
      admin,
      ['Name,MAC address,Manufacturer,Serial number', ...racks, ...twins].join('\n'),
    )
    const ids = (await rowsOf(admin, stored.id)).map(({ assetId }) => assetId ?? '')
    const texts = [
      ...racks.map((_, index) => (index % 2 === 0 ? `Rack ${index}` : `O'S-${index}`)),
      '001B.1BE3.0007',
      ids[8] ?? '',
      'Twin',
      'Unknown rack',
      'x'.repeat(5_000),
    ]
    const parts = texts.map((text, index) => `Part ${index},00:1b:1b:e4:00:${pair(index)},${text}`)
    const done = await importFile(admin, ['Name,MAC address,Parent', ...parts].join('\n'))
    const rows = await rowsOf(admin, done.id)
    const failed = rows.filter(({ outcome }) => outcome === 'failed')
    assert.deepEqual(outcomesOf(failed), [
      '64 failed conflict',
      '65 failed asset_not_found',
      '66 failed asset_not_found',
    ])
    const parentOf = async (row: number) => {
      const subject = rows.find((one) => one.row === row)?.assetId
      const filter = `subject.id eq '${subject}'`
      return (await admin.inventory.listRelations({ query: { filter } })).data[0]?.object.id
    }
    assert.deepEqual(
      [
        await parentOf(2),
        await parentOf(3),
        await parentOf(60),
        await parentOf(61),
        await parentOf(62),
        await parentOf(63),
      ],
      [ids[0], ids[1], ids[58], ids[59], ids[7], ids[8]],
    )
  })

  test('without permission for hierarchies or relations, only the rows with a path or a parent fail', async () => {
    await importFile(admin, 'Name,MAC address\nMain rack,00:1b:1b:e2:00:10\n')
    const permissions = ['glb_file_import', 'inventory_read_asset_data', 'inventory_write_asset_data'] as const
    await admin.authorization.createRole({ body: { data: { name: 'plain-importer', permissions: [...permissions] } } })
    const caller = await hub.as('plain-importer')
    const file = [
      'Name,MAC address,Hierarchy path,Parent',
      'P1,00:1b:1b:e2:00:11,Plant/Site,',
      'P2,00:1b:1b:e2:00:12,,',
      'P3,00:1b:1b:e2:00:13,,Main rack',
      '',
    ].join('\n')
    const dry = await importFile(caller, file, { dryRun: true })
    const expected = ['2 failed forbidden', '3 created', '4 failed forbidden']
    assert.deepEqual([dry.problem, outcomesOf(await rowsOf(caller, dry.id))], [undefined, expected])
  })
})
