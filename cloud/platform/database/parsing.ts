import pg from 'pg'

const int8 = 20
const timestamptz = 1184

/** Timestamps become RFC 3339 text. Big integers become numbers: no value in the product exceeds 2^53. */
export function parserOf(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid === int8) return Number
  if (oid === timestamptz) return rfc3339
  return pg.types.getTypeParser(oid, format as 'text')
}

/** The server omits trailing zeros of the fraction of a second, and the decimal point before them if all are zero. */
const omittedZeros = ['', '0', '00', undefined, '.000']
const lengthWithMilliseconds = '2026-01-31 12:00:00.123+00'.length

/** Sessions use UTC, so most texts need no arithmetic. */
function rfc3339(text: string): string {
  const digits = text.endsWith('+00') ? omittedZeros[lengthWithMilliseconds - text.length] : undefined
  if (digits !== undefined) return `${text.slice(0, 10)}T${text.slice(11, -3)}${digits}Z`
  return new Date(`${text.slice(0, 10)}T${text.slice(11).replace('+00', 'Z')}`).toISOString()
}
