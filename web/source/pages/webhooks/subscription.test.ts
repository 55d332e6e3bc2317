import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInterrupted, shownState, undeliveredCount } from './subscription.ts'

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

test('counts the events that are not yet read only if the subscription does not send now', () => {
  const counts = { waiting: 1, deadLetters: 2, position: 10, newestPosition: 15 }
  const failed = { ...active, ...counts, lastFailureTimestamp: '2026-03-01T08:00:05.000Z' }
  assert.equal(undeliveredCount({ ...failed, circuit: 'open' }), 8)
  assert.equal(undeliveredCount({ ...active, ...counts }), 3)
  assert.equal(undeliveredCount({ ...active, ...counts, state: 'paused' }), 8)
})
