import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { type PlantAsset, plantAssets } from '@millwright/links/plant/generator.ts'
import type { DatabaseVolume } from './capacity-commands.ts'
import type { TableSize } from './disk-commands.ts'
import { sendable } from './inventory.ts'
import { cpuOf, loadOf } from './inventory-load.ts'
import { measureLoad, requestText } from './load.ts'
import type { BenchOptions } from './options.ts'
import { bearer, type PlatformProcess, tokenFor, withHome, withPlatform } from './platform-process.ts'
import type { Report, Row } from './report.ts'

const seed = 1
const perBatch = 500
const batchCallers = 2
const changeCallers = 32
const rounds = 5
const changedShare = 5
const mostChanged = 10_000
const pageLimit = 100
const sampleMs = 100
/** Tables with fewer bytes for each unit are added up in one row. */
const shownBytes = 20
/** The tables of events and of the statuses of writes. Their rows have a short retention. */
const eventTable = 'events'
const statusTable = 'operations'
/** A table that gets fewer rows for each unit does not grow for ever: its growth is free space for the next changes. */
const leastRows = 0.05

type Session = { platform: PlatformProcess; token: string; home: string; assets: number; relations: number }

/**
 * Measures the disk space of a plant that is written through the front: new assets in batches, the same batches
 * again without a change, as repeated scans send them, and five changes of one asset in five. Vacuum runs only as
 * the server itself starts it. The table shows bytes for each asset, report or change. Example: `npm run bench disk --
 * --assets 50000 --relations 3`.
 */
export function disk({ home, ...options }: BenchOptions): Promise<Report> {
  if (home === undefined) return withHome((made) => diskIn(made, options))
  return mkdir(home, { recursive: true }).then(() => diskIn(home, options))
}

function diskIn(home: string, { assets, relations, only }: Omit<BenchOptions, 'home'>): Promise<Report> {
  return withPlatform({ home }, async (platform) => {
    const session: Session = { platform, token: await tokenFor(platform), home, assets, relations }
    const changed = Math.min(mostChanged, Math.ceil(assets / changedShare))
    const phases: Phase[] = [
      { name: 'new asset', count: assets, work: () => sendPlant(session) },
      { name: 'report', count: assets, work: () => sendPlant(session) },
      { name: 'change', count: changed * rounds, work: () => changeAssets(session, changed) },
    ]
    const rows: Row[] = []
    for (const phase of phases) {
      const isFirst = phase.name === 'new asset'
      // The other phases need the assets, so the first phase always runs.
      if (isFirst || phase.name.includes(only)) rows.push(...(await measured(session, phase)))
    }
    return {
      title: `disk: ${assets} assets with ${relations} relations each, then ${rounds} changes of ${changed} assets`,
      rows,
      goals: [],
    }
  })
}

type Phase = { name: string; count: number; work: () => Promise<void> }
type Snapshot = { tables: TableSize[]; volume: DatabaseVolume }

async function measured(session: Session, { name, count, work }: Phase): Promise<Row[]> {
  const { platform, home } = session
  const before = await snapshotOf(platform)
  const startedAt = performance.now()
  const load = await loadOf(platform)
  const log = await whileSampling(join(home, 'postgres', 'data', 'pg_wal'), async () => {
    await work()
    await platform.request({ kind: 'wait until everything is applied' })
  })
  const seconds = (performance.now() - startedAt) / 1000
  const after = await snapshotOf(platform)
  const loadAfter = await loadOf(platform)
  // The applied writes leave free space in the table of statuses, which the next writes use. Only the rest is stored.
  await platform.request({ kind: 'compact', table: statusTable })
  const compact = await snapshotOf(platform)
  const rows = tableRows(before.tables, after.tables, count)
  const lasting = rows.filter(
    ({ table, rows: each }) => each >= leastRows && table !== eventTable && table !== statusTable,
  )
  const bytesOf = (growth: readonly SizeRow[], name: string) => growth.find(({ table }) => table === name)?.total ?? 0
  return [
    ...shownRows(rows).map((row) => ({ phase: name, ...row })),
    {
      phase: name,
      table: `all tables, ${name}`,
      ...added(rows),
      lasting: total(lasting, 'total'),
      events: bytesOf(rows, eventTable),
      statuses: bytesOf(tableRows(before.tables, compact.tables, count), statusTable),
      log: (after.volume.logBytes - before.volume.logBytes) / count,
      'log folder, MB': log.mostBytes / 1e6,
      'database µs': (loadAfter.databaseCpuMicros - load.databaseCpuMicros) / count,
      'per second': count / seconds,
    },
  ]
}

type SizeRow = {
  table: string
  rows: number
  'dead rows': number
  heap: number
  overflow: number
  indexes: number
  total: number
}

/** Returns the growth of each table, in bytes for each unit. */
function tableRows(before: readonly TableSize[], after: readonly TableSize[], count: number): SizeRow[] {
  const earlier = new Map(before.map((size) => [size.table, size]))
  const indexBytes = (size: TableSize | undefined) => (size?.indexes ?? []).reduce((sum, { bytes }) => sum + bytes, 0)
  return after.map((size) => {
    const first = earlier.get(size.table)
    const heap = (size.heap - (first?.heap ?? 0)) / count
    const overflow = (size.overflow - (first?.overflow ?? 0)) / count
    const indexes = (indexBytes(size) - indexBytes(first)) / count
    const rows = (size.rows - (first?.rows ?? 0)) / count
    return {
      table: size.table,
      rows,
      'dead rows': size.deadRows / count,
      heap,
      overflow,
      indexes,
      total: heap + overflow + indexes,
    }
  })
}

function shownRows(rows: readonly SizeRow[]): SizeRow[] {
  const { large = [], small = [] } = Object.groupBy(rows, ({ total }) => (total >= shownBytes ? 'large' : 'small'))
  return [...large.toSorted((one, other) => other.total - one.total), { table: 'other tables', ...added(small) }]
}

function added(rows: readonly SizeRow[]): Omit<SizeRow, 'table'> {
  const of = (column: keyof Omit<SizeRow, 'table'>) => total(rows, column)
  return {
    rows: of('rows'),
    'dead rows': of('dead rows'),
    heap: of('heap'),
    overflow: of('overflow'),
    indexes: of('indexes'),
    total: of('total'),
  }
}

function total(rows: readonly SizeRow[], column: keyof Omit<SizeRow, 'table'>): number {
  return rows.reduce((sum, row) => sum + row[column], 0)
}

async function snapshotOf(platform: PlatformProcess): Promise<Snapshot> {
  return {
    tables: await platform.request<TableSize[]>({ kind: 'table sizes' }),
    volume: await platform.request<DatabaseVolume>({ kind: 'database volume' }),
  }
}

/** Runs `work` and returns the largest size of a folder meanwhile. */
async function whileSampling(folder: string, work: () => Promise<void>): Promise<{ mostBytes: number }> {
  let mostBytes = await sizeOf(folder)
  const timer = setInterval(async () => {
    mostBytes = Math.max(mostBytes, await sizeOf(folder))
  }, sampleMs)
  await work().finally(() => clearInterval(timer))
  return { mostBytes: Math.max(mostBytes, await sizeOf(folder)) }
}

/** Returns the bytes of the files in a folder. A file that is deleted meanwhile counts as empty. */
async function sizeOf(folder: string): Promise<number> {
  const sizes = await Promise.all(
    (await readdir(folder)).map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Sends all assets of the plant with their relations in batches. */
async function sendPlant({ platform, token, assets, relations }: Session): Promise<void> {
  const plant = plantAssets({ assets, seed, relations: 5 })
  const next = () => {
    const batch: PlantAsset[] = []
    for (let asset = plant.next(); !asset.done; asset = plant.next()) if (batch.push(asset.value) === perBatch) break
    if (batch.length === 0) return undefined
    const body = JSON.stringify({ data: { assets: batch.map((one) => sendable(one, relations)) } })
    return requestText('POST', `${contract.prefix}/assets/batch`, { headers: headers(token), body })
  }
  await sendAll(platform, { next, callers: batchCallers })
}

/** Changes the description of assets, once in each round. */
async function changeAssets({ platform, token }: Session, changed: number): Promise<void> {
  const api = client(contract, overHttp({ baseUrl: platform.url, token: () => token }))
  const ids: string[] = []
  while (ids.length < changed) {
    const query = { limit: Math.min(pageLimit, changed - ids.length), offset: ids.length, count: false, fields: 'id' }
    const { data } = await api.listAssets({ query })
    if (data.length === 0) break
    ids.push(...data.map(({ id }) => String(id)))
  }
  for (let round = 1; round <= rounds; round++) {
    const left = ids.values()
    const next = () => {
      const id = left.next().value
      if (id === undefined) return undefined
      const body = JSON.stringify({ data: { description: `Checked in round ${round}` } })
      return requestText('PATCH', `${contract.prefix}/assets/${id}/description`, { headers: headers(token), body })
    }
    await sendAll(platform, { next, callers: changeCallers })
  }
}

async function sendAll(
  platform: PlatformProcess,
  { next, callers }: { next: () => string | undefined; callers: number },
): Promise<void> {
  const { url } = platform
  await measureLoad({ url, callers, ms: Infinity, request: next, status: 202, serverCpu: () => cpuOf(platform) })
}

function headers(token: string): Record<string, string> {
  return { ...bearer(token), 'content-type': 'application/json' }
}
