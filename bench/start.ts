import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { median } from './measurement.ts'
import { ownEnvironment, withHome } from './platform-process.ts'
import type { Report, Row } from './report.ts'
import { stop } from './worker-process.ts'

const firstStarts = 3
const laterStarts = 5
const restMs = 2_000
const goalSeconds = 5

type StartResult = { seconds: number; megabytes: number | undefined }

/** Measures the time from `npm start` until the platform responds, and the memory of the idle platform. */
export async function start(): Promise<Report> {
  const first: StartResult[] = []
  const later: StartResult[] = []
  for (let round = 0; round < firstStarts; round++) {
    await withHome(async (home) => {
      first.push(await startOnce(home))
      const share = Math.ceil(laterStarts / firstStarts)
      for (let again = 0; again < share && later.length < laterStarts; again++) later.push(await startOnce(home))
    })
  }
  const seconds = median(later.map((started) => started.seconds))
  return {
    title: 'start: from `node main.mjs` until it is ready',
    rows: [rowOf('on an empty home', first), rowOf('on an existing home', later)],
    goals: [
      {
        goal: `a later start takes less than ${goalSeconds} s`,
        found: `${seconds.toFixed(2)} s`,
        reached: seconds < goalSeconds,
      },
    ],
  }
}

function rowOf(start: string, found: readonly StartResult[]): Row {
  const seconds = found.map((started) => started.seconds)
  const memory = found.flatMap(({ megabytes }) => megabytes ?? [])
  return {
    start,
    times: found.length,
    'median s': median(seconds),
    'slowest s': Math.max(...seconds),
    ...(memory.length === 0 ? {} : { 'memory at rest MB': median(memory) }),
  }
}

async function startOnce(home: string): Promise<StartResult> {
  const startedAt = performance.now()
  const main = fileURLToPath(new URL('../main.mjs', import.meta.url))
  const child = spawn(process.execPath, [main], { env: ownEnvironment(home), stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await untilReady(child)
    const seconds = (performance.now() - startedAt) / 1000
    await setTimeout(restMs)
    return { seconds, megabytes: memoryOf(child.pid ?? 0) }
  } finally {
    await stop(child)
  }
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      if (printed.includes('is ready after')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`The platform ended with ${code} before it was ready: ${printed}`)))
  })
}

/** Returns the memory of a process and its children. Shared pages count once. Linux only. */
function memoryOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [name, parentOf(name)]),
  )
  const isBelow = (name: string | undefined): boolean =>
    name !== undefined && (name === `${pid}` || isBelow(parents.get(name)))
  const kilobytes = [...parents.keys()].filter(isBelow).map(shareOf)
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024
}

function parentOf(pid: string): string | undefined {
  return /^PPid:\s+(\d+)$/m.exec(readText(`/proc/${pid}/status`))?.[1]
}

function shareOf(pid: string): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)
}

/**
 * Returns the text of a file, or an empty text if the file is missing. Files in `/proc` disappear when their process
 * ends.
 */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
