import assert from 'node:assert/strict'
import { test } from 'node:test'
import { primaryActionOf } from './primary-action.ts'

const all = { canWrite: true, canConnect: true, canScan: true, canFind: false }

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
  assert.equal(
    primaryActionOf({ ...state, canWrite: false, canConnect: false, canScan: false, canFind: false }),
    undefined,
  )
})

test('the primary action of an asset without a known gateway is a scan that finds it', () => {
  const state = { ...all, canConnect: false, canScan: false, canFind: true }
  const actionOf = (management: string) => primaryActionOf({ ...state, management, reachability: 'reached' })
  assert.deepEqual(['regarded', 'unknown', 'ignored'].map(actionOf), ['find', 'onboard', undefined])
})
