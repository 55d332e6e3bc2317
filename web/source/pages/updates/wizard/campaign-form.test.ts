import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Campaign } from '@millwright/api/updates.ts'
import {
  emptyTargets,
  newRollout,
  rolloutOf,
  rolloutOfCampaign,
  targetsOf,
  targetsOfCampaign,
  waveOf,
} from './campaign-form.ts'

const form = { ...newRollout(), name: ' Line 1 ' }

test('a draft stays the same when it is edited without a change', () => {
  const rollout = {
    name: 'Line 1',
    waves: [{ count: 1 }, { percent: 12.5 }],
    stopOnFailurePercent: 0,
    window: { cron: '0 22 * * 6', minutes: 60, timezone: 'Europe/Berlin' },
    approval: 'required' as const,
    concurrentDevices: 5,
    verifyMinutes: 30,
    allowsDowngrade: true,
  }
  const targets = { filter: "name eq 'PLC'" }
  const campaign = { ...rollout, targets } as unknown as Campaign
  assert.deepEqual(rolloutOf(rolloutOfCampaign(campaign)), rollout)
  assert.deepEqual(targetsOf(targetsOfCampaign(campaign), ''), targets)
})

test('names the first field that is not valid', () => {
  assert.equal('invalid' in rolloutOf(form), false)
  assert.deepEqual(rolloutOf({ ...form, name: ' ' }), { invalid: 'name' })
  assert.deepEqual(rolloutOf({ ...form, waves: [{ kind: 'count', value: '0' }] }), { invalid: 'waves' })
  assert.deepEqual(rolloutOf({ ...form, stop: '101' }), { invalid: 'stop' })
  assert.deepEqual(rolloutOf({ ...form, concurrentDevices: '201' }), { invalid: 'concurrentDevices' })
  assert.deepEqual(rolloutOf({ ...form, verifyMinutes: '' }), { invalid: 'verifyMinutes' })
  const window = { ...form.window, minutes: 'long' }
  assert.deepEqual(rolloutOf({ ...form, hasWindow: true, window }), { invalid: 'window' })
  assert.equal('invalid' in rolloutOf({ ...form, hasWindow: false, window }), false)
})

test('reads waves as a percentage or as a number of devices', () => {
  assert.deepEqual(waveOf({ kind: 'percent', value: '2,5' }), { percent: 2.5 })
  assert.deepEqual(waveOf({ kind: 'count', value: '10' }), { count: 10 })
  assert.equal(waveOf({ kind: 'percent', value: '0' }), undefined)
  assert.equal(waveOf({ kind: 'count', value: '1.5' }), undefined)
})

test('requires targets, except for the products of the artefact', () => {
  assert.deepEqual(targetsOf(emptyTargets, 'f'), { filter: 'f' })
  assert.equal(targetsOf({ ...emptyTargets, kind: 'filter' }, 'f'), undefined)
  assert.equal(targetsOf({ ...emptyTargets, kind: 'assets' }, 'f'), undefined)
  assert.deepEqual(targetsOf({ ...emptyTargets, kind: 'assets', assets: [{ id: 'a' }] }, 'f'), { assetIds: ['a'] })
})
