import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequestLog } from './request-log.ts'

test('reads the requests of a web session, and leaves out lines that are not requests', () => {
  const line = { time: '2026-01-31T08:30:00.000Z', method: 'GET', path: '/status?id=', status: 200, bytes: 512, ms: 7 }
  const text = [JSON.stringify(line), '{"method":"GET"}', 'incompl', 'null', ''].join('\n')
  const { time: timestamp, ms: durationMs, ...rest } = line
  assert.deepEqual(parseRequestLog(text), [{ ...rest, timestamp, durationMs }])
})
