import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedBy, denseBuckets, rangeOf, spanText, visitsAt } from './time-range.ts'

const local = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute)

test('last night is from 18:00 of yesterday to 06:00 of today, and ends now before 06:00', () => {
  assert.deepEqual(rangeOf('night', local(18, 9), undefined), { from: local(17, 18), to: local(18, 6), bucket: 'hour' })
  assert.deepEqual(rangeOf('night', local(18, 3), undefined), { from: local(17, 18), bucket: 'hour' })
})

test('24 hours start at a full hour, 7 days start at midnight and have one bar per day', () => {
  assert.deepEqual(rangeOf('day', local(18, 9, 30), undefined), { from: local(17, 10), bucket: 'hour' })
  assert.deepEqual(rangeOf('week', local(18, 9, 30), undefined), { from: local(12, 0), bucket: 'day' })
})

test('the range since the last visit has hours if it is short, and days if it is long', () => {
  assert.deepEqual(rangeOf('visit', local(18, 9), local(16, 7, 40)), { from: local(16, 7), bucket: 'hour' })
  assert.deepEqual(rangeOf('visit', local(28, 9), local(3, 7)), { from: local(3, 0), bucket: 'day' })
})

test('a visit starts when the page was not open for half an hour', () => {
  const at = (day: number, hour: number, minute = 0) => local(day, hour, minute).toISOString()
  assert.deepEqual(visitsAt(undefined, local(18, 9)), { last: at(18, 9) })
  assert.deepEqual(visitsAt({ last: at(17, 9) }, local(18, 9)), { previous: at(17, 9), last: at(18, 9) })
  const again = visitsAt({ previous: at(17, 9), last: at(18, 9) }, local(18, 9, 10))
  assert.deepEqual(again, { previous: at(17, 9), last: at(18, 9, 10) })
  assert.deepEqual(visitsAt('broken', local(18, 9)), { last: at(18, 9) })
})

test('adds the buckets without activity', () => {
  const range = { from: local(18, 0), bucket: 'hour' as const }
  const counted = [{ time: local(18, 1).toISOString(), created: 2, updated: 0, deleted: 1, other: 4 }]
  assert.deepEqual(
    denseBuckets(range, counted, local(18, 2, 30)).map(({ counts }) => counts),
    [
      [0, 0, 0, 0],
      [2, 0, 1, 4],
      [0, 0, 0, 0],
    ],
  )
})

test('days start at midnight also after the clocks change, and are then counted by hour', () => {
  const zone = process.env.TZ
  try {
    process.env.TZ = 'Europe/Berlin'
    const range = { from: new Date(2026, 9, 24), to: new Date(2026, 9, 28), bucket: 'day' as const }
    const now = new Date(2026, 10, 18)
    assert.equal(countedBy(range, now), 'hour')
    assert.equal(countedBy({ ...range, from: new Date(2026, 9, 26) }, now), 'day')
    const at = (day: number, hour: number) => ({
      time: new Date(2026, 9, day, hour).toISOString(),
      ...{ created: 1, updated: 0, deleted: 0, other: 0 },
    })
    const buckets = denseBuckets(range, [at(25, 23), at(26, 0), at(26, 23), at(27, 23)], now)
    assert.deepEqual(
      buckets.map(({ time, end, counts }) => [new Date(time).getDate(), (end - time) / 3_600_000, counts[0]]),
      [
        [24, 24, 0],
        [25, 25, 1],
        [26, 24, 2],
        [27, 24, 1],
      ],
    )
  } finally {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  }
})

test('a span has the days of its times only if they differ', () => {
  const texts = { shortTime: (time: string) => time.slice(11, 16), compact: (time: string) => time.slice(5, 16) }
  const span = (from: string, to: string) => spanText(`2026-11-${from}:30`, `2026-11-${to}:40`, texts)
  assert.equal(span('18T12:04', '18T12:13'), '12:04\u00a0–\u00a012:13')
  assert.equal(span('18T12:04', '18T12:04'), '12:04')
  assert.equal(span('15T12:04', '18T12:13'), '11-15T12:04\u00a0–\u00a011-18T12:13')
})
