import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { importLimits } from '@millwright/api/imports.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { deleteExpired } from './retention.ts'
import { endOf, importFile } from './testing.ts'

let hub: TestHub
let admin: TestCaller

before(async () => {
  hub = await testHub()
  admin = await hub.as('administrator')
})

after(() => hub[Symbol.asyncDispose]())

describe('uploads', () => {
  const form = (field: string) =>
    `--b\r\ncontent-disposition: form-data; name="${field}"; filename="Geräte.csv"\r\ncontent-type: text/csv\r\n\r\nMAC address\n00:1b:1b:30:00:01\n\r\n--b--\r\n`
  const post = (body: string | Buffer, type: string, query = '') =>
    hub.request({
      method: 'POST',
      path: `/imports/v1/files${query}`,
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': type },
      body,
    })

  test('accepts a form with the field file', async () => {
    const { status, body } = await post(form('file'), 'multipart/form-data; boundary=b')
    assert.equal(status, 202)
    const done = await endOf(admin, (body as { data: { importId: string } }).data.importId)
    assert.deepEqual([done.fileName, done.created], ['Geräte.csv', 1])
  })

  test('returns 400 for a form without the file, 415 for another media type, and 413 for a file that is too large', async () => {
    const codeOf = (answer: { body: unknown }) => (answer.body as { code: string }).code
    assert.equal(codeOf(await post(form('other'), 'multipart/form-data; boundary=b')), 'invalid_body')
    assert.equal(codeOf(await post(form('file').slice(0, 60), 'multipart/form-data; boundary=b')), 'invalid_body')
    assert.equal(codeOf(await post('{}', 'application/json')), 'unsupported_media_type')
    assert.equal(codeOf(await post('A\n', 'text/csv; charset=latin1')), 'unsupported_media_type')
    assert.equal(codeOf(await post(Buffer.alloc(importLimits.fileBytes + 1), 'text/csv')), 'body_too_large')
    assert.equal(
      codeOf(await post('A\n', 'text/csv', '?mapping=0198f0c2-7b1e-7c3a-9d55-0242ac120002')),
      'mapping_not_found',
    )
  })

  test('stores the name of a file without folders and control characters', async () => {
    const names: [string, string][] = [
      ['?fileName=a%00b.csv', 'a b.csv'],
      ['?fileName=..%2F..%2Fetc%2Fpasswd', 'passwd'],
      ['?fileName=C%3A%5Ctemp%5Cx.csv', 'x.csv'],
      ['?fileName=%0D%0A', 'import'],
      ['', 'import'],
    ]
    for (const [query, expected] of names) {
      const { body } = await post('MAC address\n00:1b:1b:33:00:01\n', 'text/csv', query)
      const { importId } = (body as { data: { importId: string } }).data
      assert.equal((await endOf(admin, importId)).fileName, expected)
    }
  })

  test('deletes the parts of an upload that is refused after they were stored', async () => {
    // The form has no end.
    const cut = form('file').replace('\r\n--b--\r\n', 'x'.repeat(3_000_000))
    const { status, body } = await post(cut, 'multipart/form-data; boundary=b')
    assert.deepEqual([status, (body as { code: string }).code], [400, 'invalid_body'])
    assert.equal(await storedParts('import_id not in (select id from imports)'), 0)
  })

  test('refuses a file if the files and rows of the tenant exceed the limit, also those of uploads that did not end', async () => {
    const other = await hub.anotherTenant()
    const caller = await hub.as('administrator', { tenant: other })
    const done = await importFile(caller, 'MAC address\n00:1b:1b:32:00:01\n')
    await hub.asOwner((owner) =>
      owner.query('update imports set characters = $2 where id = $1', [done.id, importLimits.storedBytes - 100]),
    )
    const dry = await importFile(caller, 'MAC address\n00:1b:1b:32:00:02\n', { dryRun: true })
    assert.equal(dry.created, 1)
    await hub.asOwner((owner) =>
      owner.query(
        `insert into import_file_parts (tenant_id, import_id, part, content, created_at)
         values ($1, gen_random_uuid(), 0, $2, now())`,
        [other.tenantId, Buffer.alloc(100)],
      ),
    )
    const message = /stores 2 imports .* Delete past imports first/
    await assert.rejects(importFile(caller, 'MAC address\n'), { code: 'conflict', message })
  })

  test('imports a file once if the request is repeated with the same Idempotency-Key', async () => {
    const body = { mediaType: 'text/csv', content: 'MAC address\n00:1b:1b:31:00:01\n' }
    const send = () => admin.imports.uploadFile({ body, headers: { 'idempotency-key': 'upload 1' } })
    assert.deepEqual(await send(), await send())
  })
})

async function storedParts(condition: string): Promise<number> {
  return hub.asOwner(async (owner) => {
    const text = `select count(*)::int as count from import_file_parts where tenant_id = $1 and ${condition}`
    return (await owner.query(text, [hub.tenant.tenantId])).rows[0].count
  })
}

describe('past imports', () => {
  test('are visible to their user and to users that read all assets, and can be deleted', async () => {
    const operator = await hub.as('operator')
    const own = await importFile(operator, 'MAC address\n00:1b:1b:40:00:01\n')
    const { data: listed } = await operator.imports.listImports({ query: {} })
    assert.ok(listed.some(({ id }) => id === own.id))
    await admin.authorization.createRole({ body: { data: { name: 'only-import', permissions: ['glb_file_import'] } } })
    const other = await hub.as('only-import')
    await assert.rejects(other.imports.readImport({ params: { importId: own.id } }), { code: 'not_found' })
    assert.equal((await other.imports.listImports({ query: {} })).data.length, 0)
    const second = await hub.as('operator')
    await assert.rejects(second.imports.deleteImport({ params: { importId: own.id } }), { code: 'forbidden' })
    await operator.imports.deleteImport({ params: { importId: own.id } })
    await assert.rejects(operator.imports.readImport({ params: { importId: own.id } }), { code: 'not_found' })
  })

  test('are deleted after their retention, with the parts of uploads that did not end', async () => {
    const done = await importFile(admin, 'MAC address\n00:1b:1b:41:00:01\n')
    const { tenantId } = hub.tenant
    const now = new Date(Date.now() + (importLimits.retentionDays + 1) * 86_400_000)
    await deleteExpired(hub.contextOf('imports'), { tenantId, now, signal: new AbortController().signal })
    await assert.rejects(admin.imports.readImport({ params: { importId: done.id } }), { code: 'not_found' })
    assert.equal(await storedParts('true'), 0)
  })
})
