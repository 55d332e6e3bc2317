import assert from 'node:assert/strict'
import { test } from 'node:test'
import { windowFormOf, windowOf } from './window-form.ts'

const window = { cron: '30 22 * * 6', minutes: 240, timezone: 'Europe/Berlin' }

test('a window stays the same when it is edited without a change', () => {
  assert.deepEqual(windowOf(windowFormOf(window)), window)
  const custom = { ...window, cron: '0 6,18 1-7 * 1' }
  assert.deepEqual(windowOf(windowFormOf(custom)), custom)
})

test('names the first field that is not valid', () => {
  const form = windowFormOf(window)
  assert.deepEqual(windowOf({ ...form, schedule: { ...form.schedule, kind: 'cron', cron: '5 4' } }), {
    invalid: 'cron',
  })
  assert.deepEqual(windowOf({ ...form, schedule: { ...form.schedule, kind: 'daily', time: '' } }), { invalid: 'cron' })
  assert.deepEqual(windowOf({ ...form, minutes: '0' }), { invalid: 'minutes' })
  assert.deepEqual(windowOf({ ...form, minutes: '10081' }), { invalid: 'minutes' })
  assert.deepEqual(windowOf({ ...form, zone: 'Berlin' }), { invalid: 'zone' })
  assert.deepEqual(windowOf({ ...form, zone: '' }), { invalid: 'zone' })
})
