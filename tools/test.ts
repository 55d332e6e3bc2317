import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { secretIn } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { ensureTemplate, startTestServer } from '@millwright/cloud/platform/testing/server.ts'
import { startPlatformIn, temporaryFolder } from '@millwright/e2e/platform.ts'
import { check, root, run } from './checks.ts'
import type { FileReport } from './test-report.ts'
import type { Assignment } from './test-worker.ts'
import { type Lane, runFiles } from './test-workers.ts'

/**
 * `npm test` runs the checks, then all tests except the long ones on one temporary database server. Tests of calls between
 * processes run with each service in a separate process. `npm test -- <files>` runs only these files, also if they are
 * long. The run fails if the output contains a secret. With `--long`, it runs the long tests and the tests with long cases.
 */

const { values, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: { long: { type: 'boolean', default: false } },
})
/** Returns true for a test that takes too long for every run, for example because it kills processes under load. */
const isLong = (file: string) => file.endsWith('.long.test.ts')
/** Returns true for a test that has long cases, or tries more random cases on request. */
const hasLongCases = (file: string) =>
  /randomCases\(|isLongRun|onlyInLongRuns/.test(readFileSync(join(root, file), 'utf8'))
const everything = globSync('**/*.test.ts', {
  cwd: root,
  exclude: ['node_modules', '**/node_modules', '.millwright'],
})
  .filter((file) => (values.long ? isLong(file) || hasLongCases(file) : patterns.length > 0 || !isLong(file)))
  .toSorted()
const selected =
  patterns.length === 0 ? everything : everything.filter((file) => patterns.some((part) => file.includes(part)))
if (selected.length === 0) fail(`No test file matches ${patterns.join(' ')}.`)

/**
 * The file that stores the last duration and CPU time of each test file. The slowest files start first, so that they do
 * not delay the end of the run.
 */
const durationsFile = join(root, 'node_modules', '.cache', 'test-durations.json')
const durations = readDurations()

// The checks use the processors only in part, so the database and the console are prepared at the same time.
const [isChecked, prepared] = await Promise.all([patterns.length > 0 || values.long || check(), prepare()])
if (!isChecked || prepared === undefined) {
  await prepared?.server?.stop()
  fail(isChecked ? 'The console could not be built.' : 'The checks failed.')
}

/**
 * Builds the console, starts the database server, and prepares a home with which the platforms of the end-to-end tests
 * start. Returns undefined if the console could not be built.
 */
async function prepare() {
  if (!(await run(process.execPath, ['web/build.ts']))) return undefined
  const server = process.env.MILLWRIGHT_TEST_DATABASE_URL === undefined ? await startTestServer() : undefined
  if (server !== undefined) {
    await ensureTemplate(server.address)
    process.env.MILLWRIGHT_TEST_SERVER = JSON.stringify(server.address)
  }
  if (selected.filter((file) => file.startsWith('e2e/')).length > 1) {
    const home = temporaryFolder('prepared').path
    await (await startPlatformIn({ home })).stop()
    process.env.MILLWRIGHT_TEST_HOME = home
  }
  return { server }
}

/**
 * The tests of what passes between processes: operations behind the front, bodies and headers, streams, callers and
 * tokens. They run with each service in a separate process. All other tests run with all services in one process, which
 * is the default of the product.
 */
const crossing = [
  'cloud/operations.test.ts',
  'cloud/front/token.test.ts',
  'cloud/platform/requests/idempotency.test.ts',
  'cloud/services/audit/service.test.ts',
  'cloud/services/credentials/deliveries.test.ts',
  'cloud/services/events/stream.test.ts',
  'cloud/services/exports/content.test.ts',
  'cloud/services/gatekeeper/waiting.test.ts',
  'cloud/services/identity/sign-in/sign-in.test.ts',
  'cloud/services/monitoring/runs.test.ts',
]

/**
 * The files that mostly wait, for example for the end of a lease or until a sign-in is old. In the first run of a checkout, the durations of files are unknown.
 * These files are small, but start first, so that the run does not wait for them at its end.
 */
const longWaits = [
  'e2e/real-plant.test.ts',
  'e2e/console-sign-in.long.test.ts',
  'e2e/console-sign-in-provider.long.test.ts',
  'e2e/discovery-faults.long.test.ts',
  'gateway/updates/crash.long.test.ts',
  'cli/scan/scan.test.ts',
]

let shown: string | undefined
const reports: (FileReport & Assignment)[] = []
const isPassed = await runFiles(lanes(), { onReport: take, onPrinted: print })
await prepared.server?.stop()
conclude()

/**
 * Returns the lanes. End-to-end tests mostly wait, for example for the start of a program or the end of a lease, so
 * they have a separate lane. The workers of the other lanes keep two processors busy. Each worker continues with the
 * files of another lane when its own queue is empty, so that the processors are busy until the end. One worker runs all
 * tests with separate processes one after the other, because it closes the processes of its tests when the arrangement
 * changes.
 */
function lanes(): Lane[] {
  const all = assignments()
  const waiting = all.filter(({ file }) => file.startsWith('e2e/'))
  const split = all.filter(({ file, arrangement }) => !file.startsWith('e2e/') && arrangement === 'split')
  const working = all.filter(({ file, arrangement }) => !file.startsWith('e2e/') && arrangement !== 'split')
  return [
    { queues: [waiting, working], workers: 3 },
    { queues: [split, working, waiting], workers: 1 },
    { queues: [working, waiting, split], workers: 1 },
  ]
}

/** Returns the files with their arrangements, the longest first. If its duration is unknown, a file counts by its size. */
function assignments(): Assignment[] {
  const requested = process.env.MILLWRIGHT_TEST_ARRANGEMENT
  const all = selected.map((file): Assignment => {
    const isSplit = requested === 'split' || (requested === undefined && crossing.includes(file))
    return { file, arrangement: isSplit ? 'split' : 'one process' }
  })
  const estimate = (file: string) => (longWaits.includes(file) ? Number.MAX_VALUE : statSync(join(root, file)).size)
  const expected = new Map(all.map((one) => [one, durations[titleOf(one)]?.ms ?? estimate(one.file)]))
  return all.toSorted((one, other) => (expected.get(other) ?? 0) - (expected.get(one) ?? 0))
}

function take(report: FileReport & Assignment): void {
  reports.push(report)
  durations[titleOf(report)] = { ms: Math.round(report.ms), cpuMs: Math.round(report.cpuMs) }
  // Failures are printed immediately, and again at the end of the run. The first output is needed, because an
  // interrupted run does not reach its end.
  print(report.text + report.failures)
}

function print(text: string): void {
  shown ??= secretIn(text)
  process.stdout.write(text)
}

function titleOf({ file, arrangement }: Assignment): string {
  return arrangement === 'split' ? `${file}, split` : file
}

function conclude(): never {
  writeDurations()
  printTimes('Slowest files', 'ms')
  printTimes('Files with the most CPU time', 'cpuMs')
  const failures = reports.filter(({ failures }) => failures !== '')
  for (const report of failures) console.log(`\n✖ ${titleOf(report)}\n${report.failures}`)
  if (shown !== undefined) console.error(`A secret was printed: …${shown}…`)
  printSkipped()
  const sum = (name: 'passed' | 'failed') => reports.reduce((total, report) => total + report[name], 0)
  const skipped = reports.reduce((total, report) => total + report.skipped.length, 0)
  console.log(`\n${sum('passed')} passed, ${sum('failed')} failed, ${skipped} skipped`)
  process.exit(isPassed && sum('failed') === 0 && shown === undefined && sum('passed') > 0 ? 0 : 1)
}

/** Lists the ten files with the highest value, and the sum of all files. */
function printTimes(title: string, order: 'ms' | 'cpuMs'): void {
  const seconds = (ms: number) => (ms / 1000).toFixed(1).padStart(6)
  const line = (name: string, { ms, cpuMs }: { ms: number; cpuMs: number }) =>
    `${seconds(ms)} ${seconds(cpuMs)}  ${name}`
  const sum = (name: 'ms' | 'cpuMs') => reports.reduce((total, report) => total + report[name], 0)
  console.log(`\n${title}: wall-clock seconds, CPU seconds`)
  for (const report of reports.toSorted((one, other) => other[order] - one[order]).slice(0, 10))
    console.log(line(titleOf(report), report))
  console.log(line('all files', { ms: sum('ms'), cpuMs: sum('cpuMs') }))
}

/** Lists the skipped tests by the reason, so that a reader sees which programs and rights were missing. */
function printSkipped(): void {
  const skipped = reports.flatMap((report) => report.skipped.map((one) => ({ ...one, file: titleOf(report) })))
  const byReason = Map.groupBy(skipped, ({ reason }) => reason)
  if (byReason.size > 0) console.log('\nSkipped tests')
  for (const [reason, tests] of byReason) {
    console.log(`  ${reason}`)
    for (const { file, title } of tests) console.log(`    ${file}: ${title}`)
  }
}

function readDurations(): Record<string, { ms: number; cpuMs: number }> {
  try {
    return JSON.parse(readFileSync(durationsFile, 'utf8'))
  } catch {
    return {}
  }
}

function writeDurations(): void {
  mkdirSync(dirname(durationsFile), { recursive: true })
  writeFileSync(durationsFile, JSON.stringify(durations, null, 2))
}

function fail(sentence: string): never {
  console.error(sentence)
  process.exit(1)
}
