import { readFileSync } from 'node:fs'
import { type PlatformProcess, type ProcessLoad, tokenFor } from './platform-process.ts'
import type { DatabaseTarget, ReferenceCommand } from './reference-process.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

/** `Bench` contains the objects and settings that a measurement of the inventory uses. */
export type Bench = {
  platform: PlatformProcess
  reference: WorkerProcess<ReferenceCommand>
  target: DatabaseTarget
  token: string
  size: { assets: number; relations: number }
  /** Whether to print the query plans. */
  plans: boolean
  /** The maximum memory that the platform has used so far, in megabytes. */
  megabytes: number
}

type Measured = { platform: PlatformProcess; size: Bench['size']; plans: boolean }

/** Runs a benchmark with the reference process, which is stopped afterwards. */
export async function withBench<Result>(
  { platform, size, plans }: Measured,
  work: (bench: Bench) => Promise<Result>,
): Promise<Result> {
  const reference = await startWorkerProcess<ReferenceCommand>('./reference-process.ts')
  try {
    const target = await platform.request<DatabaseTarget>({ kind: 'database target' })
    return await work({ platform, reference, target, token: await tokenFor(platform), size, plans, megabytes: 0 })
  } finally {
    await reference.stop()
  }
}

export async function loadOf(platform: PlatformProcess): Promise<ProcessLoad & { cpu: number; time: MachineTime }> {
  const load = await platform.request<ProcessLoad>({ kind: 'load' })
  return { ...load, cpu: await cpuOf(platform), time: machineTime() }
}

export function cpuOf(process: WorkerProcess<{ kind: 'cpu' }>): Promise<number> {
  return process.request<number>({ kind: 'cpu' })
}

/**
 * `MachineTime` is the time of all cores since the machine started, in ticks. `stolen` is the part that other virtual
 * machines used. Linux only.
 */
export type MachineTime = { all: number; stolen: number }

function machineTime(): MachineTime {
  if (process.platform !== 'linux') return { all: Number.NaN, stolen: Number.NaN }
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/\s+/).slice(1, 9).map(Number)
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 }
}

/**
 * Returns the steal time between two samples, in percent of the total time. Rates that were measured in this interval
 * are too low by at least this share.
 */
export function stealBetween(before: MachineTime, after: MachineTime): number {
  return (100 * (after.stolen - before.stolen)) / Math.max(1, after.all - before.all)
}
