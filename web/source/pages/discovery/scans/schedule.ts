/** When a scan runs, as people choose it; the platform knows cron lines. */
export type ScheduleChoice = {
  kind: 'now' | 'hourly' | 'daily' | 'weekly' | 'cron'
  /** `HH:MM` for daily and weekly. */
  time: string
  /** 0 is Sunday, as in cron lines. */
  weekday: number
  cron: string
}

export const scheduleKinds = ['now', 'hourly', 'daily', 'weekly', 'cron'] as const

export const runNow: ScheduleChoice = { kind: 'now', time: '05:00', weekday: 1, cron: '' }

/** The cron line of a timing; undefined for now, or while a line is not yet one. */
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

/** How a cron line is offered to be changed: as the choice that makes it, or as the line. */
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

/** Where the person is; some browsers do not know. */
export function browserTimeZone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return timeZone === undefined || timeZone === 'Etc/Unknown' ? 'UTC' : timeZone
}
