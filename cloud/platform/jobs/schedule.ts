import { Problem } from '@millwright/api/problem.ts'
import { Cron } from 'croner'

export type Timing = { cron: string; timezone: string }

const longestPattern = 128

/** The first run after a moment; null when there is none. Daylight saving is the time zone's, never a run lost. */
export function nextRun({ cron, timezone }: Timing, after: Date): Date | null {
  return parsed({ cron, timezone }).nextRun(after)
}

export function nextRuns({ cron, timezone }: Timing, after: Date, count: number): Date[] {
  return parsed({ cron, timezone }).nextRuns(count, after)
}

/** The first run of a schedule that somebody asks for, or a problem that names what is wrong with it. */
export function requireRun(timing: Timing, after: Date): Date {
  requireTimezone(timing.timezone)
  const first = refused(() => nextRun(timing, after), timing.cron)
  if (first === null) throw invalid('cron', 'never_runs', `The schedule "${timing.cron}" never runs`)
  return first
}

function parsed({ cron, timezone }: Timing): Cron {
  // The library also takes a date for a pattern, which would be a schedule of one run.
  if (!cron.startsWith('@') && cron.trim().split(/\s+/).length !== 5) {
    throw new TypeError('it has five fields: minute, hour, day of month, month, day of week')
  }
  return new Cron(cron, { mode: '5-part', timezone, paused: true })
}

function refused<Result>(work: () => Result, cron: string): Result {
  if (cron.length > longestPattern) {
    throw invalid('cron', 'invalid_cron', `A schedule has at most ${longestPattern} characters`)
  }
  try {
    return work()
  } catch (error) {
    const reason = (error as Error).message.replace(/^Cron\w*: /, '')
    throw invalid('cron', 'invalid_cron', `The schedule "${cron}" cannot be read: ${reason}`)
  }
}

function requireTimezone(timezone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    throw invalid(
      'timezone',
      'invalid_timezone',
      `There is no time zone "${timezone}": use a name such as Europe/Berlin`,
    )
  }
}

function invalid(field: string, code: string, detail: string): Problem {
  return new Problem('invalid_body', detail, { errors: [{ pointer: `/data/${field}`, code, detail }] })
}
