import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressWindow } from './progress-window.ts'

test('the line shows the newest 100 events when the subscription is not far behind', () => {
  assert.deepEqual(progressWindow({ position: 5_000, newestPosition: 5_000 }), { start: 4_900, share: 100 })
  assert.deepEqual(progressWindow({ position: 4_975, newestPosition: 5_000 }), { start: 4_900, share: 75 })
})

test('the line becomes longer with the number of events behind, so that the position is on the line', () => {
  assert.deepEqual(progressWindow({ position: 4_500, newestPosition: 5_000 }), { start: 4_000, share: 50 })
  const { share } = progressWindow({ position: 4_905, newestPosition: 5_000 })
  assert.ok(share > 80 && share < 100)
})

test('the line starts at 0 when there are few events', () => {
  assert.deepEqual(progressWindow({ position: 10, newestPosition: 40 }), { start: 0, share: 25 })
  assert.deepEqual(progressWindow({ position: 0, newestPosition: 0 }), { start: 0, share: 100 })
})
