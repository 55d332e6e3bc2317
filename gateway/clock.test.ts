import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Clock } from './clock.ts'

test('Clock follows the time of the cloud, and ignores differences as small as a network delay', () => {
  const clock = new Clock(() => 1_000_000_000)
  assert.equal(clock.observe(new Date(1_000_001_500).toUTCString()), false)
  assert.equal(clock.observe(undefined), false)
  assert.equal(clock.observe('yesterday'), false)
  assert.equal(clock.observe(new Date(1_003_600_000).toUTCString()), true)
  assert.equal(clock.now(), 1_003_600_000)
  assert.equal(clock.observe(new Date(1_000_000_000).toUTCString()), true)
  assert.equal(clock.offsetMs, 0)
})
