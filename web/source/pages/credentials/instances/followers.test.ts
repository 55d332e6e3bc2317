import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followersOf } from './followers.ts'

const row = (...places: [number | undefined, ...string[]][]) => ({
  places: places.map(([place, ...after]) => ({
    ipRanges: ['10.0.0.0/8'],
    after: after.map((id) => ({ id, name: id })),
    ...(place !== undefined && { place }),
  })),
})

test('counts the credentials that a scan tries after others', () => {
  const rows = [row([1]), row([1], [2, 'new']), row([3, 'new', 'old'], [2, 'old']), row([undefined, 'old'])]
  const { placesById, isComplete } = followersOf(rows, { total: 4, isSearch: false })
  assert.deepEqual([placesById.get('new'), placesById.get('old'), placesById.get('last')], [3, 3, undefined])
  assert.equal(isComplete, true)
})

test('is incomplete in a search, and before all credentials are loaded', () => {
  const isComplete = (options: Parameters<typeof followersOf>[1]) => followersOf([row([1])], options).isComplete
  assert.deepEqual(
    [isComplete({ total: 1, isSearch: true }), isComplete({ total: 2, isSearch: false })],
    [false, false],
  )
})
