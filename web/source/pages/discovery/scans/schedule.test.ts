import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce, cronOf, isCronLine, timingOf } from './schedule.ts'

test('a choice of people becomes a cron line, and the line becomes the choice again', () => {
  for (const [cron, timing] of [
    ['0 * * * *', { ...atOnce, kind: 'hourly' }],
    ['30 5 * * *', { ...atOnce, kind: 'daily', time: '05:30' }],
    ['5 22 * * 0', { ...atOnce, kind: 'weekly', time: '22:05', weekday: 0 }],
    ['*/7 1-3 * 2 *', { ...atOnce, kind: 'cron', cron: '*/7 1-3 * 2 *' }],
  ] as const) {
    assert.deepEqual(timingOf(cron), timing)
    assert.equal(cronOf(timing), cron)
  }
})

test('now is no line, and a line that is not finished is none either', () => {
  assert.equal(cronOf(atOnce), undefined)
  assert.equal(cronOf({ ...atOnce, kind: 'cron', cron: '5 4' }), undefined)
  assert.ok(isCronLine(' 1 2  3 4 5 '))
})
