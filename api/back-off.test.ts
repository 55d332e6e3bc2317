import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BackOff, backOffMs, pause } from './back-off.ts'

test('BackOff doubles the pause up to the maximum, randomises up to half of it, and starts again after a reset', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1, maxLength: 30 }),
      (dice) => {
        let turn = 0
        const backOff = new BackOff({ firstMs: 100, longestMs: 10_000, random: () => dice[turn++ % dice.length] ?? 0 })
        for (let attempt = 0; attempt < 30; attempt++) {
          const whole = Math.min(10_000, 100 * 2 ** attempt)
          const ms = backOff.nextMs()
          assert.ok(ms >= Math.floor(whole / 2) && ms <= whole)
        }
        backOff.reset()
        assert.ok(backOff.nextMs() <= 100)
      },
    ),
    { numRuns: 50 },
  )
})

test('backOffMs returns at least half of the first pause and at most the longest pause for any attempt', () => {
  const limits = { firstMs: 1_000, longestMs: 300_000 }
  assert.equal(backOffMs(1, { ...limits, random: () => 1 }), 1_000)
  assert.equal(backOffMs(4, { ...limits, random: () => 0 }), 4_000)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), (attempt) => {
      const ms = backOffMs(attempt, limits)
      assert.ok(ms >= 500 && ms <= 300_000)
    }),
  )
})

test('ends a pause early when its signal is aborted', async () => {
  const ending = new AbortController()
  const pausing = pause(3_600_000, ending.signal)
  ending.abort()
  await pausing
  await pause(3_600_000, ending.signal)
})
