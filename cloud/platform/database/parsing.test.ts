import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parserOf } from './parsing.ts'

const timestamptz = 1184

test('returns times in RFC 3339 format with milliseconds, even if the server omits trailing zeros', () => {
  const parse = parserOf(timestamptz)
  const printed = {
    '2026-01-31 12:00:00.123+00': '2026-01-31T12:00:00.123Z',
    '2026-01-31 12:00:00.12+00': '2026-01-31T12:00:00.120Z',
    '2026-01-31 12:00:00.1+00': '2026-01-31T12:00:00.100Z',
    '2026-01-31 12:00:00+00': '2026-01-31T12:00:00.000Z',
    '2026-01-31 12:00:00.123456+00': '2026-01-31T12:00:00.123Z',
  }
  for (const [text, expected] of Object.entries(printed)) assert.equal(parse(text), expected)
})
