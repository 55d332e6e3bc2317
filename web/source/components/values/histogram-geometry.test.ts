import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barsOf, bucketAt, movedSelection, scaleEnd, ticksOf } from './histogram-geometry.ts'

test('stacks the series of a bucket, and shows small counts next to large ones', () => {
  const bars = barsOf(
    [
      { time: 0, counts: [1_000, 0] },
      { time: 1, counts: [0, 1] },
    ],
    100,
  )
  assert.deepEqual(
    bars.map(({ bucket, series, size }) => [bucket, series, size]),
    [
      [0, 0, 94],
      [1, 1, 3],
    ],
  )
  assert.ok(bars.every(({ y, size }) => y >= 0 && y + size <= 100))
})

test('ends the scale at a round number whose half is a whole number', () => {
  const endOf = (count: number) => scaleEnd([{ time: 0, counts: [count, 0] }])
  assert.deepEqual(
    [0, 1, 3, 9, 10, 11, 133, 999, 1_000, 14_640].map(endOf),
    [2, 2, 4, 10, 10, 12, 160, 1_000, 1_000, 16_000],
  )
})

test('finds the bucket at a position, also outside of the area', () => {
  assert.deepEqual(
    [-1, 0, 0.49, 0.5, 1, 2].map((position) => bucketAt(position, 4)),
    [0, 0, 1, 2, 3, 3],
  )
})

test('labels at most nine buckets', () => {
  const buckets = Array.from({ length: 100 }, (_, time) => ({ time, counts: [] }))
  assert.ok(ticksOf(buckets, () => true).length <= 9)
  assert.deepEqual(
    ticksOf(buckets, (time) => time === 50),
    [{ time: 50, x: 50.5 }],
  )
})

test('keys move the cursor, extend the selection and clear it', () => {
  const key = (name: string, shiftKey = false) => ({ key: name, shiftKey })
  const at = (cursor: number, selection?: { first: number; last: number }) => ({ cursor, selection, count: 5 })
  assert.deepEqual(movedSelection(key('ArrowLeft'), at(0)), { cursor: 0, isSelecting: false, selection: undefined })
  assert.deepEqual(movedSelection(key('Enter'), at(2))?.selection, { first: 2, last: 2 })
  assert.deepEqual(movedSelection(key('ArrowRight', true), at(2, { first: 2, last: 2 }))?.selection, {
    first: 2,
    last: 3,
  })
  assert.deepEqual(movedSelection(key('ArrowLeft', true), at(3, { first: 2, last: 3 }))?.selection, {
    first: 2,
    last: 2,
  })
  assert.deepEqual(movedSelection(key('Home', true), at(3))?.selection, { first: 0, last: 3 })
  assert.deepEqual(movedSelection(key('Escape'), at(3, { first: 2, last: 3 }))?.selection, undefined)
  assert.equal(movedSelection(key('Escape'), at(3)), undefined)
  assert.equal(movedSelection(key('a'), at(3)), undefined)
})
