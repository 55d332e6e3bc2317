import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeInRun } from './run-time.ts'

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
