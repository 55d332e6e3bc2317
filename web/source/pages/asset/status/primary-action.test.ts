import assert from 'node:assert/strict'
import { test } from 'node:test'
import { primaryActionOf } from './primary-action.ts'

const all = { canWrite: true, canConnect: true, canScan: true }

test('the primary action of an asset fits its state', () => {
  const cases = [
    ['unknown', 'reached', 'onboard'],
    ['unknown', 'failed', 'onboard'],
    ['regarded', 'reached', 'connect'],
    ['regarded', 'unknown', 'connect'],
    ['regarded', 'failed', 'scan'],
    ['ignored', 'reached', undefined],
  ] as const
  for (const [management, reachability, expected] of cases)
    assert.equal(primaryActionOf({ management, reachability, ...all }), expected, `${management} ${reachability}`)
})

test('the primary action of an asset is one that the user is allowed to do', () => {
  const state = { management: 'unknown', reachability: 'reached' }
  assert.equal(primaryActionOf({ ...state, ...all, canWrite: false }), 'connect')
  assert.equal(primaryActionOf({ ...state, ...all, canWrite: false, canConnect: false }), 'scan')
  assert.equal(primaryActionOf({ ...state, canWrite: false, canConnect: false, canScan: false }), undefined)
})
