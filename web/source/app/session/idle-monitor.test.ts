import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idleStateOf } from './idle-monitor.ts'

test('idleStateOf returns warning one minute before the limit, and expired from the limit', () => {
  const limitMs = 5 * 60_000
  assert.equal(idleStateOf({ idleMs: 0, limitMs }), 'active')
  assert.equal(idleStateOf({ idleMs: limitMs - 60_001, limitMs }), 'active')
  assert.equal(idleStateOf({ idleMs: limitMs - 60_000, limitMs }), 'warning')
  assert.equal(idleStateOf({ idleMs: limitMs - 1, limitMs }), 'warning')
  assert.equal(idleStateOf({ idleMs: limitMs, limitMs }), 'expired')
  assert.equal(idleStateOf({ idleMs: 1e12, limitMs: Number.POSITIVE_INFINITY }), 'active')
})
