import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import type { Outcomes } from './outcomes.ts'

/**
 * This file measures the memory and the handles of processes. The memory of a process is flat if its median in the last quarter
 * of its life is not much higher than in the second quarter. The first quarter fills caches. Short lives are not compared.
 */

/** The growth of memory that is allowed, as a fraction and in MiB. The larger limit counts. */
const growthLimit = { fraction: 0.2, mib: 48 }
/** The shortest life of a process whose memory is compared. */
const comparedMs = 600_000
const sampleMs = 2_000
/** The number of open handles that can differ between two idle states, because connections stay open for a while. */
const handleTolerance = 12

/** The process of a name. Its id changes when it is started again. */
export type WatchedProcess = { name: string; pid(): number }

type MemorySample = { atMs: number; mib: number }
export type MemoryResult = { name: string; minutes: number; startMiB: number; endMiB: number; isCompared: boolean }

export class MemoryWatch implements Disposable {
  readonly #processes: readonly WatchedProcess[]
  readonly #lives = new Map<string, { pid: number; samples: MemorySample[] }>()
  readonly #timer: NodeJS.Timeout

  constructor(processes: readonly WatchedProcess[]) {
    this.#processes = processes
    this.#timer = setInterval(() => this.#sample(), sampleMs)
  }

  /** Returns the memory of the current life of each process, and reports growth above the limit. */
  results(outcomes: Outcomes): MemoryResult[] {
    return [...this.#lives].map(([name, { samples }]) => {
      const quarter = Math.floor(samples.length / 4)
      const startMiB = median(samples.slice(quarter, 2 * quarter))
      const endMiB = median(samples.slice(3 * quarter))
      const livedMs = (samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0)
      const isCompared = livedMs >= comparedMs
      const limitMiB = Math.max(startMiB * (1 + growthLimit.fraction), startMiB + growthLimit.mib)
      if (isCompared && endMiB > limitMiB)
        outcomes.unexpectedError('memory', `${name} grew from ${startMiB} MiB to ${endMiB} MiB`)
      return { name, minutes: Math.round(livedMs / 6_000) / 10, startMiB, endMiB, isCompared }
    })
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    for (const { name, pid: idOf } of this.#processes) {
      const pid = idOf()
      const mib = residentMiB(pid)
      if (mib === undefined) continue
      const life = this.#lives.get(name)
      const sample = { atMs: performance.now(), mib }
      if (life?.pid === pid) life.samples.push(sample)
      else this.#lives.set(name, { pid, samples: [sample] })
    }
  }
}

function median(samples: readonly MemorySample[]): number {
  const sorted = samples.map(({ mib }) => mib).toSorted((one, other) => one - other)
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0)
}

/** Returns the resident memory of a process, or undefined if it has ended. */
function residentMiB(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? undefined : Number(kib) / 1024
  } catch {
    return undefined
  }
}

/** Returns the number of open files and sockets of each process. */
export function openHandles(processes: readonly WatchedProcess[]): Map<string, number> {
  return new Map(processes.map(({ name, pid }) => [name, readdirSync(`/proc/${pid()}/fd`).length]))
}

/** Returns the processes with more open handles than before. */
export function grownHandles(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string[] {
  return [...after].flatMap(([name, count]) => {
    const former = before.get(name) ?? assert.fail(`there is no baseline of ${name}`)
    return count > former + handleTolerance ? [`${name} has ${count} open handles instead of ${former}`] : []
  })
}
