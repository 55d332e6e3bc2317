import { readFileSync } from 'node:fs'
import { Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import { spec, type TestEvent } from 'node:test/reporters'

/** `SkippedTest` is a test that did not run, for example because a program is not installed. */
export type SkippedTest = { title: string; reason: string }

/** `FileReport` is the result of one test file. */
export type FileReport = {
  file: string
  /** The output of the tests in the file. It is printed in one piece. */
  text: string
  /** The full text of the failures. It is printed again at the end of the run. */
  failures: string
  passed: number
  failed: number
  skipped: SkippedTest[]
  ms: number
  /**
   * The processor time of the file, including child processes that have ended. On a busy machine, it is more meaningful
   * than the elapsed time.
   */
  cpuMs: number
}

let events: TestEvent[] = []
let usedBefore = 0

/** Sends the report of each file to the parent process. */
// biome-ignore lint/style/noDefaultExport: Node takes a reporter by it.
export default new Transform({
  writableObjectMode: true,
  transform(event: TestEvent, _encoding, taken) {
    events.push(event)
    if (!endsFile(event) || !process.connected) return taken()
    const ofFile = events
    events = []
    reportOf(ofFile, event).then((report) => process.send?.(report, () => taken()), taken)
  },
})

type TestEnd = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

function endsFile(event: TestEvent): event is TestEnd {
  return isEnd(event) && event.data.nesting === 0
}

function isEnd(event: TestEvent): event is TestEnd {
  return event.type === 'test:pass' || event.type === 'test:fail'
}

async function reportOf(events: TestEvent[], { data: file }: TestEnd): Promise<FileReport> {
  const whole = await formatted(events)
  const all = events.filter(isEnd)
  const ends = all.filter(isTest)
  const isSkipped = ({ data }: TestEnd) => data.skip !== undefined && data.skip !== false
  // A skipped group runs none of its tests, so it counts as one skipped test.
  const skipped = all.filter((end) => end.data.nesting > 0 && isSkipped(end))
  const failed = ends.filter(({ type }) => type === 'test:fail')
  const used = usedSoFar()
  const cpuMs = used - usedBefore
  usedBefore = used
  return {
    file: file.name,
    ...whole,
    passed: ends.filter((end) => !isSkipped(end)).length - failed.length,
    failed: failed.length,
    skipped: skipped.map(({ data: { name, skip } }) => ({
      title: name,
      reason: typeof skip === 'string' && skip !== '' ? skip : 'no reason given',
    })),
    ms: file.details.duration_ms,
    cpuMs,
  }
}

/**
 * Returns the processor time so far, in milliseconds. On Linux, it includes child processes that have ended. On other
 * systems, it is the time of this process only.
 */
function usedSoFar(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
    const hundredths = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return hundredths * 10
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
}

/**
 * Returns true for a test. A suite or a file is not a test. If it fails although none of its tests failed, it counts as
 * a failed test.
 */
function isTest({ type, data }: TestEnd): boolean {
  if (type === 'test:fail') return (data.details.error as { failureType?: string }).failureType !== 'subtestsFailed'
  return data.nesting > 0 && data.details.type !== 'suite'
}

async function formatted(events: TestEvent[]): Promise<Pick<FileReport, 'text' | 'failures'>> {
  const reporter = new spec()
  const written = text(reporter)
  for (const event of events) reporter.write(event)
  reporter.end()
  const [shown = '', failures = ''] = (await written).split(/^(?=.*failing tests:$)/m)
  return { text: shown, failures: failures.replace(/^.*failing tests:\n/, '') }
}
