import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { temporaryFolder, until } from '../testing.ts'
import { firmware, jobFor, register, startPlant, startUpdateGateway, type TestPlant } from './testing.ts'

/**
 * These tests kill the gateway at one step of an update. A copy of its home at this step is what a killed gateway leaves, so the
 * next gateway starts with the copy. The first gateway can no longer reach the platform.
 */

type Kill = () => Promise<void>

/** Prepares a kill. The function `arm` receives the function that kills the gateway at the step of the test. */
async function killed(t: TestContext, arm: (plant: TestPlant, kill: Kill) => void) {
  const plant = await startPlant(t)
  const [device] = plant.devices
  const content = firmware('2.0', 600_000)
  let stopped: Promise<void> | undefined
  let copy: string | undefined
  const kill = async () => {
    if (copy !== undefined) return
    copy = temporaryFolder()
    cpSync(plant.home, copy, { recursive: true })
    stopped = plant.gateway.stop()
    await stopped
  }
  arm(plant, kill)
  const job = plant.updates.offer(jobFor(device), { content, version: '2.0' })
  await until(() => stopped !== undefined)
  await stopped
  await plant.cloud.endSession()
  plant.gateway = await startUpdateGateway(copy ?? '')
  await register(plant)
  const end = await plant.updates.endOf(job)
  return { plant, device, job, end }
}

/** Kills the gateway before or after the platform accepted a state. */
const atState = (wanted: string, when: 'before' | 'after') => (plant: TestPlant, kill: Kill) => {
  let isDone = false
  plant.updates[when === 'before' ? 'beforeAdvance' : 'afterAdvance'] = async (_, state) => {
    if (state !== wanted || isDone) return
    isDone = true
    // The gateway that is killed gets no response.
    void kill()
    await until(() => plant.gateway.status().updates.running === 0)
    throw new Error('The gateway was killed')
  }
}

describe('a gateway that is killed', () => {
  for (const state of ['PREPARING', 'PREPARED', 'ACTIVATING', 'VERIFYING', 'ACTIVATED']) {
    for (const when of ['before', 'after'] as const) {
      test(`activates once when it is killed ${when} the platform accepts ${state}`, async (t) => {
        const { device, end } = await killed(t, atState(state, when))
        assert.deepEqual([end.state, device.activations], ['ACTIVATED', 1])
      })
    }
  }

  test('continues after the download without a second download', async (t) => {
    const { plant, device, end } = await killed(t, (one, kill) => {
      one.hooks.onPrepare = () => void kill()
    })
    assert.deepEqual([end.state, device.activations, plant.updates.downloads.length], ['ACTIVATED', 1, 1])
  })

  test('transfers the artefact again when it is killed during the transfer', async (t) => {
    const { device, end } = await killed(t, (plant, kill) => {
      plant.hooks.onContent = (_, bytes) => {
        if (bytes > 200_000) void kill()
      }
    })
    assert.deepEqual([end.state, device.activations], ['ACTIVATED', 1])
  })

  test('continues the download when it is killed during the download', async (t) => {
    const { plant, device, end } = await killed(t, ({ updates }, kill) => {
      let isFirst = true
      updates.sendContent = async (response, bytes) => {
        if (!isFirst) return response.end(bytes)
        isFirst = false
        response.write(bytes.subarray(0, 300_000))
        await until(() => response.writableLength === 0)
        await kill()
        response.destroy()
      }
    })
    assert.deepEqual([end.state, device.activations, plant.updates.downloads.length], ['ACTIVATED', 1, 2])
  })

  test('only reads the device when it is killed during the call of the activation', async (t) => {
    const { device, end } = await killed(t, (plant, kill) => {
      plant.hooks.onActivated = () => void kill()
    })
    assert.deepEqual([end.state, device.activations], ['ACTIVATED', 1])
  })

  test('reports an unknown state when the device did not carry out the call', async (t) => {
    const { device, end } = await killed(t, (plant, kill) => {
      plant.hooks.onActivate = async () => {
        await kill()
        throw new Error('The gateway was killed')
      }
    })
    assert.deepEqual([end.state, end.result.code, device.activations], ['UNKNOWN', 'version_unknown', 0])
  })

  test('continues the verification', async (t) => {
    const { device, end } = await killed(t, (plant, kill) => {
      plant.hooks.onRead = ({ activations }) => {
        if (activations > 0) void kill()
      }
    })
    assert.deepEqual([end.state, device.activations], ['ACTIVATED', 1])
  })

  test('reports an unknown state without an activation when it lost its home', async (t) => {
    const plant = await startPlant(t)
    plant.updates.isActivating = false
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    await until(() => plant.updates.statesOf(job).includes('PREPARED'))
    const stored = plant.updates.jobs.get(job)
    assert.ok(stored)
    // The journal of another machine does not prove that the device was not activated.
    stored.state = 'ACTIVATING'
    await plant.gateway.stop()
    rmSync(join(plant.home, 'updates'), { recursive: true })
    plant.gateway = await startUpdateGateway(plant.home)
    await register(plant)
    plant.updates.reoffer(job)
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, device.activations], ['UNKNOWN', 0])
  })
})
