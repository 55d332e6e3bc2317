import { readFileSync } from 'node:fs'
import type { Report, Row } from '../report.ts'

/**
 * `WorkCost` is the cost of one unit of work: the processor time of the platform and of the database in microseconds,
 * the number of statements, the bytes between client and platform, and the bytes of the write-ahead log.
 */
export type WorkCost = {
  platformMicros: number
  databaseMicros: number
  statements: number
  bytes: number
  logBytes: number
  /** The benchmark, the date and the machine of the processor times. */
  measured: string
}

/** The rows of the benchmarks that contain the processor time of each work, and the columns of these times. */
const sources = {
  read: { bench: 'costs', row: 'read' },
  list: { bench: 'costs', row: 'list' },
  write: { bench: 'costs', row: 'write' },
  change: { bench: 'costs', row: 'change' },
  gatewayPoll: { bench: 'costs', row: 'gateway' },
  jobPoll: { bench: 'costs', row: 'poll for jobs' },
  eventPoll: { bench: 'costs', row: 'poll for events' },
  tenantCheck: { bench: 'costs', row: 'tenant check' },
  scannedDevice: { bench: 'discovery', row: 'second scan of the same plant' },
  checkedDevice: { bench: 'monitoring', row: 'nothing changed' },
  delivery: { bench: 'webhooks', row: 'one event per request' },
} as const

export type Work = keyof typeof sources

/** `Costs` contains all measured figures that the capacity model uses. */
export type Costs = {
  work: Record<Work, WorkCost>
  /** A process without requests. The processor times are for each second. */
  idleProcess: { platformMicros: number; databaseMicros: number; mebibytes: number }
  /** The memory of all live objects for one gateway with its waiting polls, and for one open event stream. */
  memoryBytes: { gateway: number; stream: number }
  diskBytes: DiskBytes
  /** The processor time of a Citus coordinator for one statement that it sends to one shard. */
  coordinator: { micros: number; measured: string }
}

/** `DiskBytes` is the disk space of the data, without dead rows. */
export type DiskBytes = {
  /** One asset with five relations. */
  asset: number
  /** The history and the audit entry of one change of an asset. */
  change: number
  /** The events of one new asset with its relations, and of one change. */
  assetEvents: number
  changeEvents: number
  /** The status of one asset in a write of many assets, and the status of one change. */
  reportStatus: number
  changeStatus: number
  /** An empty tenant. */
  tenant: number
  measured: string
}

export const costsFile = new URL('./costs.json', import.meta.url)

/** The benchmarks whose results contain the costs. */
export const costBenchmarks: readonly string[] = [...new Set(Object.values(sources).map(({ bench }) => bench)), 'disk']

export function readCosts(): Costs {
  return JSON.parse(readFileSync(costsFile, 'utf8'))
}

/**
 * Returns the costs with the figures of new benchmark results. A figure that the results do not contain stays as it is.
 */
export function updatedCosts(before: Costs, reports: Readonly<Record<string, Report>>, place: string): Costs {
  const rowOf = (bench: string, name: string) =>
    reports[bench]?.rows.find((row) => Object.values(row).some((value) => value === name))
  const figure = (row: Row | undefined, columns: readonly string[], previous: number) => {
    const value = columns.map((column) => row?.[column]).find((found) => typeof found === 'number')
    return typeof value === 'number' && Number.isFinite(value) ? rounded(value) : previous
  }
  const cost = (name: string, column: string, previous: number) => figure(rowOf('costs', name), [column], previous)
  const stored = (phase: string, column: string, previous: number) =>
    figure(rowOf('disk', `all tables, ${phase}`), [column], previous)
  const work = Object.entries(sources).map(([name, { bench, row: label }]) => {
    const row = rowOf(bench, label)
    const previous = before.work[name as Work]
    if (row === undefined) return [name, previous]
    return [
      name,
      {
        platformMicros: figure(row, ['platform µs', 'cloud µs', 'sender CPU µs'], previous.platformMicros),
        databaseMicros: figure(row, ['database µs', 'database CPU µs'], previous.databaseMicros),
        statements: figure(row, ['statements'], previous.statements),
        bytes: figure(row, ['bytes'], previous.bytes),
        logBytes: figure(row, ['log bytes'], previous.logBytes),
        measured: `npm run bench ${bench}, ${place}`,
      },
    ]
  })
  const { idleProcess, memoryBytes, diskBytes } = before
  return {
    work: Object.fromEntries(work),
    idleProcess: {
      platformMicros: cost('process', 'platform µs', idleProcess.platformMicros),
      databaseMicros: cost('process', 'database µs', idleProcess.databaseMicros),
      mebibytes: cost('process', 'MiB', idleProcess.mebibytes),
    },
    memoryBytes: {
      gateway: cost('gateway', 'live bytes', memoryBytes.gateway),
      stream: cost('stream', 'live bytes', memoryBytes.stream),
    },
    diskBytes: {
      asset: stored('new asset', 'lasting', diskBytes.asset),
      change: stored('change', 'lasting', diskBytes.change),
      assetEvents: stored('new asset', 'events', diskBytes.assetEvents),
      changeEvents: stored('change', 'events', diskBytes.changeEvents),
      reportStatus: stored('report', 'statuses', diskBytes.reportStatus),
      changeStatus: stored('change', 'statuses', diskBytes.changeStatus),
      tenant: cost('tenant', 'disk bytes', diskBytes.tenant),
      measured: reports.disk === undefined ? diskBytes.measured : `npm run bench disk, ${place}`,
    },
    coordinator: updatedCoordinator(before, reports, place),
  }
}

/** Returns the cost of a statement in its own transaction, which is the form that the platform uses on a cluster. */
function updatedCoordinator(before: Costs, reports: Readonly<Record<string, Report>>, place: string) {
  const row = reports.coordinator?.rows.find(({ table, form }) => table === 'distributed' && form !== 'alone')
  const micros = row?.['coordinator µs']
  if (typeof micros !== 'number') return before.coordinator
  return { micros: rounded(micros), measured: `npm run bench coordinator, ${place}` }
}

function rounded(value: number): number {
  return Number(Math.max(0, value).toPrecision(3))
}
