import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryOf, searchOf, viewOf } from './view-search.ts'

test('searches the beginnings of words with the full-text index, and the inside of words with a filter', () => {
  const view = viewOf({ q: "lc01 o'x", filter: "name ne 'x'" })
  assert.deepEqual(queryOf(view), { filter: "name ne 'x'", q: "lc01 o'x" })
  const { filter, q, caseInsensitive } = queryOf({ ...view, match: 'inside' })
  assert.equal(q, '')
  assert.equal(caseInsensitive, true)
  assert.ok(filter.startsWith("(name ne 'x') and ((contains(name, 'lc01') or "), filter)
  assert.ok(filter.includes("contains(name, 'o''x')"), filter)
})

test('limits the conditions of a search inside words, and ignores the mode without a search', () => {
  const { filter } = queryOf(viewOf({ q: 'a b c d e f g h i j', match: 'inside' }))
  assert.ok(filter.split('contains(').length - 1 <= 64)
  assert.deepEqual(queryOf(viewOf({ match: 'inside' })), { filter: '', q: '' })
  assert.deepEqual(searchOf(viewOf({ q: 'x', match: 'inside' })), { q: 'x', match: 'inside' })
})
