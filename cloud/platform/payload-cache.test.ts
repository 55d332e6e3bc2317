import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PayloadCache } from './payload-cache.ts'

test('returns a cached payload only once', () => {
  const cache = new PayloadCache<{ name: string }>({ capacity: 100 })
  cache.keep('a', { payload: { name: 'pump' }, weight: 15 })
  assert.deepEqual(cache.take('a'), { name: 'pump' })
  assert.equal(cache.take('a'), undefined)
})

test('keeps the oldest payloads when the total weight exceeds the capacity', () => {
  const cache = new PayloadCache<string>({ capacity: 10 })
  const keys = Array.from({ length: 40 }, (_, index) => `write ${index}`)
  for (const key of keys) cache.keep(key, { payload: key, weight: 3 })
  assert.deepEqual(
    keys.filter((key) => cache.take(key) !== undefined),
    keys.slice(0, 3),
  )
})

test('replaces a payload when no task took it within 30 seconds', ({ mock }) => {
  mock.timers.enable({ apis: ['Date'] })
  const cache = new PayloadCache<string>({ capacity: 10 })
  for (const key of ['a', 'b']) cache.keep(key, { payload: key, weight: 5 })
  mock.timers.tick(29_999)
  cache.keep('c', { payload: 'c', weight: 5 })
  mock.timers.tick(1)
  cache.keep('d', { payload: 'd', weight: 5 })
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => cache.take(key)),
    [undefined, 'b', undefined, 'd'],
  )
})

test('replaces the payload and its weight when its key is used again', () => {
  const cache = new PayloadCache<string>({ capacity: 10 })
  for (const payload of ['first', 'second']) cache.keep('a', { payload, weight: 6 })
  cache.keep('b', { payload: 'other', weight: 4 })
  assert.deepEqual([cache.take('a'), cache.take('b')], ['second', 'other'])
})

test('does not store a payload that is heavier than the capacity', () => {
  const cache = new PayloadCache<string>({ capacity: 10 })
  cache.keep('a', { payload: 'large', weight: 11 })
  assert.equal(cache.take('a'), undefined)
})
