import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PayloadCache } from './payload-cache.ts'

test('returns a cached payload only once', () => {
  const cache = new PayloadCache<{ name: string }>({ capacity: 100 })
  cache.keep('a', { payload: { name: 'pump' }, weight: 15 })
  assert.deepEqual(cache.take('a'), { name: 'pump' })
  assert.equal(cache.take('a'), undefined)
})

test('drops the oldest payloads when their total weight exceeds the capacity', () => {
  const cache = new PayloadCache<string>({ capacity: 10 })
  const keys = Array.from({ length: 40 }, (_, index) => `write ${index}`)
  for (const key of keys) cache.keep(key, { payload: key, weight: 3 })
  assert.deepEqual(
    keys.filter((key) => cache.take(key) !== undefined),
    keys.slice(-3),
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
