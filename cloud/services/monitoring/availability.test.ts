import assert from 'node:assert/strict'
import { test } from 'node:test'
import { availabilityOf } from './availability.ts'
import { type Check, rowAfter } from './result.ts'
import type { ResultRow } from './result-store.ts'

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString()
const period = { from: new Date(at(0)), to: new Date(at(10)) }

test('times with an unknown state and without monitoring do not count', () => {
  const { availablePercent, changes, state, sinceTimestamp } = availabilityOf(
    [
      { state: 'reached', fromAt: at(8), toAt: null },
      { state: 'unknown', fromAt: at(6), toAt: at(8) },
      { state: 'failed', fromAt: at(4), toAt: at(5) },
      { state: 'reached', fromAt: at(-5), toAt: at(1) },
    ],
    period,
  )
  assert.equal(availablePercent, 75)
  assert.deepEqual([state, sinceTimestamp], ['reached', at(8)])
  assert.deepEqual(
    changes.map(({ from, to }) => [from, to]),
    [
      [at(0), at(1)],
      [at(4), at(5)],
      [at(6), at(8)],
      [at(8), at(10)],
    ],
  )
  assert.equal(availabilityOf([], period).state, 'unknown')
  assert.equal(availabilityOf([], period).availablePercent, undefined)
})

const row: ResultRow = {
  monitoringId: 'm',
  assetId: 'a',
  assetName: null,
  runId: 'r',
  isPending: true,
  gatewayId: 'g1',
  routes: [{ gatewayId: 'g1', links: ['l'] }],
  state: 'reached',
  sinceAt: at(1),
  checkedAt: at(2),
  isChanged: false,
  message: null,
  firmwareVersion: '1.0',
  values: [{ key: 'speed', value: 5, changedTimestamp: at(1) }],
  checkedGatewayId: 'g1',
  assetLinkId: 'l',
  instanceId: null,
  reportDigest: null,
  reportError: null,
}
const check = (state: Check['state'], more: Partial<Check> = {}): Check => ({
  state,
  gatewayId: 'g1',
  instanceId: null,
  ...more,
})

test('an equal result changes only the time of the check', () => {
  const after = rowAfter(row, check('reached', { assetLinkId: 'l', values: [{ key: 'speed', value: 5 }] }), at(3))
  assert.deepEqual(after, { ...row, isPending: false, routes: [], checkedAt: at(3) })
})

test('a changed value has a new time, and a value that cannot be read keeps the last one', () => {
  const changed = rowAfter(row, check('reached', { values: [{ key: 'speed', value: 6 }] }), at(3))
  assert.deepEqual(changed.values, [{ key: 'speed', value: 6, changedTimestamp: at(3) }])
  assert.equal(changed.isChanged, true)
  const unread = rowAfter(row, check('reached', { values: [{ key: 'speed', problem: 'busy' }] }), at(3))
  assert.deepEqual(unread.values, [{ key: 'speed', value: 5, problem: 'busy', changedTimestamp: at(1) }])
  assert.equal(unread.isChanged, false)
})

test('a device that a gateway does not reach is passed to the next gateway, and fails only if no result was unknown', () => {
  const routes = [...row.routes, { gatewayId: 'g2', links: ['l'] }]
  const passed = rowAfter({ ...row, routes }, check('failed'), at(3))
  assert.deepEqual([passed.isPending, passed.gatewayId, passed.state], [true, 'g2', 'reached'])
  assert.equal(rowAfter(passed, check('failed'), at(4)).state, 'failed')
  const uncertain = rowAfter({ ...row, routes }, check('unknown'), at(3))
  assert.equal(rowAfter(uncertain, check('failed'), at(4)).state, 'unknown')
  assert.equal(rowAfter(uncertain, check('reached'), at(4)).state, 'reached')
})
