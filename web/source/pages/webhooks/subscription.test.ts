import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInterrupted, type Subscription, shownState, undeliveredCount, workingOnSameHost } from './subscription.ts'

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
  assert.equal(shownState(failed), 'neverWorked')
  assert.equal(shownState({ ...failed, waiting: 0, circuit: 'open' }), 'neverWorked')
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

test('finds a working webhook with the same host and port', () => {
  const webhook = (id: string, url: string, change = {}) =>
    ({ ...active, id, url, ...change }) as unknown as Subscription
  const failing = webhook('1', 'http://cmms.example.com:8080/alerts', { lastSuccessTimestamp: null, circuit: 'open' })
  const working = webhook('2', 'http://cmms.example.com:8080/orders')
  assert.equal(workingOnSameHost(failing, [failing, working]), working)
  assert.equal(workingOnSameHost(failing, [failing, webhook('2', 'http://cmms.example.com:9090/orders')]), undefined)
  assert.equal(workingOnSameHost(failing, [failing, { ...working, circuit: 'open' }]), undefined)
  assert.equal(workingOnSameHost(failing, [failing, { ...working, topic: 'events' } as Subscription]), undefined)
})
