import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { nextRun, nextRuns, requireRun } from './schedule.ts'

const berlin = 'Europe/Berlin'

test('runs a schedule at its local time before and after a daylight saving change', () => {
  const timing = { cron: '30 2 * * *', timezone: berlin }
  assert.deepEqual(
    nextRuns(timing, new Date('2026-03-27T12:00:00.000Z'), 3).map((run) => run.toISOString()),
    // On 29 March the clock moves from 02:00 to 03:00, so 02:30 does not exist. The run is at 03:00.
    ['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
  )
  assert.deepEqual(
    nextRuns(timing, new Date('2026-10-24T12:00:00.000Z'), 2).map((run) => run.toISOString()),
    // On 25 October the time 02:30 occurs twice, but there is only one run.
    ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
  )
})

test('returns the next run of a schedule after a given time', () => {
  const patterns = ['* * * * *', '*/7 3-5 * * *', '0 0 1 * *', '15 12 * * MON-FRI', '0 6 L * *', '@weekly']
  const moments = fc.date({ min: new Date('2024-01-01'), max: new Date('2034-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns),
      fc.constantFrom('UTC', berlin, 'America/New_York'),
      moments,
      (cron, timezone, after) => {
        const run = nextRun({ cron, timezone }, after)
        assert.ok(run !== null && run > after)
        assert.equal(run.getTime() % 60_000, 0)
        assert.deepEqual(nextRun({ cron, timezone }, new Date(run.getTime() - 1)), run)
      },
    ),
    { numRuns: 300 },
  )
})

const refusals: [cron: string, timezone: string, code: string, words: RegExp][] = [
  ['a * * * *', 'UTC', 'invalid_cron', /illegal characters/],
  ['* * * * * *', 'UTC', 'invalid_cron', /five fields/],
  ['', 'UTC', 'invalid_cron', /five fields/],
  ['2030-01-01T00:00:00', 'UTC', 'invalid_cron', /five fields/],
  ['*/99 * * * *', 'UTC', 'invalid_cron', /steps cannot be greater/],
  ['@reboot', 'UTC', 'invalid_cron', /reboot/],
  [`${'1,'.repeat(100)}1 * * * *`, 'UTC', 'invalid_cron', /the limit is 128$/],
  ['0 0 30 2 *', 'UTC', 'never_runs', /never runs/],
  ['* * * * *', 'Mars/Olympus', 'invalid_timezone', /Mars\/Olympus/],
]

for (const [cron, timezone, code, words] of refusals) {
  test(`refuses the schedule "${cron.slice(0, 20)}" in ${timezone} with the reason`, () => {
    assert.throws(
      () => requireRun({ cron, timezone }, new Date()),
      (problem) => problem instanceof Problem && problem.errors?.[0]?.code === code && words.test(problem.message),
    )
  })
}
