import assert from 'node:assert/strict'
import { type ExportFile, type ExportRequest, unfinishedExportStates } from '@millwright/api/exports.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { newId } from '../../platform/database/id.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { exportTask } from './export-run.ts'
import { insertExport } from './export-store.ts'

export type TestExport = { file: ExportFile; content: Buffer; headers: Headers }

/** Starts an export, and returns its id. */
export async function startExport(caller: TestCaller, request: ExportRequest): Promise<string> {
  return (await caller.exports.createExport({ body: { data: request } })).data.exportId
}

/** Inserts an export that waits until `runWaiting` is called. */
export async function insertWaiting(hub: TestHub, caller: TestCaller, request: ExportRequest): Promise<string> {
  const id = newId()
  const principal = { id: caller.principalId, kind: 'user', name: 'user' } as const
  const access = await hub.context.access.of(hub.tenant.tenantId, caller.principalId)
  const roles = access?.held.map(({ role }) => role) ?? []
  await hub.context.database.transaction(hub.tenant, (tx) =>
    insertExport(
      tx,
      { ...systemCaller(), principal, roles },
      { id, jobId: newId(), request, fileName: 'waiting' },
      new Date().toISOString(),
    ),
  )
  return id
}

/** Runs an export that was inserted with `insertWaiting`. */
export async function runWaiting(hub: TestHub, id: string): Promise<void> {
  // The process of this service runs the task at once. Another process would leave it to the next check of all tenants.
  const { database, tasks } = hub.contextOf('exports')
  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: exportTask, key: id }))
}

export async function readExport(caller: TestCaller, exportId: string): Promise<ExportFile> {
  return (await caller.exports.readExport({ params: { exportId } })).data
}

/** Sends a request for the content of an export. */
export async function fetchContent(hub: TestHub, caller: TestCaller, exportId: string): Promise<Response> {
  const headers = { authorization: `Bearer ${caller.token}` }
  return fetch(new URL(`/exports/v1/files/${exportId}/content`, await hub.listen()), { headers })
}

/** Waits until an export has ended. */
export async function endedExport(caller: TestCaller, exportId: string): Promise<ExportFile> {
  const pause = growingPause()
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await pause()) {
    const file = await readExport(caller, exportId)
    if (!unfinishedExportStates.includes(file.state)) return file
  }
  throw new Error(`The export ${exportId} has not ended`)
}

/** Runs an export to its end, and downloads its content. */
export async function exportedFile(hub: TestHub, caller: TestCaller, request: ExportRequest): Promise<TestExport> {
  const exportId = await startExport(caller, request)
  const file = await endedExport(caller, exportId)
  assert.equal(file.state, 'finished', JSON.stringify(file.problem))
  const response = await fetchContent(hub, caller, exportId)
  assert.equal(response.status, 200)
  const content = Buffer.from(await response.arrayBuffer())
  assert.equal(content.length, file.bytes)
  return { file, content, headers: response.headers }
}

/** Returns the values of the lines of an NDJSON file. */
export function valuesIn<Value = Record<string, unknown>>(content: Buffer): Value[] {
  const text = content.toString()
  assert.ok(text === '' || text.endsWith('\n'))
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}
