import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isExceptionalShare } from './outdated-share.ts'

test('a share of outdated assets is an exception if it is more than 15 percent above the average', () => {
  assert.deepEqual(
    [0.4, 0.45, 0.47].map((share) => isExceptionalShare(share, 0.4)),
    [false, false, true],
  )
  assert.equal(isExceptionalShare(1, undefined), false)
})
