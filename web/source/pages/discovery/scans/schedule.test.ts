import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cronOf, isCronLine, runNow, scheduleChoiceOf } from './schedule.ts'

test('converts a schedule choice to a cron expression and back', () => {
  for (const [cron, schedule] of [
    ['* * * * *', { ...runNow, kind: 'minutes', minutes: 1 }],
    ['*/15 * * * *', { ...runNow, kind: 'minutes', minutes: 15 }],
    ['0 * * * *', { ...runNow, kind: 'hourly' }],
    ['30 5 * * *', { ...runNow, kind: 'daily', time: '05:30' }],
    ['5 22 * * 0', { ...runNow, kind: 'weekly', time: '22:05', weekday: 0 }],
    ['*/7 1-3 * 2 *', { ...runNow, kind: 'cron', cron: '*/7 1-3 * 2 *' }],
  ] as const) {
    assert.deepEqual(scheduleChoiceOf(cron), schedule)
    assert.equal(cronOf(schedule), cron)
  }
})

test('returns no cron expression for the schedule choice "now" or for an incomplete expression', () => {
  assert.equal(cronOf(runNow), undefined)
  assert.equal(cronOf({ ...runNow, kind: 'cron', cron: '5 4' }), undefined)
  assert.ok(isCronLine(' 1 2  3 4 5 '))
})
