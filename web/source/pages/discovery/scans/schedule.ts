/**
 * `ScheduleChoice` is the schedule that the user has chosen in the form. The API stores a schedule as a cron
 * expression.
 */
export type ScheduleChoice = {
  kind: 'now' | 'hourly' | 'daily' | 'weekly' | 'cron'
  /** The time as `HH:MM`, for daily and weekly schedules. */
  time: string
  /** The weekday. 0 is Sunday, as in cron expressions. */
  weekday: number
  cron: string
}

export const scheduleKinds = ['now', 'hourly', 'daily', 'weekly', 'cron'] as const

export const runNow: ScheduleChoice = { kind: 'now', time: '05:00', weekday: 1, cron: '' }

/**
 * Returns the cron expression of a schedule. Returns undefined for the kind `now`, and for an invalid expression of the
 * user.
 */
export function cronOf({ kind, time, weekday, cron }: ScheduleChoice): string | undefined {
  const [hour, minute] = time.split(':').map(Number)
  if (kind === 'hourly') return '0 * * * *'
  if (kind === 'daily') return `${minute} ${hour} * * *`
  if (kind === 'weekly') return `${minute} ${hour} * * ${weekday}`
  return kind === 'cron' && isCronLine(cron) ? cron.trim() : undefined
}

export function isCronLine(text: string): boolean {
  return text.trim().split(/\s+/).length === 5
}

/**
 * Returns the choice that corresponds to a cron expression: hourly, daily or weekly if possible, otherwise the kind
 * `cron`.
 */
export function scheduleChoiceOf(cron: string): ScheduleChoice {
  if (cron === '0 * * * *') return { ...runNow, kind: 'hourly' }
  const fields = /^(\d{1,2}) (\d{1,2}) \* \* (\*|[0-6])$/.exec(cron)
  if (fields === null) return { ...runNow, kind: 'cron', cron }
  const [, minute = '', hour = '', weekday = ''] = fields
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  return weekday === '*'
    ? { ...runNow, kind: 'daily', time }
    : { ...runNow, kind: 'weekly', time, weekday: Number(weekday) }
}

/** Returns the time zone of the browser, or UTC if it is unknown. */
export function browserTimeZone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return timeZone === undefined || timeZone === 'Etc/Unknown' ? 'UTC' : timeZone
}
