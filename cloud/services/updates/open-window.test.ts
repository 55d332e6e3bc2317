import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import type { MaintenanceWindow } from '@millwright/api/updates.ts'
import fc from 'fast-check'
import { nextRuns } from '../../platform/tasks/schedule.ts'
import { isWindowOpen, nextOpening, requireWindow } from './open-window.ts'

const berlin = 'Europe/Berlin'
const night: MaintenanceWindow = { cron: '30 1 * * *', minutes: 120, timezone: berlin }

test('opens a window at its start and closes it at its end', () => {
  const cases: [at: string, isOpen: boolean][] = [
    ['2026-06-10T23:29:59.999Z', false],
    ['2026-06-10T23:30:00.000Z', true],
    ['2026-06-11T01:29:59.999Z', true],
    ['2026-06-11T01:30:00.000Z', false],
  ]
  for (const [at, isOpen] of cases) assert.equal(isWindowOpen(night, new Date(at)), isOpen, at)
})

test('keeps the duration of a window when the clock is changed during the window', () => {
  // On 29 March 2026 the clock moves from 02:00 to 03:00, on 25 October from 03:00 to 02:00.
  const spring = { start: '2026-03-29T00:30:00.000Z', end: '2026-03-29T02:30:00.000Z' }
  const autumn = { start: '2026-10-24T23:30:00.000Z', end: '2026-10-25T01:30:00.000Z' }
  for (const { start, end } of [spring, autumn]) {
    const [from, to] = [Date.parse(start), Date.parse(end)]
    assert.equal(isWindowOpen(night, new Date(from - 1)), false, start)
    for (let at = from; at < to; at += 60_000) assert.equal(isWindowOpen(night, new Date(at)), true, String(at))
    assert.equal(isWindowOpen(night, new Date(to)), false, end)
  }
})

test('opens a window whose start does not exist on the day of the change', () => {
  const skipped = { cron: '30 2 * * *', minutes: 30, timezone: berlin }
  assert.deepEqual(nextOpening([skipped], new Date('2026-03-28T12:00:00.000Z')), new Date('2026-03-29T01:00:00.000Z'))
})

const window = fc.record({
  cron: fc.constantFrom('0 22 * * *', '30 2 * * SUN', '0 */6 * * *', '15 1 1 * *', '0 6 * * MON-FRI'),
  minutes: fc.integer({ min: 1, max: 7 * 24 * 60 }),
  timezone: fc.constantFrom('UTC', berlin, 'America/New_York', 'Australia/Lord_Howe'),
})
/** The largest number of starts of these windows in seven days, with one start more for a change of the clock. */
const maxStarts = 29
const moment = fc.date({ min: new Date('2025-01-01'), max: new Date('2029-01-01'), noInvalidDate: true })

test('is open exactly when a start lies within the duration before', () => {
  fc.assert(
    fc.property(window, moment, ({ cron, minutes, timezone }, at) => {
      const earlier = new Date(at.getTime() - minutes * 60_000)
      const starts = nextRuns({ cron, timezone }, earlier, maxStarts).filter((start) => start <= at)
      assert.equal(isWindowOpen({ cron, minutes, timezone }, at), starts.length > 0)
    }),
    { numRuns: 100 },
  )
})

test('finds the first time at which all windows are open', () => {
  const step = 15 * 60_000
  const short = fc.record({
    cron: fc.constantFrom('0 22 * * *', '30 2 * * SUN', '0 */6 * * *', '45 1 * * *'),
    minutes: fc.integer({ min: 1, max: 40 }).map((quarters) => quarters * 15),
    timezone: fc.constantFrom('UTC', berlin),
  })
  fc.assert(
    fc.property(fc.array(short, { minLength: 1, maxLength: 3 }), fc.nat(4 * 24 * 365), (windows, quarter) => {
      const from = new Date(Date.UTC(2026, 0, 1) + quarter * step)
      const found = nextOpening(windows, from)
      const end = found ?? new Date(from.getTime() + 8 * 86_400_000)
      const areOpen = (at: Date) => windows.every((window) => isWindowOpen(window, at))
      for (let at = from.getTime(); at < end.getTime(); at += step) assert.ok(!areOpen(new Date(at)))
      if (found !== undefined) assert.ok(areOpen(found) && found >= from)
    }),
    { numRuns: 25 },
  )
})

test('returns no time for windows that never overlap', () => {
  const morning = { cron: '0 6 * * *', minutes: 60, timezone: 'UTC' }
  const evening = { cron: '0 18 * * *', minutes: 60, timezone: 'UTC' }
  assert.equal(nextOpening([morning, evening], new Date('2026-01-01T00:00:00.000Z')), undefined)
  assert.deepEqual(nextOpening([], new Date(0)), new Date(0))
})

test('limits the time of the search if there are many windows', () => {
  const open = Array.from({ length: 400 }, (_, index) => ({ cron: '* * * * *', minutes: 60 + index, timezone: 'UTC' }))
  const [morning, evening] = ['0 6 * * *', '0 18 * * *'].map((cron) => ({ cron, minutes: 60, timezone: 'UTC' }))
  assert.ok(morning !== undefined && evening !== undefined)
  const before = process.cpuUsage()
  assert.equal(nextOpening([...open, morning, evening], new Date('2026-01-01T00:00:00.000Z')), undefined)
  assert.ok(process.cpuUsage(before).user < 1_500_000)
})

test('refuses a window with an invalid schedule or time zone and names the field', () => {
  const refused: [window: MaintenanceWindow, pointer: string][] = [
    [{ cron: 'every day', minutes: 1, timezone: 'UTC' }, '/data/window/cron'],
    [{ cron: '0 0 30 2 *', minutes: 1, timezone: 'UTC' }, '/data/window/cron'],
    [{ cron: '0 0 * * *', minutes: 1, timezone: 'Berlin' }, '/data/window/timezone'],
  ]
  for (const [window, pointer] of refused) {
    assert.throws(
      () => requireWindow(window, '/data/window'),
      (problem) =>
        problem instanceof Problem && problem.code === 'invalid_window' && problem.errors?.[0]?.pointer === pointer,
    )
  }
})
