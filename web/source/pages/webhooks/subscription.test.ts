import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInterrupted, shownState } from './subscription.ts'

const active = {
  state: 'active',
  circuit: 'closed',
  waiting: 0,
  lastSuccessTimestamp: '2026-03-01T08:00:00.000Z',
  lastFailureTimestamp: null,
} as const

test('a subscription whose last attempt failed is not shown as active before its circuit breaker opens', () => {
  const failed = { ...active, waiting: 1, lastFailureTimestamp: '2026-03-01T08:00:05.000Z' }
  assert.equal(shownState(failed), 'failing')
  assert.equal(shownState({ ...failed, lastSuccessTimestamp: '2026-03-01T08:00:06.000Z' }), 'active')
  assert.equal(shownState({ ...failed, circuit: 'open' }), 'circuitOpen')
})

test('a paused subscription is not interrupted, and a failing one is', () => {
  const failed = { ...active, waiting: 1, lastSuccessTimestamp: null, lastFailureTimestamp: '2026-03-01T08:00:05.000Z' }
  assert.equal(isInterrupted(failed), true)
  assert.equal(isInterrupted({ ...failed, state: 'paused' }), false)
  assert.equal(isInterrupted(active), false)
})
