import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Asset } from './asset.ts'
import { conditionsOf, lastKnownStop } from './condition.ts'

const firmware = (version: string) => ({
  software_components: [{ artifact: { is_firmware: true, asset_identifiers: [{ version }] } }],
})
const device: Asset = { id: '1', functional_object_type: 'Device' }
const without = { monitored: undefined, newestVersion: undefined }

test('the conditions of an asset start with the worst one', () => {
  const asset = { ...device, ...firmware('1.0'), operating_mode: { mode_name: 'stop' } }
  const sources = { monitored: 'failed', newestVersion: '2.0' } as const
  assert.deepEqual(conditionsOf(asset, sources), ['failed', 'stopped', 'outdated'])
  assert.deepEqual(conditionsOf(asset, { ...sources, monitored: 'reached' }), ['stopped', 'outdated', 'reached'])
})

test('a device counts as reachable only if a monitoring reached it', () => {
  const seen = { ...device, reachability_state: { state_value: 'reached' } }
  assert.deepEqual(conditionsOf(seen, without), ['unmonitored'])
  assert.deepEqual(conditionsOf(seen, { ...without, monitored: 'reached' }), ['reached'])
})

test('a failed check counts without monitoring, and the result of a monitoring replaces it', () => {
  const failed = { ...device, reachability_state: { state_value: 'failed' } }
  assert.deepEqual(conditionsOf(failed, without), ['failed'])
  assert.deepEqual(conditionsOf(failed, { ...without, monitored: 'unknown' }), ['unknown'])
})

test('an asset that is not a device has no reachability, and the newest firmware does not count as a fault', () => {
  assert.deepEqual(conditionsOf({ id: '1', functional_object_type: 'SoftwareArtifact' }, without), [])
  const newest = { ...without, newestVersion: '1.0' }
  assert.deepEqual(conditionsOf({ ...device, ...firmware('1.0') }, newest), ['unmonitored'])
})

test('a stop is only the last known mode if no check reached the controller in the last 24 hours', () => {
  const now = Date.parse('2026-11-19T12:00:00.000Z')
  const stopped = (state_value: string, state_timestamp: string, mode_name = 'stop') =>
    lastKnownStop(
      { ...device, operating_mode: { mode_name }, reachability_state: { state_value, state_timestamp } },
      now,
    )
  const [recent, old] = ['2026-11-18T12:00:00.000Z', '2026-11-18T11:59:59.000Z']
  assert.equal(stopped('reached', recent), undefined)
  assert.equal(stopped('reached', old), old)
  assert.equal(stopped('unknown', recent), recent)
  assert.equal(stopped('unknown', recent, 'run'), undefined)
})
