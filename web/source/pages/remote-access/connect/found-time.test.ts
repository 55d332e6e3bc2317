import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Asset } from '../../assets/model/asset.ts'
import { conditionsOf } from '../../assets/model/condition.ts'
import { contactTone, foundTime } from './found-time.ts'

const state_timestamp = '2026-11-19T12:00:00.000Z'
const device = (state_value: string): Asset => ({
  id: '1',
  functional_object_type: 'Device',
  reachability_state: { state_value, state_timestamp },
})
const without = { monitored: undefined, newestVersion: undefined }

test('returns the time of the last scan for a device that no monitoring checks', () => {
  const found = device('reached')
  assert.equal(foundTime(found, conditionsOf(found, without)), state_timestamp)
})

test('returns no time for a device with a state in monitoring, with a fault, or without a scan', () => {
  const found = device('reached')
  assert.equal(foundTime(found, conditionsOf(found, { ...without, monitored: 'reached' })), undefined)
  const stopped = { ...found, operating_mode: { mode_name: 'stop' } }
  assert.equal(foundTime(stopped, conditionsOf(stopped, without)), undefined)
  for (const other of [device('failed'), device('unknown')])
    assert.equal(foundTime(other, conditionsOf(other, without)), undefined)
})

test('a device is shown as reachable for an hour after a scan, and has a warning after a day', () => {
  const found = device('reached')
  const toneAfter = (hours: number) =>
    contactTone(found, state_timestamp, Date.parse(state_timestamp) + hours * 3_600_000)
  assert.deepEqual([0.5, 2, 30].map(toneAfter), ['good', 'neutral', 'warning'])
})
