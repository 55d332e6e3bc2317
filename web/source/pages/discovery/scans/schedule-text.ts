import { type Language, localeOf } from '../../../app/language/language.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { scanMessages } from './scan-messages.ts'
import { intervalTextOf, scheduleChoiceOf } from './schedule.ts'

/**
 * The timestamp of a Sunday (1 January 2023). The names of the weekdays are formatted from this date and the days after
 * it.
 */
const sunday = Date.UTC(2023, 0, 1, 12)
const dayMs = 86_400_000

/** Returns the name of a weekday. 0 is Sunday, as in cron expressions. */
export function weekdayName(day: number, language: Language): string {
  const names = new Intl.DateTimeFormat(localeOf[language], { weekday: 'long', timeZone: 'UTC' })
  return names.format(sunday + day * dayMs)
}

/** Returns a function that describes a cron expression, such as `Daily at 05:00`. Other expressions stay as they are. */
export function useScheduleText(): (cron: string) => string {
  const text = useText(scanMessages)
  const formats = useFormats()
  const language = useLanguage()
  return (cron) => {
    const { kind, minutes, time, weekday } = scheduleChoiceOf(cron)
    if (kind === 'minutes') return minutes === 1 ? text.everyMinute : text.every(formats.minutes(minutes))
    if (kind === 'hourly') return text.everyHour
    if (kind === 'daily') return text.dailyAt(time)
    return kind === 'weekly' ? text.weeklyAt(weekdayName(weekday, language), time) : cron
  }
}

/** Returns a function that names the interval of a cron expression without its time, such as `Daily`. */
export function useIntervalText(): (cron: string) => string {
  const text = useText(scanMessages)
  const { minutes } = useFormats()
  return (cron) => intervalTextOf(cron, { text, minutes })
}
