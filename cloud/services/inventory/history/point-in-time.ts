import { Problem } from '@millwright/api/problem.ts'

/** Times that the database knows; before the first nothing of ours was there. */
const first = Date.parse('1970-01-01T00:00:00.000Z')
const last = Date.parse('9999-12-31T23:59:59.999Z')

/** A time that a caller asks about, as the database takes it: in UTC, to the millisecond. */
export function momentOf(text: string): string {
  // The leap second is valid RFC 3339, but not a time that the language knows.
  const time = Date.parse(text.replace(/:60(?=[.Zz+-])/, ':59'))
  if (Number.isNaN(time)) throw new Problem('invalid_query', `${text} is not a time`)
  return new Date(Math.min(Math.max(time, first), last)).toISOString()
}
