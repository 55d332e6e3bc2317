import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import {
  exports as contract,
  type ExportFile,
  type ExportRequest,
  unfinishedExportStates,
} from '@millwright/api/exports.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { type PlatformProcess, type ProcessLoad, tokenFor } from './platform-process.ts'
import type { Goal, Row } from './report.ts'

/** Measurements of exports. */

const goals = { cancelMs: 1_000, addedMegabytes: 300 } as const
const pollMs = 50
const loadMs = 250
const listedPages = 400
const canceled = 5

const workloads: readonly [string, ExportRequest][] = [
  ['export: assets as NDJSON', { what: 'assets', format: 'ndjson' }],
  ['export: assets as .xlsx, all columns', { what: 'assets', format: 'xlsx' }],
  ['export: assets as CSV, all columns', { what: 'assets', format: 'csv' }],
  ['export: relations as NDJSON', { what: 'relations', format: 'ndjson' }],
  ['export: assets as Asset Administration Shells (JSON)', { what: 'assets', format: 'aas-json' }],
]

type Platform = { api: Client<typeof contract>; process: PlatformProcess; url: string; token: string }
type Measured = { rows: Row[]; goals: Goal[] }

export async function measureExports(
  process: PlatformProcess,
  { assets, only }: { assets: number; only: string },
): Promise<Measured> {
  const token = await tokenFor(process)
  const api = client(contract, overHttp({ baseUrl: process.url, token: () => token }))
  const platform = { api, process, url: process.url, token }
  const rows: Row[] = []
  const reached: Goal[] = []
  for (const [workload, request] of workloads.filter(([name]) => name.includes(only))) {
    // The list is measured directly before each export, because the load of a shared machine changes.
    const listed =
      request.what === 'assets' && request.format !== 'aas-json' ? await measureList(platform, assets) : undefined
    const row = await measureExport(platform, workload, request)
    if (listed !== undefined) {
      rows.push(listed)
      reached.push({
        goal: `${workload} at least as fast as the list`,
        found: `${Math.round(row['rows/s'])} of ${Math.round(listed['rows/s'])} rows/s`,
        reached: row['rows/s'] >= listed['rows/s'],
      })
    }
    rows.push(row)
    reached.push({
      goal: `${workload} adds less than ${goals.addedMegabytes} MB`,
      found: `${Math.round(row['added MB'])} MB`,
      reached: row['added MB'] < goals.addedMegabytes,
    })
  }
  const cancelMs = await measureCancel(platform)
  rows.push({ workload: 'export: cancel until the run has stopped', ms: cancelMs })
  const found = `${Math.round(cancelMs)} ms`
  reached.push({ goal: `cancel within ${goals.cancelMs} ms`, found, reached: cancelMs <= goals.cancelMs })
  return { rows, goals: reached }
}

/** Reads pages of the list of assets with a cursor, one after the other. */
async function measureList(platform: Platform, assets: number) {
  const { url, token } = platform
  const api = client(inventory, overHttp({ baseUrl: url, token: () => token }))
  const pages = Math.min(listedPages, Math.ceil(assets / 100))
  let read = 0
  let cursor: string | undefined
  const before = await cpuOf(platform)
  const startedAt = performance.now()
  for (let page = 0; page < pages; page++) {
    const { data, meta } = await api.listAssets({ query: { limit: 100, count: false, ...(cursor && { cursor }) } })
    read += data.length
    cursor = meta.nextCursor
    if (cursor === undefined) break
  }
  const ms = performance.now() - startedAt
  const cpu = cpuPerRow(before, await cpuOf(platform), read)
  return { workload: 'list of assets, pages of 100', rows: read, 'rows/s': (read / ms) * 1_000, ms, ...cpu }
}

async function measureExport(platform: Platform, workload: string, request: ExportRequest) {
  const before = await memoryOf(platform)
  let highest = before
  const cpuBefore = await cpuOf(platform)
  const startedAt = performance.now()
  const exportId = await start(platform, request)
  let sampledAt = startedAt
  const file = await ended(platform, exportId, async () => {
    if (performance.now() - sampledAt < loadMs) return
    sampledAt = performance.now()
    highest = Math.max(highest, await memoryOf(platform))
  })
  const ms = performance.now() - startedAt
  const cpu = cpuPerRow(cpuBefore, await cpuOf(platform), file.rows)
  if (file.state !== 'finished') throw new Error(`${workload}: ${JSON.stringify(file.problem)}`)
  const downloadedAt = performance.now()
  const bytes = await download(platform, exportId)
  const downloadMs = performance.now() - downloadedAt
  if (bytes !== file.bytes) throw new Error(`${workload}: ${bytes} of ${file.bytes} bytes were sent`)
  await platform.api.deleteExport({ params: { exportId } })
  return {
    workload,
    rows: file.rows,
    'rows/s': (file.rows / ms) * 1_000,
    ms,
    MB: bytes / 2 ** 20,
    'download ms': downloadMs,
    'peak MB': highest,
    'added MB': highest - before,
    ...cpu,
  }
}

/** Cancels exports while they run. Returns the longest time until no part of an export is written any longer. */
async function measureCancel(platform: Platform): Promise<number> {
  let longest = 0
  for (let number = 0; number < canceled; number++) {
    const exportId = await start(platform, { what: 'assets', format: 'xlsx' })
    await ended(platform, exportId, async ({ state }) => state === 'running')
    const startedAt = performance.now()
    await platform.api.cancelExport({ params: { exportId } }).catch(() => undefined)
    await platform.process.request({ kind: 'wait for tasks', of: 'exports.run' })
    longest = Math.max(longest, performance.now() - startedAt)
    await platform.api.deleteExport({ params: { exportId } })
  }
  return longest
}

async function start({ api }: Platform, data: ExportRequest): Promise<string> {
  return (await api.createExport({ body: { data } })).data.exportId
}

/** Waits until an export has ended, or until `check` returns true. */
async function ended(
  { api }: Platform,
  exportId: string,
  check: (file: ExportFile) => Promise<unknown>,
): Promise<ExportFile> {
  for (;;) {
    const { data } = await api.readExport({ params: { exportId } })
    if (!unfinishedExportStates.includes(data.state) || (await check(data)) === true) return data
    await sleep(pollMs)
  }
}

async function download({ url, token }: Platform, exportId: string): Promise<number> {
  const path = new URL(`${contract.prefix}/files/${exportId}/content`, url)
  const response = await fetch(path, { headers: { authorization: `Bearer ${token}` } })
  let bytes = 0
  for await (const chunk of response.body ?? []) bytes += chunk.length
  return bytes
}

function memoryOf({ process }: Platform): Promise<number> {
  return process.request<number>({ kind: 'memory' })
}

type CpuTime = { platform: number; database: number }

/** Returns the processor time that the platform and its database have used so far, in microseconds. */
async function cpuOf({ process }: Platform): Promise<CpuTime> {
  const { databaseCpuMicros } = await process.request<ProcessLoad>({ kind: 'load' })
  return { platform: await process.request<number>({ kind: 'cpu' }), database: databaseCpuMicros }
}

/** Returns the processor time per row. It depends less on other programs of the machine than the speed. */
function cpuPerRow(before: CpuTime, after: CpuTime, rows: number) {
  return {
    'CPU us/row': (after.platform - before.platform) / rows,
    'database us/row': (after.database - before.database) / rows,
  }
}
