import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeFailure } from './retry.ts'

test('stores the error message of a failed task, truncated and without credentials', () => {
  assert.equal(
    describeFailure(new Error('cannot reach https://user:word@host/path')),
    'cannot reach https://***@host/path',
  )
  assert.equal(describeFailure(new Error('x'.repeat(10_000))).length, 500)
  assert.equal(describeFailure('plain'), 'plain')
  assert.equal(describeFailure(new TypeError('')), 'TypeError')
})
