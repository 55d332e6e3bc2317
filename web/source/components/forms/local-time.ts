/** Formats and reads points in time in the local time zone, in the format of a language. */

/** Returns the local time without a time zone, in the format of a `datetime-local` input element. */
export function inputTimeOf(timestamp: string): string {
  const at = new Date(timestamp)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace(/:00$/, '')
}

const clock = String.raw`(?:[T,]?\s*(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}))?)?`
/** A date that starts with the year, such as `2026-01-31 08:30`, and one that starts with the day, such as `31 Jan 2026, 08:30`. */
const patterns = [
  new RegExp(`^(?<year>\\d{4})-(?<month>\\d{1,2})-(?<day>\\d{1,2})${clock}$`),
  new RegExp(`^(?<day>\\d{1,2})[./\\s-]+(?<month>\\d{1,2}|\\p{L}+)[./\\s-]+(?<year>\\d{4})${clock}$`, 'u'),
]

/** The number of letters that identify a month. */
const monthLetters = 3

/** Reads a date with or without a time of day. Returns undefined if the text is not a valid date. */
export function readLocalTime(text: string, locale: string): Date | undefined {
  for (const pattern of patterns) {
    const { year, month = '', day, hour = '0', minute = '0', second = '0' } = pattern.exec(text.trim())?.groups ?? {}
    if (year === undefined) continue
    const index = /^\d/.test(month) ? Number(month) - 1 : monthOf(month, locale)
    const numbers = [year, index, day, hour, minute, second].map(Number) as [number, number, number]
    const at = new Date(...numbers)
    const shown = [at.getFullYear(), at.getMonth(), at.getDate(), at.getHours(), at.getMinutes(), at.getSeconds()]
    // A date such as 31 February would be another day.
    return shown.join() === numbers.join() ? at : undefined
  }
  return undefined
}

function monthOf(word: string, locale: string): number {
  const names = new Intl.DateTimeFormat(locale, { month: 'long' })
  const start = word.slice(0, monthLetters).toLocaleLowerCase(locale)
  if (start.length < monthLetters) return -1
  return Array.from({ length: 12 }, (_, month) => names.format(new Date(2026, month, 1))).findIndex((name) =>
    name.toLocaleLowerCase(locale).startsWith(start),
  )
}
