import type { scanMessages } from './scan-messages.ts'

/**
 * `ScheduleChoice` is the schedule that the user has chosen in the form. The API stores a schedule as a cron
 * expression.
 */
export type ScheduleChoice = {
  kind: 'now' | 'minutes' | 'hourly' | 'daily' | 'weekly' | 'cron'
  /** The interval in minutes, for the kind `minutes`. */
  minutes: number
  /** The time as `HH:MM`, for daily and weekly schedules. */
  time: string
  /** The weekday. 0 is Sunday, as in cron expressions. */
  weekday: number
  cron: string
}

export const scheduleKinds = ['now', 'minutes', 'hourly', 'daily', 'weekly', 'cron'] as const

/** The intervals in minutes. All of them divide an hour, so that the times between two runs are equal. */
export const scheduleIntervals = [1, 2, 5, 10, 15, 20, 30] as const

export const runNow: ScheduleChoice = { kind: 'now', minutes: 5, time: '05:00', weekday: 1, cron: '' }

/**
 * Returns the cron expression of a schedule. Returns undefined for the kind `now`, and for an invalid expression of the
 * user.
 */
export function cronOf({ kind, minutes, time, weekday, cron }: ScheduleChoice): string | undefined {
  const [hour, minute] = time.split(':').map(Number)
  if (kind === 'minutes') return minutes === 1 ? '* * * * *' : `*/${minutes} * * * *`
  if (kind === 'hourly') return '0 * * * *'
  if (kind === 'daily') return `${minute} ${hour} * * *`
  if (kind === 'weekly') return `${minute} ${hour} * * ${weekday}`
  return kind === 'cron' && isCronLine(cron) ? cron.trim() : undefined
}

export function isCronLine(text: string): boolean {
  return text.trim().split(/\s+/).length === 5
}

/**
 * Returns the choice that corresponds to a cron expression: an interval, hourly, daily or weekly if possible, otherwise
 * the kind `cron`.
 */
export function scheduleChoiceOf(cron: string): ScheduleChoice {
  if (cron === '0 * * * *') return { ...runNow, kind: 'hourly' }
  const interval = scheduleIntervals.find((minutes) => cronOf({ ...runNow, kind: 'minutes', minutes }) === cron)
  if (interval !== undefined) return { ...runNow, kind: 'minutes', minutes: interval }
  const fields = /^(\d{1,2}) (\d{1,2}) \* \* (\*|[0-6])$/.exec(cron)
  if (fields === null) return { ...runNow, kind: 'cron', cron }
  const [, minute = '', hour = '', weekday = ''] = fields
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  return weekday === '*'
    ? { ...runNow, kind: 'daily', time }
    : { ...runNow, kind: 'weekly', time, weekday: Number(weekday) }
}

type IntervalTexts = { text: (typeof scanMessages)['en']; minutes: (count: number) => string }

/** Returns the interval of a cron expression in words, without its time. */
export function intervalTextOf(cron: string, { text, minutes: minutesText }: IntervalTexts): string {
  const { kind, minutes } = scheduleChoiceOf(cron)
  if (kind !== 'minutes') return text[kind]
  return minutes === 1 ? text.everyMinute : text.every(minutesText(minutes))
}

/** Returns the time zone of the browser, or UTC if it is unknown. */
export function browserTimeZone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return timeZone === undefined || timeZone === 'Etc/Unknown' ? 'UTC' : timeZone
}
