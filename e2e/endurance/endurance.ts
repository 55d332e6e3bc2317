import { setTimeout as delay } from 'node:timers/promises'
import { type Random, randomFrom } from '@millwright/cloud/platform/testing/visibility-model.ts'
import { until } from '../platform.ts'
import { ExportTask, HierarchyTask } from '../upgrade-load.ts'
import { auditEntries, checkDatabase, type DatabaseFigures, databaseConnections, settle } from './database-store.ts'
import { type Fault, faultsOf } from './faults.ts'
import { EnduranceLoad } from './load.ts'
import { type OutcomeCounts, Outcomes } from './outcomes.ts'
import { grownHandles, type MemoryResult, MemoryWatch, openHandles } from './resources.ts'
import { EnduranceSite } from './site.ts'
import { EventTask, ImportTask, LedgerTask, ReaderTask, RemoteTask, ScanTask, withPause } from './tasks.ts'

/**
 * This file runs the complete product for a long time under mixed load, while faults happen in turn: kills of every process, an
 * outage and a full disk of the database, and a slow network. After each fault, all parts must work again within a limit. In the
 * end, the stored data must equal the acknowledged requests, and memory and handles must not have grown.
 *
 * The run has these phases: a warm-up without faults, a baseline of the open handles while the load pauses, the faults, and the
 * final checks. In the first cycle, all processes are killed. Later, the first process of the platform and the gateway live until
 * the end, so that a slow growth of their memory is visible.
 */

export type EnduranceOptions = {
  /** The minutes of load with faults. At least one cycle of all faults runs. */
  minutes: number
  seed: number
  log: (line: string) => void
}

export type FaultFigures = { name: string; count: number; medianMs: number; longestMs: number }

export type EnduranceResult = {
  minutes: number
  outcomes: Map<string, OutcomeCounts>
  /** The first unexpected errors. Their total number is `unexpected`. */
  messages: readonly string[]
  unexpected: number
  faults: FaultFigures[]
  skipped: string[]
  checked: Map<string, number>
  memory: MemoryResult[]
  handles: { name: string; before: number; after: number }[]
  database: DatabaseFigures
}

const minuteMs = 60_000
const warmUpMs = 20_000
/** The pause with load between two faults: in a short run, and in a run of at least `longRunMinutes`. */
const shortPauseMs = 3_000
const longPauseMs = 20_000
const longRunMinutes = 10
/** The time in which all parts must work again after the cause of a fault is removed. */
const recoveryLimitMs = 120_000
/** The time in which idle connections are closed. */
const idleLimitMs = 180_000
const ledgers = 2
/** The number of lines of the logs that a failed run prints. */
const shownLogLines = 200
const hierarchyPauseMs = 3_000
const exportPauseMs = 30_000

/** Runs the load and the faults. The result contains all unexpected errors. Throws if the run cannot continue. */
export async function endure({ minutes, seed, ...options }: EnduranceOptions): Promise<EnduranceResult> {
  const startedAt = performance.now()
  const log = (line: string) => options.log(`${Math.round((performance.now() - startedAt) / 1000)} s: ${line}`)
  const outcomes = new Outcomes(log)
  await using site = await EnduranceSite.start()
  log('all processes run')
  const processes = watchedProcesses(site)
  const load = new EnduranceLoad(site.replicas, outcomes)
  const entriesBefore = await auditEntries(site)
  load.start(await tasksOf(site, load, randomFrom(seed)))
  await delay(warmUpMs)
  const before = await idleHandles(site, load, processes)
  log('the baseline of the open handles is measured')
  load.resume()

  using memory = new MemoryWatch(processes)
  const loadedAt = performance.now()
  const endsAt = loadedAt + minutes * minuteMs
  const recoveries = await injectFaults(site, load, { endsAt, minutes, random: randomFrom(seed), log })
  const loadedMs = performance.now() - loadedAt
  const memoryResults = memory.results(outcomes)

  const after = await idleHandles(site, load, processes, before)
  await load.stop()
  for (const message of grownHandles(before, after)) outcomes.unexpectedError('handles', message)
  log('the load has stopped, the results are checked')
  const checked = await load.check()
  const database = await checkDatabase(site, load, entriesBefore)
  // The log explains the unexpected responses. During a fault, the platform logs expected errors.
  if (outcomes.unexpected > 0) for (const line of site.replicas.errors().slice(-shownLogLines)) log(line)
  return {
    minutes: Math.round(loadedMs / 6_000) / 10,
    outcomes: outcomes.counts,
    messages: outcomes.messages,
    unexpected: outcomes.unexpected,
    faults: [...recoveries].map(([name, times]) => figuresOf(name, times)),
    skipped: site.hasDisk ? [] : ['full disk: mounting a small disk needs root permissions'],
    checked,
    memory: memoryResults,
    handles: [...after].map(([name, count]) => ({ name, before: before.get(name) ?? 0, after: count })),
    database,
  }
}

async function tasksOf(site: EnduranceSite, load: EnduranceLoad, random: Random) {
  const [writes, reads, events, scans, imports, remote, hierarchy, exports] = await Promise.all(
    ['writes', 'reads', 'events', 'scans', 'imports', 'remote access', 'hierarchies', 'exports'].map((kind) =>
      load.caller(kind),
    ),
  )
  if (!(writes && reads && events && scans && imports && remote && hierarchy && exports)) throw new TypeError()
  return [
    ...Array.from({ length: ledgers }, (_, index) => new LedgerTask(writes, { index, random })),
    new ReaderTask(reads, random),
    new EventTask(load, events),
    new ScanTask(scans, site),
    new ImportTask(imports),
    new RemoteTask(load, remote, site),
    withPause(new HierarchyTask(hierarchy), hierarchyPauseMs),
    withPause(new ExportTask(exports, { filter: "startswith(name, 'import-')" }), exportPauseMs),
  ]
}

function watchedProcesses(site: EnduranceSite) {
  return [
    ...site.platforms.map((replica) => ({ name: replica.name, pid: () => replica.program.child.pid ?? 0 })),
    { name: 'gateway', pid: () => site.floor.gateway.program.child.pid ?? 0 },
    { name: 'link', pid: () => site.plant.child.pid ?? 0 },
  ]
}

type Processes = ReturnType<typeof watchedProcesses>

/**
 * Pauses the load, and returns the open handles of the processes and the connections to the database. Waits until they are not
 * higher than the baseline, because idle connections are closed after a while.
 */
async function idleHandles(
  site: EnduranceSite,
  load: EnduranceLoad,
  processes: Processes,
  baseline?: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  await load.pause()
  await settle(site)
  const read = async () => openHandles(processes).set('database connections', await databaseConnections(site))
  if (baseline !== undefined)
    await until(
      'idle connections are closed',
      async () => grownHandles(baseline, await read()).length === 0,
      idleLimitMs,
    ).catch(() => {})
  return read()
}

type FaultOptions = { endsAt: number; minutes: number; random: Random; log: (line: string) => void }

/** Injects faults until the time is over. Returns the recovery times by the name of the fault. */
async function injectFaults(
  site: EnduranceSite,
  load: EnduranceLoad,
  { endsAt, minutes, random, log }: FaultOptions,
): Promise<Map<string, number[]>> {
  const recoveries = new Map<string, number[]>()
  const caller = await load.caller('probes')
  const [first] = site.platforms
  for (let cycle = 0; cycle === 0 || performance.now() < endsAt; cycle++) {
    const faults = faultsOf(site, { survivor: cycle === 0 ? undefined : first })
    for (const fault of shuffled(faults, random)) {
      if (cycle > 0 && performance.now() > endsAt) break
      const ms = await injectFault(fault, { load, recovered: () => site.untilReady(caller, recoveryLimitMs) })
      // The results are checked and the figures are printed also after a fault that did not end.
      if (ms === undefined) return recoveries
      log(`${fault.name}: all parts work again after ${ms} ms`)
      recoveries.set(fault.name, [...(recoveries.get(fault.name) ?? []), ms])
      await delay(minutes < longRunMinutes ? shortPauseMs : longPauseMs)
    }
  }
  return recoveries
}

type InjectOptions = { load: EnduranceLoad; recovered: () => Promise<void> }

/**
 * Injects a fault and waits until all parts work again. Returns the time since the cause was removed, or undefined if a part does
 * not work again within its limit.
 */
async function injectFault(fault: Fault, { load, recovered }: InjectOptions): Promise<number | undefined> {
  load.outcomes.beginFault()
  try {
    await fault.inject()
    const removedAt = performance.now()
    await recovered()
    return Math.round(performance.now() - removedAt)
  } catch (error) {
    load.outcomes.unexpectedError(fault.name, error)
    return undefined
  } finally {
    load.outcomes.endFault()
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, order: random(1_000_000) }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ item }) => item)
}

function figuresOf(name: string, times: readonly number[]): FaultFigures {
  const sorted = times.toSorted((one, other) => one - other)
  return {
    name,
    count: times.length,
    medianMs: sorted[Math.floor(times.length / 2)] ?? 0,
    longestMs: sorted.at(-1) ?? 0,
  }
}
