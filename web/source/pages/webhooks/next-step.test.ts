import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextStepOf } from './next-step.ts'

const active = {
  state: 'active',
  reason: null,
  circuit: 'closed',
  lastError: null,
  waiting: 0,
  deadLetters: 0,
} as const

test('a subscription that sends all its events needs nothing', () => {
  assert.equal(nextStepOf(active), 'none')
})

test('the next step depends on why a subscription does not send events', () => {
  assert.equal(nextStepOf({ ...active, state: 'disabled', reason: 'events_gone' }), 'replay')
  assert.equal(nextStepOf({ ...active, state: 'disabled', reason: 'receiver_gone' }), 'activate')
  assert.equal(nextStepOf({ ...active, state: 'paused', reason: 'owner_disabled' }), 'takeOver')
  assert.equal(nextStepOf({ ...active, state: 'paused', reason: 'user' }), 'resume')
})

test('a failing receiver comes before dead letters, and an invalid filter is not the fault of the receiver', () => {
  const open = { ...active, circuit: 'open', lastError: 'The receiver answered 503', deadLetters: 1 } as const
  assert.equal(nextStepOf(open), 'checkReceiver')
  assert.equal(nextStepOf({ ...open, lastError: 'The filter is not valid: unknown group' }), 'fixFilter')
  assert.equal(nextStepOf({ ...active, waiting: 2 }), 'checkReceiver')
  assert.equal(nextStepOf({ ...active, deadLetters: 1 }), 'retry')
})
