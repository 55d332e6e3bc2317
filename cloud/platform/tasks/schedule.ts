import { Problem } from '@millwright/api/problem.ts'
import { Cron } from 'croner'
import { LruMap } from 'toad-cache'

export type Timing = { cron: string; timezone: string }

const longestPattern = 128

/** The parsed schedules that were used last. Parsing takes as long as finding a run. */
const schedules = new LruMap<Cron>(500)

/**
 * Returns the first run after a time, or null if there is none. If daylight saving time skips the local time of a run,
 * the run still takes place.
 */
export function nextRun({ cron, timezone }: Timing, after: Date): Date | null {
  return parsed({ cron, timezone }).nextRun(after)
}

export function nextRuns({ cron, timezone }: Timing, after: Date, count: number): Date[] {
  return parsed({ cron, timezone }).nextRuns(count, after)
}

/**
 * Returns the period of a schedule that contains a time: it starts with a run and takes this number of minutes. Returns
 * undefined if there is none. Of several overlapping periods, it returns the one that starts first.
 */
export function periodAt(timing: Timing, minutes: number, at: Date): { start: Date; end: Date } | undefined {
  const lengthMs = minutes * 60_000
  const start = nextRun(timing, new Date(at.getTime() - lengthMs))
  if (start === null || start > at) return undefined
  return { start, end: new Date(start.getTime() + lengthMs) }
}

/**
 * Returns the first run of a requested schedule. `pointer` is the position of the schedule in the request body, for
 * error messages.
 */
export function requireRun(timing: Timing, after: Date, pointer = ''): Date {
  requireTimezone(timing.timezone, pointer)
  const invalidCron = (code: string, detail: string) => invalid(`${pointer}/cron`, code, detail)
  if (timing.cron.length > longestPattern) {
    throw invalidCron(
      'invalid_cron',
      `The schedule has ${timing.cron.length} characters; the limit is ${longestPattern}`,
    )
  }
  const first = firstRun(timing, after, (reason) =>
    invalidCron('invalid_cron', `The schedule "${timing.cron}" is not valid: ${reason}`),
  )
  if (first === null) throw invalidCron('never_runs', `The schedule "${timing.cron}" never runs`)
  return first
}

function firstRun(timing: Timing, after: Date, invalidCron: (reason: string) => Problem): Date | null {
  try {
    return nextRun(timing, after)
  } catch (error) {
    throw invalidCron((error as Error).message.replace(/^Cron\w*: /, ''))
  }
}

function parsed({ cron, timezone }: Timing): Cron {
  // The library also accepts a date as a pattern, which would give a schedule with one run. So the number of fields is
  // checked.
  if (!cron.startsWith('@') && cron.trim().split(/\s+/).length !== 5) {
    throw new TypeError('it must have five fields (minute, hour, day of month, month, day of week)')
  }
  const key = `${timezone} ${cron}`
  const known = schedules.get(key) ?? new Cron(cron, { mode: '5-part', timezone, paused: true })
  schedules.set(key, known)
  return known
}

function requireTimezone(timezone: string, pointer: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    throw invalid(
      `${pointer}/timezone`,
      'invalid_timezone',
      `Unknown time zone "${timezone}". Use an IANA name such as Europe/Berlin`,
    )
  }
}

function invalid(pointer: string, code: string, detail: string): Problem {
  return new Problem('invalid_body', detail, { errors: [{ pointer, code, detail }] })
}
