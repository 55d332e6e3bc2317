import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createYield } from './event-loop.ts'

/** Blocks the event loop for `ms` milliseconds. */
function occupy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('does not wait while the turn is not used up', () => {
  const yieldTurn = createYield()
  assert.equal(yieldTurn(), undefined)
})

test('runs one slice in each turn of the event loop, independent of the amount of sliced work', async () => {
  const slicesInTurn = new Map<number, number>()
  let turn = 0
  let isOver = false
  const countTurn = () => {
    turn += 1
    if (!isOver) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const work = async () => {
    const yieldTurn = createYield()
    for (let slice = 0; slice < 5; slice++) {
      occupy(6)
      await yieldTurn()
      slicesInTurn.set(turn, (slicesInTurn.get(turn) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  isOver = true
  const counts = [...slicesInTurn.values()]
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    40,
  )
  assert.equal(Math.max(...counts), 1)
})
