import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatsOf } from './formats.ts'

const now = new Date(2026, 10, 19, 12).getTime()
const at = (...parts: [number, number, number, number, number]) => new Date(...parts).toISOString()

test('a compact time has no date today, and no year this year', () => {
  const { compact } = formatsOf('en')
  assert.equal(compact(at(2026, 10, 19, 5, 30), now), '05:30')
  assert.equal(compact(at(2026, 10, 17, 5, 30), now), '17 Nov, 05:30')
  assert.equal(compact(at(2025, 10, 17, 5, 30), now), '17 Nov 2025, 05:30')
})

test('a compact time in German has the German form of the day', () => {
  const { compact } = formatsOf('de')
  assert.equal(compact(at(2026, 10, 17, 5, 30), now), '17. Nov., 05:30')
})

test('a relative time of the current second has the form of the other times', () => {
  const { shortRelative, relative } = formatsOf('en')
  assert.equal(shortRelative(new Date(now).toISOString(), now), '1 sec ago')
  assert.equal(relative(new Date(now + 400).toISOString(), now), 'in 1 second')
  assert.equal(shortRelative(new Date(now - 120_000).toISOString(), now), '2 min ago')
  assert.equal(formatsOf('de').shortRelative(new Date(now - 120_000).toISOString(), now), 'vor 2 Min.')
})

test('a time can be shown in the time zone of a schedule', () => {
  const { dateTimeIn } = formatsOf('en')
  assert.equal(dateTimeIn('2026-11-20T04:30:00.000Z', 'Europe/Copenhagen'), '20 Nov 2026, 05:30')
  assert.equal(dateTimeIn('2026-11-20T04:30:00.000Z', 'UTC'), '20 Nov 2026, 04:30')
})
