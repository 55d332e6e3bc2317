import { readFileSync } from 'node:fs'
import { Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import { spec, type TestEvent } from 'node:test/reporters'

/** What became of one test file. */
export type FileReport = {
  file: string
  /** To be shown as it is, in one piece. */
  text: string
  /** What failed, once more in full, to be shown at the end. */
  failures: string
  passed: number
  failed: number
  skipped: number
  ms: number
  /** Of the processor, also by programs that it started and saw end: on a busy machine it says more than the time that went by. */
  cpuMs: number
}

let events: TestEvent[] = []
let usedBefore = 0

/** Tells the parent process of each file when it is over. */
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

type End = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

function endsFile(event: TestEvent): event is End {
  return isEnd(event) && event.data.nesting === 0
}

function isEnd(event: TestEvent): event is End {
  return event.type === 'test:pass' || event.type === 'test:fail'
}

async function reportOf(events: TestEvent[], { data: file }: End): Promise<FileReport> {
  const whole = await formatted(events)
  const ends = events.filter(isEnd).filter(isTest)
  const skipped = ends.filter(({ data }) => data.skip !== undefined && data.skip !== false)
  const failed = ends.filter(({ type }) => type === 'test:fail')
  const used = usedSoFar()
  const cpuMs = used - usedBefore
  usedBefore = used
  return {
    file: file.name,
    ...whole,
    passed: ends.length - failed.length - skipped.length,
    failed: failed.length,
    skipped: skipped.length,
    ms: file.details.duration_ms,
    cpuMs,
  }
}

/** Linux counts the children in, and theirs, once they have ended; elsewhere it is what this process used. */
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

/** Suites, and the file itself, are no tests; they count when they fail by themselves. */
function isTest({ type, data }: End): boolean {
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
