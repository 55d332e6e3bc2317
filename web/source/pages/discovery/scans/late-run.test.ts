import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plannedTimeOf } from './late-run.ts'

const due = '2026-01-31T04:30:00.000Z'
const scan = { runId: 'run-2', schedule: { lastDueTimestamp: due } }
const run = { id: 'run-2', trigger: 'schedule', createdTimestamp: '2026-01-31T12:56:00.000Z' } as const

test('returns the planned time of a scheduled run that started late', () => {
  assert.equal(plannedTimeOf(scan, run), due)
  assert.equal(plannedTimeOf(scan, { ...run, createdTimestamp: '2026-01-31T04:30:20.000Z' }), undefined, 'on time')
  assert.equal(
    plannedTimeOf(scan, { ...run, createdTimestamp: '2026-01-30T04:30:00.000Z' }),
    undefined,
    'due was skipped',
  )
  assert.equal(plannedTimeOf(scan, { ...run, trigger: 'person' }), undefined)
  assert.equal(plannedTimeOf(scan, { ...run, id: 'run-1' }), undefined, 'an earlier run')
  assert.equal(plannedTimeOf({ runId: 'run-2' }, run), undefined)
})
