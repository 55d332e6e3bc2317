import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createYield } from './event-loop.ts'

/** Blocks the event loop for `ms` milliseconds. */
function occupy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('does not yield before the time slice of the event-loop turn is used up', () => {
  const yieldTurn = createYield()
  assert.equal(yieldTurn(), undefined)
})

test('runs one time slice per event-loop turn, regardless of the number of concurrent tasks', async () => {
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
