import type { Report, Row } from '../report.ts'
import type { Costs } from './costs.ts'
import {
  type Demand,
  defaultDemand,
  defaultMachines,
  type FigureOption,
  InvalidFigure,
  type Machines,
  readFigures,
} from './demand.ts'
import { assumptions, capacityOf, secondsPerDay, storedBytesOf } from './model.ts'

/**
 * The sizing applies the capacity model to one machine that runs the platform and its embedded database. It computes the
 * cores, memory and disk of a plant, and the largest plant of a machine. The model plans for a cluster with measured
 * costs of a quiet machine. One machine needs reserves in addition, which are `reserves`.
 */

/** The figures of a plant, each with its limits and its meaning. Missing figures follow from the number of assets. */
export const plantOptions = {
  assets: { default: 5_000, least: 1, most: 1e8, help: 'assets, each with five relations' },
  gateways: { default: Number.NaN, least: 0, most: 1e5, help: 'connected gateways (default: one for 1,000 assets)' },
  requests: {
    default: Number.NaN,
    least: 0,
    most: 1e5,
    help: 'requests of users in a second, in the busiest hour (default: one for 5,000 assets)',
  },
  changes: {
    default: Number.NaN,
    least: 0,
    most: 1e9,
    help: 'changed assets in a day (default: 5 % of the assets)',
  },
  scans: defaultOption('scans', 'scans of each asset in a day'),
  checks: defaultOption('checks', 'monitoring checks of each asset in a day'),
  'history-days': defaultOption('history-days', 'days for which the history of assets is stored'),
} as const satisfies Record<string, FigureOption>

/** The figures of a machine. */
export const machineOptions = {
  cores: { default: Number.NaN, least: 1, most: 1_024, help: 'processor cores' },
  memory: { default: Number.NaN, least: 1, most: 1e5, help: 'memory in GiB' },
  disk: { default: Number.NaN, least: 10, most: 1e6, help: 'disk space in GB' },
} as const satisfies Record<string, FigureOption>

export type Plant = Record<keyof typeof plantOptions, number>
export type Machine = Record<keyof typeof machineOptions, number>

/** What one machine needs in addition to the answer of the model. */
export const reserves = {
  /** A request costs up to 2.5 times the stored cost if several processes share few cores (capacity.md). */
  processorFactor: 2,
  /** The memory of a process during batches of assets with relations, in addition to its memory at rest. */
  writeMebibytes: 450,
  /** The buffers of the embedded database server. */
  databaseGibibytes: 0.25,
  /** The memory of the operating system. */
  systemGibibytes: 1,
  /** The operating system and the program. */
  systemGigabytes: 10,
  /** The largest size of the write-ahead log of the embedded server (`max_wal_size`), with the segment in use. */
  logGigabytes: 1.1,
  /** The share of the disk that stays free, in percent: for backups of settings, exports and artefacts. */
  freeDisk: 20,
} as const

/** `Sizing` is what a plant needs on one machine. */
export type Sizing = {
  plant: Plant
  cores: number
  memoryGibibytes: number
  diskGigabytes: number
  processes: number
  /** The parts of the disk space in GB. */
  disk: Record<string, number>
  logMegabytes: number
}

const requestsPerUser = 0.5
const assetsPerGateway = 1_000
const assetsPerRequest = 5_000
const changedShare = 0.05

/** Returns the figures of a plant. Figures that are not given follow from the number of assets. */
export function plantOf(given: Partial<Plant>): Plant {
  const { assets = plantOptions.assets.default } = given
  return {
    assets,
    gateways: Math.ceil(assets / assetsPerGateway),
    requests: Math.max(1, assets / assetsPerRequest),
    changes: assets * changedShare,
    scans: defaultDemand.scans,
    checks: defaultDemand.checks,
    'history-days': defaultDemand['history-days'],
    ...given,
  }
}

/** Returns the demand of the capacity model for a plant of one tenant. */
export function demandOf({ assets, gateways, requests, changes, ...daily }: Plant): Demand {
  const peak = defaultDemand['peak-factor']
  const users = Math.ceil(requests / requestsPerUser)
  return {
    ...defaultDemand,
    ...daily,
    assets,
    gateways,
    users,
    'requests-per-minute': users === 0 ? 0 : (requests * 60) / (users * peak),
    changes: changes / assets,
    'largest-tenant': 100,
  }
}

const machines: Machines = { ...defaultMachines, copies: 1 }

export function sizingOf(plant: Plant, costs: Costs): Sizing {
  const demand = demandOf(plant)
  const capacity = capacityOf({ demand, machines, costs })
  const processes = capacity.processes - assumptions.spareProcesses
  const busy = (capacity.processCores + capacity.databaseCores) * reserves.processorFactor
  const processGibibytes = (processes * (capacity.processMebibytes + reserves.writeMebibytes)) / 1024
  const stored = Object.entries(storedBytesOf(demand, costs)).map(([name, bytes]) => [name, bytes / 1e9])
  const disk: Record<string, number> = {
    ...Object.fromEntries(stored),
    'write-ahead log': reserves.logGigabytes,
    system: reserves.systemGigabytes,
  }
  const used = Object.values(disk).reduce((sum, part) => sum + part, 0)
  return {
    plant,
    cores: busy / (machines.utilisation / 100),
    memoryGibibytes:
      processGibibytes + capacity.databaseGibibytes + reserves.databaseGibibytes + reserves.systemGibibytes,
    diskGigabytes: used / (1 - reserves.freeDisk / 100),
    processes,
    disk: { ...disk, free: (used * reserves.freeDisk) / (100 - reserves.freeDisk) },
    logMegabytes: capacity.logMegabytes,
  }
}

/** The plants of the overview. */
export const typicalPlants: readonly { name: string; plant: Plant }[] = [
  { name: 'test on a laptop', plant: plantOf({ assets: 500 }) },
  { name: 'small plant', plant: plantOf({ assets: 5_000 }) },
  { name: 'large plant', plant: plantOf({ assets: 50_000 }) },
  { name: 'several plants', plant: plantOf({ assets: 500_000 }) },
]

/** The machines of the overview. */
export const typicalMachines: readonly Machine[] = [
  { cores: 2, memory: 4, disk: 50 },
  { cores: 4, memory: 8, disk: 200 },
  { cores: 8, memory: 32, disk: 1_000 },
  { cores: 16, memory: 128, disk: 4_000 },
]

/** `Largest` is the largest plant that a machine carries, and the resource that is full first. */
export type Largest =
  | { machine: Machine; sizing: Sizing; full: keyof Machine }
  | { machine: Machine; full: keyof Machine }

/**
 * Returns the largest plant of a machine with the proportions of `shape`. The result has no plant if the machine is too
 * small for one asset.
 */
export function largestPlant(machine: Machine, shape: Plant, costs: Costs): Largest {
  const at = (assets: number) => sizingOf(scaled(shape, assets), costs)
  let fits = 1
  let tooLarge: number = plantOptions.assets.most
  if (fullResource(at(fits), machine) !== undefined)
    return { machine, full: fullResource(at(fits), machine) ?? 'cores' }
  while (tooLarge / fits > 1.005) {
    const middle = Math.sqrt(fits * tooLarge)
    if (fullResource(at(middle), machine) === undefined) fits = middle
    else tooLarge = middle
  }
  return { machine, sizing: at(Math.floor(fits)), full: fullResource(at(tooLarge), machine) ?? 'disk' }
}

function scaled(shape: Plant, assets: number): Plant {
  const factor = assets / shape.assets
  return {
    ...shape,
    assets,
    gateways: Math.ceil(shape.gateways * factor),
    requests: shape.requests * factor,
    changes: shape.changes * factor,
  }
}

/** Returns the resource that a plant exceeds the most, if it exceeds one. */
function fullResource(sizing: Sizing, machine: Machine): keyof Machine | undefined {
  const shares: Record<keyof Machine, number> = {
    cores: sizing.cores / machine.cores,
    memory: sizing.memoryGibibytes / machine.memory,
    disk: sizing.diskGigabytes / machine.disk,
  }
  const [[name, share] = ['disk', 0]] = Object.entries(shares).toSorted(([, one], [, other]) => other - one)
  return share > 1 ? (name as keyof Machine) : undefined
}

export type SizingArguments = {
  /** The plant of the arguments. Undefined if no figure of a plant is given. */
  plant: Plant | undefined
  machine: Machine | undefined
  json: boolean
  pages: boolean
  help: boolean
}

/** Parses the arguments of `npm run sizing` and checks each figure. */
export function parseSizingArguments(args: readonly string[]): SizingArguments {
  const { figures, flags } = readFigures(
    args,
    { ...plantOptions, ...machineOptions },
    {
      command: 'sizing',
      flags: ['json', 'pages', 'help'],
    },
  )
  const given = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap((name) => (figures[name] === undefined ? [] : [[name, figures[name]]])))
  const plant = given(Object.keys(plantOptions)) as Partial<Plant>
  const machine = given(Object.keys(machineOptions)) as Partial<Machine>
  const missing = Object.keys(machineOptions).filter((name) => figures[name] === undefined)
  if (missing.length === 1 || missing.length === 2)
    throw new InvalidFigure(`A machine needs all of --cores, --memory and --disk. Missing: --${missing.join(', --')}.`)
  return {
    plant: Object.keys(plant).length === 0 ? undefined : plantOf(plant),
    machine: missing.length === 0 ? (machine as Machine) : undefined,
    json: flags.has('json'),
    pages: flags.has('pages'),
    help: flags.has('help'),
  }
}

/** Returns a report with one row for each plant. */
export function plantsReport(plants: readonly { name: string; sizing: Sizing }[]): Report {
  return {
    title: 'the machine for a plant',
    rows: plants.map(({ name, sizing }) => ({ plant: name, ...plantCells(sizing.plant), ...needCells(sizing) })),
    goals: [],
  }
}

/** Returns a report with the parts of the disk space of one plant. */
export function diskReport(sizing: Sizing): Report {
  const details: Record<string, string> = {
    assets: 'assets with relations, indexes and search index',
    history: `history and audit entries of ${sizing.plant['history-days']} days`,
    events: 'events of 30 days',
    statuses: 'results of asset writes of 7 days',
    tenants: 'tables of an empty tenant',
    'write-ahead log': 'at most',
    system: 'operating system and program',
    free: `${reserves.freeDisk} % of the disk`,
  }
  const rows = Object.entries(sizing.disk).map(([part, gigabytes]) => ({
    disk: part,
    amount: space(gigabytes),
    detail: details[part] ?? '',
  }))
  return { title: 'disk space of this plant', rows, goals: [] }
}

/** Returns a report with the largest plant of each machine. */
export function machinesReport(largest: readonly Largest[]): Report {
  return { title: 'the largest plant of a machine', rows: largest.map(machineRow), goals: [] }
}

function machineRow(largest: Largest): Row {
  const { cores, memory, disk } = largest.machine
  const machine = { cores: `${cores}`, memory: `${memory} GiB`, disk: space(disk) }
  if (!('sizing' in largest)) return { ...machine, assets: 'too small', 'full first': largest.full }
  const { plant, processes } = largest.sizing
  return { ...machine, ...plantCells(plant), processes: count(processes), 'full first': largest.full }
}

function plantCells({ assets, gateways, requests, changes }: Plant): Record<string, string> {
  return {
    assets: count(assets),
    gateways: count(gateways),
    'requests/s': short(requests),
    'changes/day': count(changes),
  }
}

function needCells({ cores, memoryGibibytes, diskGigabytes, processes }: Sizing): Record<string, string> {
  return {
    processes: count(processes),
    cores: `${Math.max(2, Math.ceil(cores))}`,
    memory: `${Math.max(2, Math.ceil(memoryGibibytes))} GiB`,
    disk: space(diskGigabytes),
  }
}

/** `Overview` contains the needs of typical plants, and the largest plants of typical machines. */
export type Overview = { plants: { name: string; sizing: Sizing }[]; machines: Largest[] }

export function overview(costs: Costs): Overview {
  return {
    plants: typicalPlants.map(({ name, plant }) => ({ name, sizing: sizingOf(plant, costs) })),
    machines: typicalMachines.map((machine) => largestPlant(machine, plantOf({}), costs)),
  }
}

/** Replaces the tables of the sizing in a page of the documentation. Throws if a table is missing. */
export function withSizingTables(page: string, { plants, machines }: Overview): string {
  const replaced = (text: string, report: Report) => {
    const table = markdownRows(report)
    const [head = ''] = table.split('\n')
    const start = text.indexOf(`\n${head.slice(0, head.indexOf('|', 1) + 1)}`) + 1
    const end = text.indexOf('\n\n', start)
    if (start === 0 || end < 0) throw new TypeError(`The page has no table that starts with ${head}`)
    return `${text.slice(0, start)}${table}${text.slice(end)}`
  }
  return replaced(replaced(page, plantsReport(plants)), machinesReport(machines))
}

/** Returns the rows of a report as a table for the documentation. */
function markdownRows({ rows }: Report): string {
  const columns = Object.keys(rows[0] ?? {})
  const lines = [columns, columns.map(() => '---'), ...rows.map((row) => columns.map((name) => `${row[name] ?? ''}`))]
  return lines.map((cells) => `|${cells.map((cell) => (cell === '---' ? cell : ` ${cell} `)).join('|')}|`).join('\n')
}

export function sizingHelp(): string {
  const line = ([name, { help, default: fallback }]: [string, FigureOption]) =>
    `  --${name.padEnd(14)}${help}${Number.isNaN(fallback) ? '' : ` (default ${fallback.toLocaleString('en')})`}`
  const lines = (options: Record<string, FigureOption>) => Object.entries(options).map(line).join('\n')
  return `npm run sizing [-- options]

Prints the cores, memory and disk of typical plants, and the largest plant of typical machines. The platform and its
database run on one machine. For several machines or tenants, use \`npm run capacity\`.

A plant. The answer is the machine that this plant needs:
${lines(plantOptions)}

A machine. The answer is its largest plant, with the proportions of the plant:
${lines(machineOptions)}

  --json          prints the answer for programs

Examples:
  npm run sizing -- --assets 20000 --gateways 12 --requests 5
  npm run sizing -- --assets 20000 --changes 50000 --history-days 90
  npm run sizing -- --cores 4 --memory 8 --disk 200`
}

function defaultOption(name: 'scans' | 'checks' | 'history-days', help: string): FigureOption {
  const most = name === 'history-days' ? 36_500 : secondsPerDay / 60
  return { default: defaultDemand[name], least: 0, most, help }
}

function space(gigabytes: number): string {
  if (gigabytes < 1) return `${count(gigabytes * 1_000)} MB`
  if (gigabytes >= 1_000) return `${short(gigabytes / 1_000)} TB`
  return `${gigabytes < 10 ? short(gigabytes) : count(gigabytes)} GB`
}

function count(value: number): string {
  return Math.ceil(Number(value.toPrecision(2))).toLocaleString('en')
}

function short(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en')
}
