import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type AssetRequests, assetRequests, type RequestKind } from './asset-requests.ts'
import { predictRate, type RequestCost } from './capacity/closed-loop.ts'
import { readCosts } from './capacity/costs.ts'
import { databaseCpuMicros } from './cpu-time.ts'
import { cpuOf } from './inventory-load.ts'
import { measureLoad } from './load.ts'
import { cpuMicros, median } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import { groupEnvironment, startFurther } from './platform-group.ts'
import { type PlatformProcess, withHome, withPlatform } from './platform-process.ts'
import type { Report, Row } from './report.ts'

const seed = 1
const processCounts = [1, 2, 4] as const
const workloads = ['read', 'list', 'write'] as const
const callers = 16
/** The requests that each process gets before the measurement. */
const warmUpRequests = 1_000
const warmUpMs = 500
const longestWarmUpMs = 20_000
const measureMs = 3_000
const goalPercent = 25

type Group = { home: string; processes: PlatformProcess[]; requests: AssetRequests }

/**
 * Measures the requests per second of one, two and four platform processes on one database, and compares them with the
 * prediction of the capacity model. The prediction uses the costs of one process in the file of the model, and the cores
 * that other programs left free during the measurement.
 */
export function processes({ assets, relations, only }: BenchOptions): Promise<Report> {
  return withHome(async (home) => {
    await withPlatform({ home }, (platform) =>
      platform.request({ kind: 'grow a plant', size: { assets, relations, seed } }),
    )
    return withPlatform({ home, environment: groupEnvironment }, async (first) => {
      await using started = new AsyncDisposableStack()
      const group: Group = { home, processes: [first], requests: await assetRequests(first) }
      const rows: Row[] = []
      for (const count of processCounts) {
        while (group.processes.length < count) {
          const further = await startFurther({ url: first.url, home }, join(home, `process-${group.processes.length}`))
          started.defer(() => further.stop())
          group.processes.push(further)
        }
        for (const workload of workloads) if (workload.includes(only)) rows.push(await compared(group, workload))
      }
      return { title: titleOf(assets), rows, goals: goalsOf(rows) }
    })
  })
}

function titleOf(assets: number): string {
  return `processes: ${callers} callers, ${assets.toLocaleString('en')} assets, ${availableParallelism()} cores`
}

function goalsOf(rows: readonly Row[]): Report['goals'] {
  const errors = rows.map((row) => Math.abs(Number(row['error %'])))
  const found = median(errors)
  return [
    {
      goal: `the prediction differs by less than ${goalPercent} % (median)`,
      found: `${found.toFixed(0)} %, at most ${Math.max(...errors).toFixed(0)} %`,
      reached: found < goalPercent,
    },
  ]
}

async function compared(group: Group, workload: (typeof workloads)[number]): Promise<Row> {
  const kind = group.requests[workload]
  await warmUp(group, kind)
  const { rate, cost, cores } = await measureLoop(group, { kind, ms: measureMs })
  const { work, idleProcess } = readCosts()
  const { platformMicros, databaseMicros } = work[workload]
  const idleCores = (idleProcess.platformMicros + idleProcess.databaseMicros) / 1e6
  const expected = { platformMicros, databaseMicros, clientMicros: cost.clientMicros }
  const processes = group.processes.length
  const predicted = predictRate({ cost: expected, processes, cores, idleCores, callers })
  return {
    processes,
    requests: workload,
    'per second': rate,
    predicted: predicted.rate,
    'error %': (100 * (predicted.rate - rate)) / rate,
    bottleneck: predicted.bottleneck,
    'free cores': cores,
    'platform µs': cost.platformMicros,
    'expected platform µs': platformMicros,
    'database µs': cost.databaseMicros,
    'expected database µs': databaseMicros,
    'client µs': cost.clientMicros,
  }
}

/** Sends requests to all processes, so that each process has compiled the code. */
async function warmUp(group: Group, kind: RequestKind): Promise<void> {
  const deadline = performance.now() + longestWarmUpMs
  const enough = warmUpRequests * group.processes.length
  for (let sent = 0; sent < enough && performance.now() < deadline; )
    sent += (await measureLoop(group, { kind, ms: warmUpMs })).count
}

type Loop = {
  count: number
  rate: number
  cost: RequestCost
  /** The cores that other programs of the machine did not use. */
  cores: number
}

/** Sends requests to all processes, and measures the time until the last write is applied. */
async function measureLoop(group: Group, { kind, ms }: { kind: RequestKind; ms: number }): Promise<Loop> {
  const before = await sample(group)
  const { text: request, status } = kind
  const send = ({ url }: PlatformProcess, index: number) => {
    const own = Math.floor((callers + index) / group.processes.length)
    return measureLoad({ url, callers: own, ms, request, status, serverCpu: async () => 0 })
  }
  const results = await Promise.all(group.processes.map(send))
  await group.processes[0]?.request({ kind: 'wait until everything is applied' })
  const after = await sample(group)
  const count = results.reduce((sum, result) => sum + result.count, 0)
  const used = (part: 'platform' | 'database' | 'client') => after[part] - before[part]
  const seconds = (after.atMs - before.atMs) / 1000
  const own = used('platform') + used('database') + used('client')
  const all = after.machine === undefined || before.machine === undefined ? own : after.machine - before.machine
  const others = Math.max(0, all - own) / 1e6 / seconds
  return {
    count,
    rate: count / seconds,
    cost: {
      platformMicros: used('platform') / count,
      databaseMicros: used('database') / count,
      clientMicros: used('client') / count,
    },
    // The clocks of a process and of the machine differ slightly, so the free cores are at least the used ones.
    cores: Math.max(own / 1e6 / seconds, availableParallelism() - others),
  }
}

/** Returns the processor time of all parts, and of all programs of the machine, in microseconds. */
async function sample({ home, processes: all }: Group) {
  const times = await Promise.all(all.map(cpuOf))
  return {
    atMs: performance.now(),
    platform: times.reduce((sum, time) => sum + time, 0),
    database: databaseCpuMicros(home),
    client: cpuMicros(),
    machine: machineMicros(),
  }
}

const microsPerTick = 10_000

/**
 * Returns the time that all cores have worked since the machine started, in microseconds. It includes the time that
 * other virtual machines used. Undefined on other systems than Linux.
 */
function machineMicros(): number | undefined {
  if (process.platform !== 'linux') return undefined
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user = 0, nice = 0, system = 0, , , interrupt = 0, softInterrupt = 0, stolen = 0] = line
    .split(/\s+/)
    .slice(1, 9)
    .map(Number)
  return (user + nice + system + interrupt + softInterrupt + stolen) * microsPerTick
}
