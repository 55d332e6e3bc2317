import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { describeFailure, retryDelayMs } from './retry.ts'

test('the time between attempts doubles up to five minutes and is never the same for all', () => {
  assert.equal(
    retryDelayMs(1, () => 1),
    1_000,
  )
  assert.equal(
    retryDelayMs(4, () => 0),
    4_000,
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, random) => {
        const delay = retryDelayMs(attempt, () => random)
        assert.ok(delay >= 500 && delay <= 300_000)
      },
    ),
  )
})

test('of a failure the message is kept, cut short and without credentials', () => {
  assert.equal(
    describeFailure(new Error('cannot reach https://user:word@host/path')),
    'cannot reach https://***@host/path',
  )
  assert.equal(describeFailure(new Error('x'.repeat(10_000))).length, 500)
  assert.equal(describeFailure('plain'), 'plain')
  assert.equal(describeFailure(new TypeError('')), 'TypeError')
})
