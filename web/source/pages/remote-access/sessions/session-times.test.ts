import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockText, durationMsOf, extensionChoices, timeLeftMsOf } from './session-times.ts'

const now = Date.parse('2026-01-31T09:00:00.000Z')
const times = { createdTimestamp: '2026-01-31T08:00:00.000Z', expiresTimestamp: '2026-01-31T10:00:00.000Z' }
const opened = { ...times, state: 'open' as const, openedTimestamp: '2026-01-31T08:30:00.000Z' }

test('the duration of a session starts when it opens and stops when it ends', () => {
  assert.equal(durationMsOf({ ...times, state: 'pending-approval' }, now), undefined)
  assert.equal(durationMsOf(opened, now), 30 * 60_000)
  const ended = { ...opened, state: 'ended' as const, endedTimestamp: '2026-01-31T08:31:00.000Z' }
  assert.equal(durationMsOf(ended, now), 60_000)
})

test('the time left is never negative, and undefined for an ended session', () => {
  assert.equal(timeLeftMsOf(opened, now), 3_600_000)
  assert.equal(timeLeftMsOf(opened, now + 7_200_000), 0)
  assert.equal(timeLeftMsOf({ ...opened, state: 'ended' }, now), undefined)
})

test('the clock shows hours only when there are any', () => {
  assert.equal(clockText(3_661_000), '1:01:01')
  assert.equal(clockText(61_000), '1:01')
  assert.equal(clockText(59_001), '1:00')
  assert.equal(clockText(0), '0:00')
})

test('a session can be extended by at most the minutes that the policy allows', () => {
  assert.deepEqual(extensionChoices(0), [])
  assert.deepEqual(extensionChoices(10), [10])
  assert.deepEqual(extensionChoices(60), [15, 30, 60])
  assert.deepEqual(extensionChoices(500), [15, 30, 60, 120])
})
