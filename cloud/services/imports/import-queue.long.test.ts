import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { importLimits } from '@millwright/api/imports.ts'
import { newId } from '../../platform/database/id.ts'
import { type TestCaller, testHub } from '../../platform/testing/hub.ts'
import { endOf, rowsOf } from './testing.ts'

/** Returns a CSV file with this many assets. `part` distinguishes the files. */
function fileWith(count: number, part = 0): string {
  const mac = (index: number) => `02:${[part, 0, index >> 16, index >> 8, index].map(pair).join(':')}`
  const rows = Array.from({ length: count }, (_, index) => `${mac(index)},asset ${index}\n`)
  return `MAC address,Name\n${rows.join('')}`
}

function pair(value: number): string {
  return (value & 255).toString(16).padStart(2, '0')
}

async function upload(caller: TestCaller, content: string): Promise<string> {
  return (await caller.imports.uploadFile({ body: { mediaType: 'text/csv', content } })).data.importId
}

async function runsWithRows(caller: TestCaller, importId: string): Promise<void> {
  for (;;) {
    const { state, created } = (await caller.imports.readImport({ params: { importId } })).data
    if (created > 0) return
    assert.ok(state === 'queued' || state === 'running', state)
    await delay(10)
  }
}

test('runs at most two imports of a tenant at the same time, in the order of their upload', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const ids: string[] = []
  for (let part = 0; part < 4; part++) ids.push(await upload(admin, fileWith(20, part)))
  let most = 0
  for (;;) {
    const { data } = await admin.imports.listImports({ query: {} })
    most = Math.max(most, data.filter(({ state }) => state === 'running').length)
    if (data.every(({ state }) => state === 'finished')) break
    await delay(10)
  }
  assert.ok(most <= importLimits.running, `${most} imports ran at the same time`)
  const imports = await Promise.all(ids.map((id) => endOf(admin, id)))
  const starts = imports.map(({ startedTimestamp }) => startedTimestamp ?? '')
  // Two imports that start at the same time can start in any order.
  const [first, last] = [starts.slice(0, 2).toSorted(), starts.slice(2).toSorted()]
  assert.deepEqual([...first, ...last], starts.toSorted())
  assert.deepEqual(
    imports.map(({ created }) => created),
    [20, 20, 20, 20],
  )
})

test('cancels an import that waits, and one that writes rows, with exact counts', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const running = await upload(admin, fileWith(5_000, 1))
  await runsWithRows(admin, running)
  const { data: canceled } = await admin.imports.cancelImport({ params: { importId: running } })
  assert.match(canceled.state, /^cancel/)
  const ended = await endOf(admin, running)
  assert.equal(ended.state, 'canceled')
  assert.ok(ended.created < 5_000, 'the import ended before it was canceled')
  const filter = "startswith(name, 'asset ')"
  const { meta } = await admin.inventory.listAssets({ query: { filter, limit: 1 } })
  assert.equal(meta.totalElements, ended.created)
  const { meta: results } = await admin.imports.listRows({ params: { importId: running }, query: { limit: 1 } })
  assert.equal(results.totalElements, ended.created)
  await assert.rejects(admin.imports.cancelImport({ params: { importId: running } }), { code: 'conflict' })
})

test('continues an import in another process, without writing a row twice', async () => {
  await using hub = await testHub({ ownProcesses: true })
  const admin = await hub.as('administrator')
  const count = 2_000
  const importId = await upload(admin, fileWith(count, 2))
  await runsWithRows(admin, importId)
  for (const cloud of hub.clouds) await cloud.context.tasks.stop()
  const { data: before } = await admin.imports.readImport({ params: { importId } })
  await using sibling = await hub.sibling()
  const other = sibling.withToken(admin.token, admin.principalId)
  const ended = await endOf(other, importId)
  assert.deepEqual([ended.state, ended.rows, ended.created, ended.failed], ['finished', count, count, 0])
  assert.ok(before.created < count, 'the import ended before its process stopped')
  const { meta } = await other.inventory.listAssets({ query: { filter: "startswith(name, 'asset ')", limit: 1 } })
  assert.equal(meta.totalElements, count)
  const rows = await rowsOf(other, importId)
  assert.equal(new Set(rows.map(({ assetId }) => assetId)).size, count)
})

test('counts a row once if two processes run the import, because one of them was suspended', async () => {
  await using hub = await testHub({ ownProcesses: true })
  const admin = await hub.as('administrator')
  const count = 3_000
  const importId = await upload(admin, fileWith(count, 4))
  await runsWithRows(admin, importId)
  await using sibling = await hub.sibling()
  // The sibling continues the import although its process has not stopped.
  await sibling.asOwner((owner) =>
    owner.query(`update jobs set lease_until = now() - interval '1 minute' where kind = 'imports.run'`),
  )
  const ended = await endOf(sibling.withToken(admin.token, admin.principalId), importId)
  assert.deepEqual([ended.state, ended.rows, ended.created, ended.failed], ['finished', count, count, 0])
})

test('ends the job of an import whose process died before it ended the job', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const importId = await upload(admin, fileWith(2, 5))
  await endOf(admin, importId)
  await hub.settle()
  const [first, second] = [newId(), newId()]
  const phaseOf = async (id: string) => (await admin.jobs.getJob({ params: { id } })).data.phase
  const loseEnd = (jobId: string) =>
    hub.asOwner((owner) =>
      owner.query('update imports set is_reported = false, job_id = $2 where id = $1', [importId, jobId]),
    )
  await loseEnd(first)
  hub.contextOf('imports').tasks.wake(hub.tenant.tenantId, 'imports.recover')
  await hub.settle()
  assert.equal(await phaseOf(first), 'finished')
  await loseEnd(second)
  await admin.imports.deleteImport({ params: { importId } })
  assert.equal(await phaseOf(second), 'finished')
})

test('refuses an upload while too many imports of the tenant wait', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await hub.asOwner(async (owner) => {
    const text = `insert into imports (tenant_id, id, file_name, bytes, state, dry_run, job_id, principal_id, principal_kind,
        principal_name, roles, created_at, queued_at)
      select $1, gen_random_uuid(), 'x', 0, 'running', true, gen_random_uuid(), gen_random_uuid(), 'user', 'x', '{}', now(), now()
      from generate_series(1, $2)`
    await owner.query(text, [hub.tenant.tenantId, importLimits.unfinished])
  })
  await assert.rejects(upload(admin, fileWith(1)), { code: 'conflict', message: /The limit is 20/ })
  const { data } = await admin.imports.listImports({ query: { limit: 1 } })
  const importId = data[0]?.id ?? ''
  const unread = { code: 'conflict', message: /has not been read yet/ }
  await assert.rejects(admin.imports.readReport({ params: { importId } }), unread)
})
