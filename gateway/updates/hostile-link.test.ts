import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { firmware, jobFor, startPlant } from './testing.ts'

/** Sends a progress repeatedly until the gateway ends the call. */
async function sendProgress(call: { cancelled: boolean; write: (message: unknown) => void }): Promise<void> {
  while (!call.cancelled) {
    call.write({ status: { phase: 'AOP_ACTIVATION', state: 'AOS_OK', progress: 4_000_000_000, message: 'x' } })
    await delay(20)
  }
}

describe('a link that does not follow the rules', () => {
  test('cannot hold the transfer without an end', async (t) => {
    const hooks = { onPrepare: (_: unknown, call: Parameters<typeof sendProgress>[0]) => sendProgress(call) }
    const plant = await startPlant(t, { hooks, settings: { longestCallMs: 500 } })
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content: firmware('2.0'), version: '2.0' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code], ['FAILED', 'link_silent'])
    assert.match(end.message, /did not end the call within 0\.5 seconds/)
  })

  test('cannot hold the activation without an end', onlyInLongRuns, async (t) => {
    const hooks = { onActivated: (_: unknown, call: Parameters<typeof sendProgress>[0]) => sendProgress(call) }
    // The transfer before the activation has the same limit, and takes longer on a busy machine.
    const plant = await startPlant(t, { hooks, settings: { longestCallMs: 4_000 } })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.deepEqual([(await plant.updates.endOf(job)).state, device.activations], ['ACTIVATED', 1])
  })
})
