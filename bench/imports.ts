import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, client, overHttp } from '@millwright/api/client.ts'
import { imports as contract, type Import, importMediaTypes } from '@millwright/api/imports.ts'
import { writeXlsx } from '@millwright/cloud/platform/files/xlsx-writer.ts'
import { type PlatformProcess, type ProcessLoad, tokenFor } from './platform-process.ts'
import type { Goal, Row } from './report.ts'

/** Measurements of imports. */

const goals = { rows: 100_000, seconds: 60, addedMegabytes: 300, cancelMs: 1_000 } as const
const pollMs = 50
const loadMs = 500
const canceled = 3

const headings = [
  'Name',
  'Type',
  'Manufacturer',
  'Product',
  'Order number',
  'Serial number',
  'Firmware version',
  'MAC address',
  'IP address',
]

type Platform = { api: Client<typeof contract>; process: PlatformProcess }
type Measured = { rows: Row[]; goals: Goal[] }

/** Imports as many rows as the plant has assets, at most the number of the goal. */
export async function measureImports(
  process: PlatformProcess,
  { assets, only }: { assets: number; only: string },
): Promise<Measured> {
  const token = await tokenFor(process)
  const api = client(contract, overHttp({ baseUrl: process.url, token: () => token }))
  const platform = { api, process }
  const count = Math.min(assets, goals.rows)
  const csv = csvFile(count, 1)
  const workloads: [
    string,
    () => Promise<{ mediaType: string; content: string | Uint8Array<ArrayBuffer> }>,
    boolean,
  ][] = [
    ['import: dry run of CSV', async () => ({ mediaType: importMediaTypes.csv, content: csv }), true],
    ['import: CSV, all rows new', async () => ({ mediaType: importMediaTypes.csv, content: csv }), false],
    ['import: CSV, all rows unchanged', async () => ({ mediaType: importMediaTypes.csv, content: csv }), false],
    [
      'import: .xlsx, all rows new',
      async () => ({ mediaType: importMediaTypes.xlsx, content: await xlsxFile(count, 2) }),
      false,
    ],
  ]
  const rows: Row[] = []
  const reached: Goal[] = []
  for (const [workload, file, dryRun] of workloads.filter(([name]) => name.includes(only))) {
    const row = await measureImport(platform, workload, { body: await file(), dryRun })
    rows.push(row)
    const seconds = row.ms / 1_000
    reached.push({
      goal: `${workload}: ${count} rows within ${(goals.seconds * count) / goals.rows} s`,
      found: `${seconds.toFixed(1)} s`,
      reached: seconds <= (goals.seconds * count) / goals.rows,
    })
    reached.push({
      goal: `${workload} adds less than ${goals.addedMegabytes} MB`,
      found: `${Math.round(row['added MB'])} MB`,
      reached: row['added MB'] < goals.addedMegabytes,
    })
  }
  if ('import: cancel'.includes(only) || only === '') {
    const cancelMs = await measureCancel(platform, csvFile(count, 3))
    rows.push({ workload: 'import: cancel until the import has ended', ms: cancelMs })
    const found = `${Math.round(cancelMs)} ms`
    reached.push({ goal: `cancel within ${goals.cancelMs} ms`, found, reached: cancelMs <= goals.cancelMs })
  }
  return { rows, goals: reached }
}

/** Returns the cells of a row. `part` distinguishes the assets of several files. */
function cellsOf(index: number, part: number): string[] {
  const bytes = [2, part, 0, index >> 16, index >> 8, index].map((byte) => (byte & 255).toString(16).padStart(2, '0'))
  const ip = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`
  return [
    `Imported ${part} ${index}`,
    'Device',
    'Acme',
    'Drive',
    `D-${index % 50}`,
    `${part}-${index}`,
    `V1.${index % 9}`,
    bytes.join(':'),
    ip,
  ]
}

function csvFile(count: number, part: number): string {
  const lines = Array.from({ length: count }, (_, index) => `${cellsOf(index, part).join(',')}\n`)
  return `${headings.join(',')}\n${lines.join('')}`
}

async function xlsxFile(count: number, part: number): Promise<Uint8Array<ArrayBuffer>> {
  const pages = (async function* () {
    for (let start = 0; start < count; start += 1_000)
      yield Array.from({ length: Math.min(1_000, count - start) }, (_, index) => cellsOf(start + index, part))
  })()
  return new Uint8Array(Buffer.concat(await Array.fromAsync(writeXlsx({ name: 'Assets', headings, pages }))))
}

type Upload = { body: { mediaType: string; content: string | Uint8Array<ArrayBuffer> }; dryRun: boolean }

async function measureImport(platform: Platform, workload: string, { body, dryRun }: Upload) {
  const before = await loadOf(platform)
  let highest = before
  const startedAt = performance.now()
  const { importId } = (await platform.api.uploadFile({ query: { dryRun }, body })).data
  let sampledAt = startedAt
  const done = await ended(platform, importId, async () => {
    if (performance.now() - sampledAt < loadMs) return false
    sampledAt = performance.now()
    highest = Math.max(highest, await loadOf(platform))
    return false
  })
  const ms = performance.now() - startedAt
  if (done.state !== 'finished' || done.failed > 0) throw new Error(`${workload}: ${JSON.stringify(done)}`)
  await platform.api.deleteImport({ params: { importId } })
  return { workload, rows: done.rows, 'rows/s': (done.rows / ms) * 1_000, ms, 'added MB': highest - before }
}

/** Cancels imports while they read, write and begin. Returns the longest time until an import has ended. */
async function measureCancel(platform: Platform, content: string): Promise<number> {
  let longest = 0
  for (let number = 0; number < canceled; number++) {
    const body = { mediaType: importMediaTypes.csv, content }
    const { importId } = (await platform.api.uploadFile({ query: { dryRun: true }, body })).data
    await ended(platform, importId, async ({ rows, created }) => (number === 0 ? rows > 0 : created > 0))
    const startedAt = performance.now()
    await platform.api.cancelImport({ params: { importId } })
    await ended(platform, importId, async () => false)
    longest = Math.max(longest, performance.now() - startedAt)
  }
  return longest
}

/** Waits until an import has ended, or until `check` returns true. */
async function ended({ api }: Platform, importId: string, check: (row: Import) => Promise<boolean>): Promise<Import> {
  for (;;) {
    const { data } = await api.readImport({ params: { importId } })
    if (!['queued', 'running', 'canceling'].includes(data.state) || (await check(data))) return data
    await sleep(pollMs)
  }
}

async function loadOf({ process }: Platform): Promise<number> {
  return (await process.request<ProcessLoad>({ kind: 'load' })).megabytes
}
