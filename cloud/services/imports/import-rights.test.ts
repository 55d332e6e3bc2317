import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { endOf, importFile, outcomesOf, rowsOf } from './testing.ts'

let hub: TestHub
let admin: TestCaller

before(async () => {
  hub = await testHub()
  admin = await hub.as('administrator')
})

after(() => hub[Symbol.asyncDispose]())

async function createGroup(name: string): Promise<string> {
  return (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
}

async function createRole(name: string): Promise<void> {
  const permissions = ['glb_file_import', 'inventory_read_asset_data', 'inventory_write_asset_data'] as const
  await admin.authorization.createRole({ body: { data: { name, permissions: [...permissions] } } })
}

async function grant(principal: string, role: string, accessGroup?: string): Promise<void> {
  const scope = accessGroup === undefined ? {} : { accessGroup }
  await admin.authorization.createGrant({ body: { data: { principal, role, ...scope } } })
}

async function revokeAll(principal: string): Promise<void> {
  const { data: grants } = await admin.authorization.listGrants({ query: { principal } })
  for (const { id } of grants) await admin.authorization.deleteGrant({ params: { id } })
}

/** Changes the stored state of an import while no task runs it, and lets a task continue it. */
async function continueWith(importId: string, changes: string, values: readonly unknown[] = []): Promise<void> {
  // A task can take the import as soon as it is running, so its rows are reset before.
  await hub.asOwner((owner) =>
    owner.query('update import_rows set outcome = null, asset_id = null where import_id = $1', [importId]),
  )
  await hub.asOwner((owner) =>
    owner.query(
      `update imports set state = 'running', slot = 0, dry_run = false, phase = 'writing', next_row = 0, created = 0,
         finished_at = null, ${changes} where id = $1`,
      [importId, ...values],
    ),
  )
  // Every upload enqueues the tasks that run imports.
  await importFile(admin, 'MAC address\n00:1b:1b:a0:ff:01\n', { dryRun: true })
}

describe('the rights of an import', () => {
  test('are checked again for each portion of rows', async () => {
    await createRole('portion-importer')
    const user = await hub.as('portion-importer')
    const count = 5_000
    const mac = (index: number) =>
      `02:a1:00:00:${[index >> 8, index].map((byte) => (byte & 255).toString(16).padStart(2, '0')).join(':')}`
    const content = `MAC address\n${Array.from({ length: count }, (_, index) => `${mac(index)}\n`).join('')}`
    const { importId } = (await user.imports.uploadFile({ body: { mediaType: 'text/csv', content } })).data
    for (;;) {
      const { created, state } = (await admin.imports.readImport({ params: { importId } })).data
      if (created > 0) break
      assert.match(state, /queued|running/)
      await delay(5)
    }
    await hub.asOwner(async (owner) => {
      // The import waits for this lock before it stores its next results.
      await owner.query('begin')
      await owner.query('select from imports where tenant_id = $1 and id = $2 for update', [
        hub.tenant.tenantId,
        importId,
      ])
      await revokeAll(user.principalId)
      await owner.query('commit')
    })
    const ended = await endOf(admin, importId)
    assert.deepEqual([ended.state, ended.problem?.code], ['failed', 'forbidden'])
    const results = await rowsOf(admin, importId)
    assert.equal(results.length, ended.created + ended.failed)
    assert.ok(results.length < count, 'the import did not stop')
  })

  test('are those of the token with which it was started', async () => {
    const [open, other] = [await createGroup('Token group'), await createGroup('Other group')]
    await importFile(admin, 'MAC address,Access group\n00:1b:1b:a2:00:01,Other group\n')
    await createRole('token-importer')
    const user = await hub.as('token-importer')
    await revokeAll(user.principalId)
    await grant(user.principalId, 'token-importer', open)
    await grant(user.principalId, 'token-importer', other)
    await admin.authorization.createRole({ body: { data: { name: 'starter', permissions: ['glb_file_import'] } } })
    await grant(user.principalId, 'starter')
    const caller = hub.withToken(
      await hub.tokenFor(user.principalId, { roles: ['starter', 'token-importer'] }),
      user.principalId,
    )
    const dry = await importFile(caller, 'MAC address,Name\n00:1b:1b:a2:00:01,changed\n', { dryRun: true })
    assert.deepEqual(outcomesOf(await rowsOf(caller, dry.id)), ['2 updated'])
    const grants = [
      { role: 'starter', accessGroupId: null },
      { role: 'token-importer', accessGroupId: open },
    ]
    const roles = { roles: ['starter', 'token-importer'], grants }
    await continueWith(dry.id, 'updated = 0, roles = $2::json', [JSON.stringify(roles)])
    const done = await endOf(admin, dry.id)
    assert.deepEqual([done.state, done.updated, done.failed], ['finished', 0, 1])
  })

  test('apply to rows that were not sent before the principal lost its permission', async () => {
    await createRole('lost-importer')
    const user = await hub.as('lost-importer')
    const dry = await importFile(user, 'MAC address\n00:1b:1b:a3:00:01\n00:1b:1b:a3:00:02\n', { dryRun: true })
    await revokeAll(user.principalId)
    // The portion was stored before the principal lost its permission, and was never sent.
    const portion = { writeId: crypto.randomUUID(), rows: [2, 3], lastRow: 3 }
    await continueWith(dry.id, 'portion = $2::json', [JSON.stringify(portion)])
    const ended = await endOf(admin, dry.id)
    assert.deepEqual([ended.state, ended.rows, ended.created, ended.failed], ['failed', 2, 0, 2])
  })

  test('end an import whose write failed as a whole, so that it does not keep its slot', async () => {
    const done = await importFile(admin, 'MAC address\n00:1b:1b:a4:00:01\n')
    const id = (await rowsOf(admin, done.id))[0]?.assetId ?? ''
    const { data: other } = await admin.inventory.setName({ params: { id }, body: { data: { name: 'other' } } })
    const portion = { writeId: other.statusId, rows: [2], lastRow: 2 }
    await continueWith(done.id, 'portion = $2::json', [JSON.stringify(portion)])
    const ended = await endOf(admin, done.id)
    assert.deepEqual([ended.state, ended.rows, ended.created, ended.failed], ['failed', 1, 0, 1])
    assert.match((await rowsOf(admin, done.id))[0]?.errors?.[0]?.detail ?? '', /not known whether the row was written/)
    await admin.imports.deleteImport({ params: { importId: done.id } })
  })
})
