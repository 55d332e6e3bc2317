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
