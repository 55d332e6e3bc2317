import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WindowLimit } from './window-limit.ts'

test('allows a limited number of calls per key in each time window', () => {
  let now = 0
  const limit = new WindowLimit({ most: 2, windowMs: 1000, now: () => now })
  const take = (...keys: string[]) => keys.map((key) => limit.take(key))
  assert.deepEqual(take('a', 'a', 'a', 'b'), [true, true, false, true])
  now = 999
  assert.deepEqual(take('a'), [false])
  now = 1000
  assert.deepEqual(take('a', 'a', 'a'), [true, true, false])
})

test('forgets the least recently used key when the number of keys exceeds its limit', () => {
  const limit = new WindowLimit({ most: 1, windowMs: 1000, keys: 2, now: () => 0 })
  for (const key of ['a', 'b', 'a', 'c']) limit.take(key)
  assert.equal(limit.take('a'), false)
  assert.equal(limit.take('b'), true)
})
