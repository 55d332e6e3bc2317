import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visibleIds } from './page-range.ts'

test('the ids of a loaded list are divided into the visible pages', () => {
  const ids = Array.from({ length: 250 }, (_, index) => String(index))
  const sizes = (first: number, last: number) => visibleIds(ids, { first, last }).map((page) => [page[0], page.length])
  assert.deepEqual(sizes(0, 0), [['0', 100]])
  assert.deepEqual(sizes(1, 3), [
    ['100', 100],
    ['200', 50],
  ])
  assert.deepEqual(visibleIds([], { first: 0, last: 0 }), [])
})
