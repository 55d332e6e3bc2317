import { Problem } from '@millwright/api/problem.ts'

/**
 * The range of times that queries use. A time outside this range is replaced by the nearest end of the range. No data
 * exists from before `first`.
 */
const first = Date.parse('1970-01-01T00:00:00.000Z')
const last = Date.parse('9999-12-31T23:59:59.999Z')

/** Converts the point in time of a query to the form of the database: UTC with milliseconds. */
export function pointInTime(text: string): string {
  // A leap second is valid in RFC 3339, but `Date` cannot parse it.
  const time = Date.parse(text.replace(/:60(?=[.Zz+-])/, ':59'))
  if (Number.isNaN(time))
    throw new Problem('invalid_query', `"${text}" is not an RFC 3339 time such as 2026-01-31T12:00:00Z`)
  return new Date(Math.min(Math.max(time, first), last)).toISOString()
}
