import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  contentHeight,
  type Extent,
  positionAfterScroll,
  positionFor,
  rowsAt,
  startPosition,
  topOf,
} from './scroll-window.ts'

const million: Extent = { count: 1_000_000, rowHeight: 36, viewportHeight: 720 }
const few: Extent = { count: 40, rowHeight: 36, viewportHeight: 720 }

test('uses no scroll offset for a short list', () => {
  assert.equal(contentHeight(few), 1440)
  assert.deepEqual(positionAfterScroll(few, startPosition, 360), { scrollTop: 360, offset: 0 })
  assert.deepEqual(rowsAt(few, { scrollTop: 360, offset: 0 }, 0), { first: 10, last: 30 })
})

test('scrolls by the exact wheel distance at any position, and reaches the last and the first row', () => {
  let position = startPosition
  let seen = 0
  const room = contentHeight(million) - million.viewportHeight
  const wheel = (delta: number) => {
    const before = position.scrollTop + position.offset
    position = positionAfterScroll(million, position, Math.min(room, Math.max(0, position.scrollTop + delta)))
    const moved = position.scrollTop + position.offset - before
    assert.ok(Math.abs(moved - delta) <= 1 || atEnd(), `moved ${moved} instead of ${delta}`)
    seen = Math.max(seen, rowsAt(million, position, 0).last)
  }
  const atEnd = () => {
    const at = position.scrollTop + position.offset
    const close = 10 * million.viewportHeight
    return at <= close || at >= million.count * million.rowHeight - close
  }
  for (let step = 0; step < 55_000; step++) wheel(700)
  assert.equal(seen, million.count - 1)
  for (let step = 0; step < 55_000; step++) wheel(-700)
  assert.equal(rowsAt(million, position, 0).first, 0)
  assert.ok(position.scrollTop <= 1)
})

test('scrolls to the same fraction of the list when the scroll bar is dragged', () => {
  const room = contentHeight(million) - million.viewportHeight
  for (const share of [0, 0.25, 0.5, 0.9, 1]) {
    const position = positionAfterScroll(
      million,
      { scrollTop: share > 0.4 ? 0 : room, offset: 0 },
      Math.round(room * share),
    )
    const { first } = rowsAt(million, position, 0)
    assert.ok(Math.abs(first - share * (million.count - 20)) < 30, `${share}: ${first}`)
  }
})

test('scrolls any row into view from any position', () => {
  let position = startPosition
  for (const index of [0, 19, 20, 500, 999_999, 999_000, 12, 500_000, 499_990, 0]) {
    position = positionFor(million, position, index)
    const { first, last } = rowsAt(million, position, 0)
    assert.ok(first <= index && index <= last, `${index} is not within ${first} to ${last}`)
    assert.ok(position.scrollTop >= 0 && position.scrollTop <= contentHeight(million))
    const y = topOf(million, position, index) - position.scrollTop
    assert.ok(y >= 0 && y <= million.viewportHeight - million.rowHeight, `${index} is at ${y}`)
  }
})
