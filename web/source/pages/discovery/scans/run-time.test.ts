import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasUntried, timeInRun } from './run-time.ts'

test('returns whether a time is before, during or after a run', () => {
  const run = { startedTimestamp: '2026-11-19T04:45:00.000Z', endedTimestamp: '2026-11-19T04:45:10.000Z' }
  const place = (time: string, of: Parameters<typeof timeInRun>[1] = run) => timeInRun(`2026-11-19T${time}.000Z`, of)
  assert.deepEqual(
    ['04:44:59', '04:45:00', '04:45:10', '04:46:10', '04:46:11'].map((time) => place(time)),
    ['before', 'during', 'during', 'during', 'after'],
  )
  assert.equal(place('23:00:00', { startedTimestamp: run.startedTimestamp }), 'during')
  assert.equal(place('23:00:00', {}), 'before')
})

test('a run left credentials out only if it tried others at the device', () => {
  const run = { startedTimestamp: '2026-11-19T04:45:00.000Z', endedTimestamp: '2026-11-19T04:45:10.000Z' }
  const rejectedAt = (...times: string[]) => times.map((time) => ({ lastFailedTimestamp: `2026-11-19T${time}.000Z` }))
  assert.equal(hasUntried(rejectedAt('04:45:05', '04:40:00'), run), true)
  assert.equal(hasUntried(rejectedAt('04:40:00'), run), false)
  assert.equal(hasUntried(rejectedAt('04:45:05', '04:50:00'), run), false)
})
