import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lockedDevices, refusalSteps, refusalsOf } from './refusals.ts'

const [before, changed, after] = ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z']

function credentials(accepted: number, refused: number, refusedWithOther: number, lastFailedTimestamp = after) {
  return { logins: { accepted, refused, refusedWithOther, lastFailedTimestamp }, lastModifiedTimestamp: changed }
}

test('separates the devices with and without other credentials that work', () => {
  assert.deepEqual(refusalsOf(credentials(0, 21, 18)), { open: 3, withOther: 18, areCurrent: true })
})

test('offers to change values that all devices refuse', () => {
  assert.deepEqual(refusalSteps(credentials(0, 3, 0), true), ['change', 'devices'])
  assert.deepEqual(refusalSteps(credentials(5, 3, 0), true), ['devices'])
})

test('offers to narrow the IP range if devices accept other credentials', () => {
  assert.deepEqual(refusalSteps(credentials(0, 21, 18), true), ['devices', 'narrow'])
  assert.deepEqual(refusalSteps(credentials(0, 18, 18), true), ['narrow'])
})

test('offers only the devices to a user without the permission to write', () => {
  assert.deepEqual(refusalSteps(credentials(0, 3, 0), false), ['devices'])
})

test('offers no step for refusals from before the last change', () => {
  assert.deepEqual(refusalSteps(credentials(0, 3, 0, before), true), [])
})

test('counts a device once that refuses several credentials, and finds the credentials to correct', () => {
  const [wrong, old, accepted] = [credentials(0, 2, 0), credentials(0, 5, 3), credentials(4, 0, 0)]
  const rows = [accepted, wrong, old]
  assert.deepEqual(
    lockedDevices(rows, [
      ['a', 'b'],
      ['a', 'b'],
    ]),
    { count: 2, isAtLeast: false, toCorrect: wrong },
  )
})

test('names no credentials to correct if they are not the cause for all devices', () => {
  const rows = [credentials(0, 2, 0), credentials(0, 5, 3)]
  assert.deepEqual(
    lockedDevices(rows, [
      ['a', 'b'],
      ['b', 'c'],
    ]),
    { count: 3, isAtLeast: false },
  )
  assert.equal(lockedDevices([credentials(0, 5, 5), credentials(0, 3, 0, before)], []), undefined)
})

test('returns the smallest possible count if not all devices are known', () => {
  const rows = [credentials(0, 200, 0), credentials(0, 2, 0)]
  assert.deepEqual(lockedDevices(rows, [['a', 'b']]), { count: 200, isAtLeast: true })
})
