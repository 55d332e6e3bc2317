import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceState, MaintenanceWindow } from '@millwright/api/updates.ts'
import fc from 'fast-check'
import { isWindowOpen } from './open-window.ts'
import { type QueuedDevice, readyDevices } from './ready-devices.ts'

const at = new Date('2026-05-04T22:30:00.000Z')
const open: MaintenanceWindow = { cron: '0 22 * * *', minutes: 60, timezone: 'UTC' }
const closed: MaintenanceWindow = { cron: '0 4 * * *', minutes: 60, timezone: 'UTC' }

function device(id: string, changes: Partial<QueuedDevice> = {}): QueuedDevice {
  const fixed = {
    id,
    assetId: `asset-${id}`,
    wave: 1,
    order: 0,
    group: id,
    state: 'waiting',
    isStarted: false,
  } as const
  return { ...fixed, after: [], notWith: [], windows: [], ...changes }
}

const options = { at, wave: 1, concurrentDevices: 10 }

test('starts devices without restrictions at the same time, in their order', () => {
  const devices = [device('b', { order: 1 }), device('c'), device('a', { order: 1 })]
  assert.deepEqual(readyDevices(devices, options), { ready: ['c', 'a', 'b'], causes: new Map() })
})

test('starts a device only after all devices downstream are final, also if they failed', () => {
  const lower = (state: DeviceState) => [device('plc', { state }), device('switch', { order: 1, after: ['asset-plc'] })]
  assert.deepEqual(readyDevices(lower('waiting'), options).ready, ['plc'])
  assert.deepEqual(readyDevices(lower('verifying'), options).ready, [])
  for (const state of ['succeeded', 'failed', 'unknown', 'skipped', 'canceled'] as const)
    assert.deepEqual(readyDevices(lower(state), options).ready, ['switch'], state)
})

test('never starts two redundant devices, also if only one of them names the other one', () => {
  const devices = [device('a', { notWith: ['asset-b'] }), device('b'), device('c')]
  assert.deepEqual(readyDevices(devices, options).ready, ['a', 'c'])
  const running = [device('a', { notWith: ['asset-b'], state: 'prepared' }), device('b'), device('c')]
  assert.deepEqual(readyDevices(running, options).ready, ['c'])
  const other = [device('a', { notWith: ['asset-b'] }), device('b', { state: 'activating' })]
  assert.deepEqual(readyDevices(other, options).ready, [])
})

test('counts a waiting device with a job as a device that is being updated', () => {
  const devices = [device('a', { group: 'ring', isStarted: true }), device('b', { group: 'ring' })]
  assert.deepEqual(readyDevices(devices, options).ready, [])
})

test('returns why devices wait', () => {
  const devices = [
    device('a', { group: 'ring' }),
    device('b', { group: 'ring' }),
    device('c', { order: 1, after: ['asset-a'] }),
    device('d', { order: 2 }),
    device('e', { order: 2, isBlocked: true }),
  ]
  const { ready, causes } = readyDevices(devices, { ...options, concurrentDevices: 1 })
  assert.deepEqual(ready, ['a'])
  assert.deepEqual(Object.fromEntries(causes), { b: 'exclusion', c: 'order', d: 'place' })
})

test('starts nothing in a closed window and returns its next start', () => {
  const inNode = [device('a', { windows: [closed] }), device('b', { windows: [open] })]
  const waits = { causes: new Map([['a', 'window']]), nextAt: new Date('2026-05-05T04:00:00.000Z') }
  assert.deepEqual(readyDevices(inNode, options), { ready: ['b'], ...waits })
  const inCampaign = readyDevices([device('a')], { ...options, window: closed })
  assert.deepEqual(inCampaign, { ready: [], ...waits })
  const both = readyDevices([device('a', { windows: [open] })], { ...options, window: closed })
  assert.deepEqual(both, { ready: [], ...waits })
})

test('ignores devices of later waves, also in the conditions of the current wave', () => {
  const devices = [device('a', { after: ['asset-b'] }), device('b', { wave: 2 })]
  assert.deepEqual(readyDevices(devices, options).ready, ['a'])
})

const states = ['waiting', 'downloading', 'prepared', 'activating', 'verifying'] as const

/** Generates devices whose `after` names only devices with a lower order, in the same or an earlier wave. */
const campaign = fc
  .array(
    fc.record({
      group: fc.nat(6),
      order: fc.nat(3),
      after: fc.array(fc.nat(19), { maxLength: 3 }),
      notWith: fc.array(fc.nat(19), { maxLength: 2 }),
      windows: fc.array(fc.constantFrom(open, closed), { maxLength: 1 }),
      state: fc.option(fc.constantFrom(...states), { nil: 'waiting' as const }),
      isStarted: fc.boolean(),
    }),
    { minLength: 1, maxLength: 20 },
  )
  .map((drawn) =>
    drawn.map(({ group, after, notWith, order, ...rest }, index) => ({
      ...device(String(index).padStart(2, '0')),
      ...rest,
      order,
      group: group === 0 ? String(index) : `group ${group}`,
      after: after.filter((other) => (drawn[other]?.order ?? 9) < order).map((other) => nameOf(other)),
      notWith: notWith.filter((other) => other < drawn.length && other !== index).map(nameOf),
    })),
  )

function nameOf(index: number): string {
  return `asset-${String(index).padStart(2, '0')}`
}

function isRunning({ state, isStarted }: QueuedDevice): boolean {
  return state === 'waiting' ? isStarted : ['downloading', 'prepared', 'activating', 'verifying'].includes(state)
}

/** Checks the rules for the devices that run after a start. */
function assertRules(devices: readonly QueuedDevice[], ready: readonly string[], limit: number): void {
  const started = devices.filter(({ id }) => ready.includes(id))
  const before = devices.filter(isRunning)
  const running = [...before, ...started]
  if (started.length > 0) assert.ok(running.length <= limit, 'too many devices at the same time')
  for (const one of started) {
    for (const window of one.windows) assert.ok(isWindowOpen(window, at), 'a window is closed')
    assert.equal(isRunning(one), false)
    for (const other of running) {
      if (other === one) continue
      assert.notEqual(one.group, other.group, 'two devices of one group')
      assert.ok(!one.notWith.includes(other.assetId) && !other.notWith.includes(one.assetId), 'two redundant devices')
    }
    for (const other of devices) {
      if (one.after.includes(other.assetId)) assert.ok(!isRunning(other) && other.state !== 'waiting', 'upstream first')
    }
  }
}

test('keeps all rules for any devices, and starts as many devices as possible', () => {
  fc.assert(
    fc.property(campaign, fc.integer({ min: 1, max: 6 }), (devices, concurrentDevices) => {
      const { ready } = readyDevices(devices, { at, wave: 1, concurrentDevices })
      assertRules(devices, ready, concurrentDevices)
      const running = devices.filter(isRunning).length + ready.length
      if (running >= concurrentDevices) return
      for (const left of devices.filter(
        ({ id, state, isStarted }) => state === 'waiting' && !isStarted && !ready.includes(id),
      ))
        assert.throws(() => assertRules(devices, [...ready, left.id], concurrentDevices), `${left.id} could start too`)
    }),
    { numRuns: 1_000 },
  )
})

test('completes every campaign whose windows are open, without a deadlock', () => {
  fc.assert(
    fc.property(campaign, fc.integer({ min: 1, max: 6 }), fc.infiniteStream(fc.nat(100)), (drawn, limit, chances) => {
      let devices = drawn.map((each): QueuedDevice => ({ ...each, windows: each.windows.slice(0, 0) }))
      const chance = () => chances.next().value ?? 0
      for (let step = 0; devices.some(({ state }) => state === 'waiting' || state === 'activating'); step++) {
        assert.ok(step < 200, 'the campaign does not end')
        const { ready } = readyDevices(devices, { at, wave: 1, concurrentDevices: limit })
        assertRules(devices, ready, limit)
        assert.ok(ready.length > 0 || devices.some(isRunning), 'nothing runs and nothing starts')
        const [first] = devices.filter((each) => isRunning(each) || ready.includes(each.id))
        devices = devices.map((each): QueuedDevice => {
          if (each === first) return { ...each, isStarted: true, state: chance() < 10 ? 'failed' : 'succeeded' }
          if (!isRunning(each) && !ready.includes(each.id)) return each
          return { ...each, isStarted: true, state: chance() < 50 ? 'activating' : 'succeeded' }
        })
      }
    }),
    { numRuns: 300 },
  )
})
