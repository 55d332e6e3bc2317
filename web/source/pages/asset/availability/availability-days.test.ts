import assert from 'node:assert/strict'
import { test } from 'node:test'
import { availabilityDays, outagesSince } from './availability-days.ts'

const hourMs = 3_600_000
/** Noon of a day in the time zone of the test. */
const now = new Date(2026, 4, 20, 12).getTime()
const hoursAgo = (hours: number) => new Date(now - hours * hourMs).toISOString()

test('the availability of a day is the share of the time in which the reachability was known', () => {
  const days = availabilityDays(
    [
      { state: 'reached', from: hoursAgo(40), to: hoursAgo(18) },
      { state: 'failed', from: hoursAgo(18), to: hoursAgo(6) },
      { state: 'unknown', from: hoursAgo(6), to: hoursAgo(3) },
      { state: 'reached', from: hoursAgo(3) },
    ],
    3,
    now,
  )
  assert.deepEqual(
    days.map(({ share, failedMs }) => [share, failedMs / hourMs]),
    [
      [1, 0],
      [18 / 24, 6],
      [3 / 9, 6],
    ],
  )
  assert.equal(days[2]?.start, new Date(2026, 4, 20).toISOString())
})

test('a day without a known reachability has no availability, and a period without an end lasts until now', () => {
  const days = availabilityDays([{ state: 'failed', from: hoursAgo(1), to: null }], 30, now)
  assert.equal(days.length, 30)
  assert.deepEqual(days.at(0)?.share, undefined)
  assert.deepEqual([days.at(-1)?.share, days.at(-1)?.failedMs], [0, hourMs])
})

test('outages are listed newest first, without outages that ended before the first day', () => {
  const periods = [
    { state: 'failed', from: hoursAgo(90), to: hoursAgo(80) },
    { state: 'reached', from: hoursAgo(80), to: hoursAgo(20) },
    { state: 'failed', from: hoursAgo(20), to: hoursAgo(10) },
    { state: 'reached', from: hoursAgo(10), to: hoursAgo(5) },
    { state: 'failed', from: hoursAgo(5), to: null },
  ]
  assert.deepEqual(
    outagesSince(periods, now - 48 * hourMs).map(({ from }) => from),
    [hoursAgo(5), hoursAgo(20)],
  )
})
