import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bySiblingOrder, type Rank, rankBetween } from './rank-store.ts'

/** Returns the ranks of siblings after inserts at positions. */
function insertedAt(positions: readonly number[]): (Rank & { id: string })[] {
  const siblings: (Rank & { id: string })[] = []
  for (const [index, position] of positions.entries()) {
    const at = position % (siblings.length + 1)
    siblings.splice(at, 0, { id: `${index}`, ...rankBetween(siblings[at - 1], siblings[at]) })
  }
  return siblings
}

test('keeps the order of siblings after inserts at random positions', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3 }), { maxLength: 200 }), (positions) => {
      const siblings = insertedAt(positions)
      assert.deepEqual(siblings.toSorted(bySiblingOrder), siblings)
      assert.equal(new Set(siblings.map(({ rank, tail }) => `${rank} ${tail}`)).size, siblings.length)
    }),
  )
})

test('finds hundreds of places between the same two siblings with short tails', () => {
  for (const positions of [
    [0, 1, ...Array.from({ length: 350 }, () => 1)],
    [0, 1, ...Array.from({ length: 350 }, (_, index) => index + 1)],
  ]) {
    const siblings = insertedAt(positions)
    assert.deepEqual(siblings.toSorted(bySiblingOrder), siblings)
    assert.ok(siblings.every(({ tail }) => tail.length <= 64))
  }
})

test('returns a tail that is too long when siblings have no place between them, so that they get new ranks', () => {
  for (const [low, high] of [
    ['a', 'a'],
    ['b', 'a'],
    ['ab', 'a'],
  ] as const)
    assert.ok(rankBetween({ rank: 1, tail: low }, { rank: 1, tail: high }).tail.length > 64)
})
