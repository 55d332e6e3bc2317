import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { waveNumbers } from './waves.ts'

test('divides devices by percent and count, and puts the rest into one more wave', () => {
  assert.deepEqual(waveNumbers(3, []), [1, 1, 1])
  assert.deepEqual(waveNumbers(5, [{ count: 1 }, { percent: 40 }, { percent: 1 }]), [1, 2, 2, 3, 4])
  assert.deepEqual(waveNumbers(2, [{ count: 5 }, { count: 5 }]), [1, 1])
  assert.deepEqual(waveNumbers(0, [{ percent: 10 }]), [])
  assert.deepEqual(waveNumbers(10, [{ percent: 1 }, { percent: 99 }]).filter((wave) => wave === 1).length, 1)
})

test('gives every device one wave, in order', () => {
  const wave = fc.oneof(
    fc.record({ percent: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ count: fc.integer({ min: 1, max: 50 }) }),
  )
  fc.assert(
    fc.property(fc.nat(200), fc.array(wave, { maxLength: 20 }), (count, waves) => {
      const numbers = waveNumbers(count, waves)
      assert.equal(numbers.length, count)
      assert.deepEqual(
        numbers.toSorted((one, other) => one - other),
        numbers,
      )
    }),
  )
})
