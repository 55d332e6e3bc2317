import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offeredLists } from './lists.ts'

test('the inbox offers the access requests only while there are requests, or while their list is open', () => {
  const without = ['unknown', 'ignored', 'twins', 'decisions']
  assert.deepEqual(offeredLists({ chosen: undefined, approvals: 0 }), without)
  assert.deepEqual(offeredLists({ chosen: undefined, approvals: 1 }).includes('approvals'), true)
  assert.deepEqual(offeredLists({ chosen: 'approvals', approvals: 0 }).includes('approvals'), true)
})
