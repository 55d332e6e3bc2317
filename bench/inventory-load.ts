import { readFileSync } from 'node:fs'
import type { PlatformProcess, ProcessLoad } from './platform-process.ts'

/** What a measurement of the inventory works with. */
export type Bench = {
  platform: PlatformProcess
  token: string
  size: { assets: number; relations: number }
  /** Whether to print how the database finds what is asked for. */
  plans: boolean
  /** The most memory that the platform held so far. */
  megabytes: number
}

export async function loadOf(platform: PlatformProcess): Promise<ProcessLoad & { cpu: number; time: MachineTime }> {
  const load = await platform.ask<ProcessLoad>({ kind: 'load' })
  return { ...load, cpu: await cpuOf(platform), time: machineTime() }
}

export function cpuOf(platform: PlatformProcess): Promise<number> {
  return platform.ask<number>({ kind: 'cpu' })
}

/** Time of all cores so far, in ticks, and how much of it others took who share the machine; known on Linux only. */
export type MachineTime = { all: number; stolen: number }

function machineTime(): MachineTime {
  if (process.platform !== 'linux') return { all: Number.NaN, stolen: Number.NaN }
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/\s+/).slice(1, 9).map(Number)
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 }
}

/** In percent: rates that were measured meanwhile are lower by at least as much. */
export function stealBetween(before: MachineTime, after: MachineTime): number {
  return (100 * (after.stolen - before.stolen)) / Math.max(1, after.all - before.all)
}
