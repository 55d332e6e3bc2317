import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BackOff } from './back-off.ts'
import { Clock } from './clock.ts'

test('pauses grow up to the longest, never shorter than half of their turn, and start anew after a success', () => {
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

test('a clock follows the cloud when it is wrong, and ignores what the way of an answer costs', () => {
  const clock = new Clock(() => 1_000_000_000)
  assert.equal(clock.observe(new Date(1_000_001_500).toUTCString()), false)
  assert.equal(clock.observe(undefined), false)
  assert.equal(clock.observe('yesterday'), false)
  assert.equal(clock.observe(new Date(1_003_600_000).toUTCString()), true)
  assert.equal(clock.now(), 1_003_600_000)
  assert.equal(clock.observe(new Date(1_000_000_000).toUTCString()), true)
  assert.equal(clock.offsetMs, 0)
})
