import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignedShare } from './assigned-share.ts'

test('a share is rounded, and only a complete share is 100 percent', () => {
  assert.equal(assignedShare(5024, 5312), 0.95)
  assert.equal(assignedShare(5311, 5312), 0.99)
  assert.equal(assignedShare(5312, 5312), 1)
  assert.equal(assignedShare(0, 5312), 0)
})
