import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatsOf } from '../../../app/language/formats.ts'
import { scanMessages } from './scan-messages.ts'
import { cronOf, intervalTextOf, isCronLine, runNow, scheduleChoiceOf } from './schedule.ts'

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

test('names the interval of a schedule without its time', () => {
  const intervalOf = (cron: string, language: 'en' | 'de') =>
    intervalTextOf(cron, { text: scanMessages[language], minutes: formatsOf(language).minutes })
  const crons = ['*/15 * * * *', '0 * * * *', '30 5 * * *', '5 22 * * 0', '*/7 1-3 * 2 *']
  assert.deepEqual(
    crons.map((cron) => intervalOf(cron, 'en')),
    ['Every 15 minutes', 'Hourly', 'Daily', 'Weekly', 'Custom (cron)'],
  )
  assert.equal(intervalOf('30 5 * * *', 'de'), 'Täglich')
})
