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

export async function loadOf(platform: PlatformProcess): Promise<ProcessLoad & { cpu: number }> {
  return { ...(await platform.ask<ProcessLoad>({ kind: 'load' })), cpu: await cpuOf(platform) }
}

export function cpuOf(platform: PlatformProcess): Promise<number> {
  return platform.ask<number>({ kind: 'cpu' })
}
