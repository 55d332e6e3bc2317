import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { root } from './checks.ts'
import type { FileReport } from './test-report.ts'
import type { Assignment } from './test-worker.ts'

/** The timeout of a test and of a test file. */
const limitMs = 1_200_000

/** `Lane` is a group of worker processes. Each process takes the next file from the first queue that is not empty. */
export type Lane = { queues: Assignment[][]; workers: number }

type Handling = {
  onReport(report: FileReport & Assignment): void
  onPrinted(text: string): void
}

/**
 * Runs test files in a few processes. Each process takes the next file of its lane. Several lanes can share a queue.
 * Resolves to true if all files passed.
 */
export async function runFiles(lanes: readonly Lane[], handling: Handling): Promise<boolean> {
  const work = async (queues: Assignment[][]) => {
    let isPassed = true
    while (queues.some(({ length }) => length > 0)) isPassed = (await runInOneProcess(queues, handling)) && isPassed
    return isPassed
  }
  const working = lanes.flatMap(({ queues, workers }) => Array.from({ length: workers }, () => work(queues)))
  return (await Promise.all(working)).every(Boolean)
}

/**
 * Runs files in one process until the queues are empty, or until a file ends the process. Resolves to true if all files
 * passed.
 */
async function runInOneProcess(queues: Assignment[][], { onReport, onPrinted }: Handling): Promise<boolean> {
  const take = () => queues.find(({ length }) => length > 0)?.shift()
  const worker = startWorker(onPrinted)
  const ended = once(worker, 'exit').then(() => undefined)
  for (let next = take(); next !== undefined; next = take()) {
    const answer = once(worker, 'message').then(([report]) => report as FileReport)
    worker.send(next)
    const report = await Promise.race([answer, ended])
    onReport({ ...(report ?? failed(next, 'the process ended in the middle of it')), ...next })
    if (report === undefined) return false
  }
  worker.disconnect()
  await ended
  // The exit code is not 0 if a test failed. The report of the file contains the reason.
  return worker.exitCode === 0
}

function startWorker(onPrinted: (text: string) => void): ChildProcess {
  const tool = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  const worker = fork(tool('./test-worker.ts'), {
    cwd: root,
    silent: true,
    execArgv: [`--test-reporter=${tool('./test-report.ts')}`, `--test-timeout=${limitMs}`],
  })
  for (const stream of [worker.stdout, worker.stderr]) stream?.setEncoding('utf8').on('data', onPrinted)
  return worker
}

function failed({ file }: Assignment, why: string): FileReport {
  const text = `✖ ${file}: ${why}\n`
  return { file, text, failures: text, passed: 0, failed: 1, skipped: [], ms: 0, cpuMs: 0 }
}
