import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '@millwright/api/problem.ts'
import { requireAvailable, startOf } from './position.ts'

test('prefers the position in the header to the query, and refuses an invalid header', () => {
  assert.equal(startOf('7', 3), 7)
  assert.equal(startOf('', 3), 3)
  assert.equal(startOf(undefined, undefined), undefined)
  for (const header of ['x', '-1', '1.5', '99999999999999999', ' 1'])
    assert.throws(
      () => startOf(header, 3),
      (problem) => (problem as Problem).code === 'invalid_header',
      header,
    )
})

test('refuses a position after which events were deleted, and a position that does not exist yet', () => {
  const codeOf = (after: number, extent: { oldest: number | null; newest: number }) => {
    try {
      return requireAvailable(after, extent)
    } catch (problem) {
      return (problem as Problem).code
    }
  }
  assert.equal(codeOf(0, { oldest: null, newest: 0 }), undefined)
  assert.equal(codeOf(4, { oldest: 5, newest: 9 }), undefined)
  assert.equal(codeOf(9, { oldest: 5, newest: 9 }), undefined)
  assert.equal(codeOf(9, { oldest: null, newest: 9 }), undefined)
  assert.equal(codeOf(3, { oldest: 5, newest: 9 }), 'events_gone')
  assert.equal(codeOf(8, { oldest: null, newest: 9 }), 'events_gone')
  assert.equal(codeOf(10, { oldest: 5, newest: 9 }), 'invalid_cursor')
})
