import assert from 'node:assert/strict'
import { test } from 'node:test'
import { totalsByDay, trendDays, trendOf, trendStart } from './trends.ts'

const start = trendStart(new Date(2026, 2, 20, 15))
const onDay = (day: number, created: number, deleted: number) => ({
  time: new Date(start.getTime() + day * 86_400_000).toISOString(),
  created,
  updated: 3,
  deleted,
  other: 0,
})

test('the trend starts at midnight and includes today', () => {
  assert.deepEqual([start.getDate(), start.getHours()], [20 - trendDays + 1, 0])
})

test('totals by day are computed backwards from the current number', () => {
  const totals = totalsByDay(10, [onDay(0, 2, 0), onDay(12, 5, 1), onDay(13, 1, 0)], start)
  assert.deepEqual(totals, [...new Array(12).fill(5), 9, 10])
})

test('totals are not negative if deletions of hidden assets are missing', () => {
  assert.equal(totalsByDay(3, [onDay(13, 8, 0)], start)[0], 0)
})

test('a trend starts at the first day with assets', () => {
  assert.deepEqual(trendOf([0, 0, 5, 8, 8, 9]), { firstDay: 2, values: [5, 8, 8, 9] })
})

test('numbers with fewer than two steps have no trend', () => {
  for (const totals of [[], [0, 0, 0], [7, 7, 7], [0, 0, 9], [7, 7, 9]]) assert.equal(trendOf(totals), undefined)
})
