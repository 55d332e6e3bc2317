import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeLeftOf } from './time-left.ts'

const started = '2026-01-31T08:00:00.000Z'
const now = Date.parse(started) + 180_000
const scan = { state: 'running', progress: 10, startedTimestamp: started } as const

test('estimates the time that is left from the progress of a running scan', () => {
  assert.equal(timeLeftOf(scan, now), 27 * 60_000)
  assert.equal(timeLeftOf({ ...scan, progress: 90 }, now), 0, 'less than a minute')
  const restartedTimestamp = new Date(now - 60_000).toISOString()
  assert.equal(timeLeftOf({ ...scan, restartedTimestamp }, now), 9 * 60_000, 'a scan that started again a minute ago')
  assert.equal(timeLeftOf({ ...scan, progress: 1 }, now), undefined, 'too early')
  assert.equal(timeLeftOf({ ...scan, state: 'finished' }, now), undefined)
  assert.equal(timeLeftOf({ state: 'running', progress: 10 }, now), undefined)
})
