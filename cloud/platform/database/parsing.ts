import pg from 'pg'

const int8 = 20
const int8Array: number = 1016
const timestamptz = 1184

/**
 * Returns the parser of a column type. Timestamps become RFC 3339 text. Big integers become numbers, because no value
 * in the product exceeds 2^53.
 */
export function parserOf(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid === int8) return Number
  if (oid === timestamptz) return rfc3339
  if (oid === int8Array) return numbers
  return pg.types.getTypeParser(oid, format as 'text')
}

const parseArray = pg.types.getTypeParser(int8Array) as (text: string) => string[]

function numbers(text: string): number[] {
  return parseArray(text).map(Number)
}

/**
 * The characters that the server omits at the end of a fraction of a second. The index is the number of omitted
 * characters. The server omits trailing zeros, and the whole fraction if all its digits are zero.
 */
const omittedZeros = ['', '0', '00', undefined, '.000']
const lengthWithMilliseconds = '2026-01-31 12:00:00.123+00'.length

/** Converts a timestamp of the server to RFC 3339. Sessions use UTC, so most texts need no date arithmetic. */
function rfc3339(text: string): string {
  const digits = text.endsWith('+00') ? omittedZeros[lengthWithMilliseconds - text.length] : undefined
  if (digits !== undefined) return `${text.slice(0, 10)}T${text.slice(11, -3)}${digits}Z`
  return new Date(`${text.slice(0, 10)}T${text.slice(11).replace('+00', 'Z')}`).toISOString()
}
