import { type Language, localeOf } from './language.ts'

/** `Formats` formats numbers and times for a language. */
export type Formats = {
  number(value: number): string
  /** Formats the difference of two numbers with its sign: `+308`. */
  change(value: number): string
  percent(share: number): string
  /** Formats a share with two decimal places, rounded down, so that only a full share is 100 %. */
  preciseShare(share: number): string
  date(timestamp: string): string
  dateTime(timestamp: string): string
  /** Formats a date and time in a time zone. */
  dateTimeIn(timestamp: string, timeZone: string): string
  /** Formats a date and time with seconds. */
  exact(timestamp: string): string
  /** Formats the time of day with seconds. */
  time(timestamp: string): string
  /** Formats the time of day without seconds. */
  shortTime(timestamp: string): string
  /** Formats the weekday, day and month, in full words: `Monday 2 March`. */
  day(timestamp: string): string
  /** Formats the weekday, day and month with short names: `Mon 2 Mar`. */
  shortDay(timestamp: string): string
  /** Formats the day and the month: `2 Mar`. */
  dayMonth(timestamp: string): string
  /** Formats a time for a narrow column: `05:30` today, otherwise `17 Nov, 05:30`, with the year if it is another one. */
  compact(timestamp: string, now?: number): string
  /** Formats a time relative to now: `3 minutes ago`, `in 2 hours`. */
  relative(timestamp: string, now?: number): string
  /** Formats a time relative to now for a narrow column: `3 min ago`. */
  shortRelative(timestamp: string, now?: number): string
  duration(ms: number): string
  /** Formats a number of minutes in words, in the largest unit without a remainder: `30 minutes`, `12 hours`. */
  minutes(count: number): string
  bytes(count: number): string
}

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

const minuteUnits = [
  ['day', 1_440],
  ['hour', 60],
] as const

const cache = new Map<Language, Formats>()

export function formatsOf(language: Language): Formats {
  const cached = cache.get(language) ?? createFormats(localeOf[language])
  cache.set(language, cached)
  return cached
}

function createFormats(locale: string): Formats {
  const number = new Intl.NumberFormat(locale)
  const change = new Intl.NumberFormat(locale, { signDisplay: 'exceptZero' })
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 })
  const precise = new Intl.NumberFormat(locale, {
    style: 'percent',
    maximumFractionDigits: 2,
    roundingMode: 'floor',
  })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
  const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
  const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })
  const shortTime = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
  const day = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' })
  const shortDay = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric', month: 'short' })
  const dayMonth = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })
  const dayAndTime = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  const shortRelative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  const relativeIn = (format: Intl.RelativeTimeFormat, timestamp: string, now = Date.now()) => {
    const seconds = (Date.parse(timestamp) - now) / 1000
    const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1]
    // The current time is shown as one second, so that all rows of a list have the same form.
    const count = Math.trunc(seconds / size) || (seconds > 0 ? 1 : -1)
    return format.format(count, unit)
  }
  const bytes = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  return {
    number: (value) => number.format(value),
    change: (value) => change.format(value),
    // A small share that is not zero is not shown as 0 %.
    percent: (share) => (share > 0 && share < 0.005 ? `< ${percent.format(0.01)}` : percent.format(share)),
    preciseShare: (share) => precise.format(share),
    date: (timestamp) => date.format(new Date(timestamp)),
    dateTime: (timestamp) => dateTime.format(new Date(timestamp)),
    dateTimeIn: (timestamp, timeZone) =>
      new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(
        new Date(timestamp),
      ),
    exact: (timestamp) => exact.format(new Date(timestamp)),
    time: (timestamp) => time.format(new Date(timestamp)),
    shortTime: (timestamp) => shortTime.format(new Date(timestamp)),
    day: (timestamp) => day.format(new Date(timestamp)),
    dayMonth: (timestamp) => dayMonth.format(new Date(timestamp)),
    shortDay: (timestamp) => shortDay.format(new Date(timestamp)),
    compact(timestamp, now = Date.now()) {
      const [shown, today] = [new Date(timestamp), new Date(now)]
      if (shown.toDateString() === today.toDateString()) return shortTime.format(shown)
      return (shown.getFullYear() === today.getFullYear() ? dayAndTime : dateTime).format(shown)
    },
    relative: (timestamp, now) => relativeIn(relative, timestamp, now),
    shortRelative: (timestamp, now) => relativeIn(shortRelative, timestamp, now),
    duration(ms) {
      const seconds = Math.max(0, Math.round(ms / 1000))
      if (seconds === 0 && ms > 0) return '< 1 s'
      const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
      const hasSeconds = hours === 0 && (minutes === 0 || seconds % 60 > 0)
      const parts = [hours && `${hours} h`, minutes && `${minutes} min`, hasSeconds && `${seconds % 60} s`]
      return parts.filter(Boolean).join(' ')
    },
    minutes(count) {
      const [unit, size] = minuteUnits.find(([, each]) => count >= each && count % each === 0) ?? ['minute', 1]
      return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count / size)
    },
    bytes(count) {
      const step = [1e3, 1e6, 1e9].findLastIndex((size) => count >= size) + 1
      return `${bytes.format(count / 1000 ** step)} ${['B', 'kB', 'MB', 'GB'][step]}`
    },
  }
}
