import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exceptionalPercentage, isExceptionalShare } from './outdated-share.ts'

test('a share of outdated assets is an exception from 5 percentage points above the average, as both are shown', () => {
  assert.equal(exceptionalPercentage(0.404), 45)
  assert.deepEqual(
    [0.4, 0.444, 0.446, 0.47].map((share) => isExceptionalShare(share, 0.404)),
    [false, false, true, true],
  )
  assert.equal(isExceptionalShare(1, undefined), false)
})
