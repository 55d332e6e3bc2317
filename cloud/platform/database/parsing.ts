import pg from 'pg'

const int8 = 20
const timestamptz = 1184

/** Times travel as RFC 3339 text and big integers as numbers: nothing of ours counts beyond 2^53. */
export function parserOf(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid === int8) return Number
  if (oid === timestamptz) return rfc3339
  return pg.types.getTypeParser(oid, format as 'text')
}

/** A server leaves out the digits of a second that are zero, and with them all the point before them. */
const leftOut = ['', '0', '00', undefined, '.000']
const toTheMillisecond = '2026-01-31 12:00:00.123+00'.length

/** Sessions run in UTC, so that most texts need no arithmetic. */
function rfc3339(text: string): string {
  const digits = text.endsWith('+00') ? leftOut[toTheMillisecond - text.length] : undefined
  if (digits !== undefined) return `${text.slice(0, 10)}T${text.slice(11, -3)}${digits}Z`
  return new Date(`${text.slice(0, 10)}T${text.slice(11).replace('+00', 'Z')}`).toISOString()
}
