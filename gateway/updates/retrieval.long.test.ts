import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { status } from '@grpc/grpc-js'
import { TestLink, until, versionInfo } from '../testing.ts'
import {
  discoveryHandlers,
  jobFor,
  register,
  startPlant,
  startUpdateGateway,
  type TestDevice,
  type TestPlant,
} from './testing.ts'

// biome-ignore lint/suspicious/noExplicitAny: calls of a library without types
type Call = any

const interfaces = ['siemens.industrialassethub.discover.v1', 'factory_x.artefact_update.v1']

/** Starts a plant whose link answers a read of an artefact with the function. */
const startReadable = (t: Parameters<typeof startPlant>[0], pull: (call: Call) => void) =>
  startPlant(t, {
    interfaces,
    start: (devices: TestDevice[]) =>
      TestLink.start({
        ...versionInfo,
        ...discoveryHandlers(devices, {}),
        'factory_x/artefact_update.v1': { PullArtefact: pull },
      }),
  })

const sendAll = (call: Call, content: Buffer) => {
  for (let at = 0; at < content.length; at += 100_000) call.write({ file_content: content.subarray(at, at + 100_000) })
  call.write({ status: { phase: 'AOP_UPLOAD', state: 'AOS_OK', progress: 100 } })
  call.end()
}

const filesOf = ({ home }: TestPlant) => readdirSync(join(home, 'retrievals'))

describe('a retrieval', () => {
  test('uploads in parts what the link reads from the device', async (t) => {
    const content = randomBytes(20_000_000)
    const requests: Call[] = []
    const plant = await startReadable(t, (call) => {
      requests.push(call.request)
      sendAll(call, content)
    })
    const [device] = plant.devices
    const job = plant.updates.offerRetrieval({ ...jobFor(device), kind: 'backup' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.message, end.result], ['FINISHED', undefined, { size: content.length }])
    const upload = plant.updates.uploads.get(job)
    assert.deepEqual([upload?.size, upload?.bytes.equals(content)], [content.length, true])
    const [{ artefact_identifier: artefact, device_identifier: identifier, job_identifier: about }] = requests
    assert.deepEqual([artefact.type, String(identifier.blob), about.job_id], [2, device.metadata, job])
    await until(() => filesOf(plant).length === 0)
  })

  test('continues the upload after a lost connection and after a restart, and reads the device once', async (t) => {
    const content = randomBytes(20_000_000)
    let reads = 0
    const plant = await startReadable(t, (call) => {
      reads += 1
      sendAll(call, content)
    })
    let parts = 0
    let isStopped = false
    plant.updates.beforeUpload = () => {
      parts += 1
      if (parts === 2) throw new Error('The connection is lost')
      if (parts !== 4) return
      isStopped = true
      throw new Error('The gateway is stopped')
    }
    const job = plant.updates.offerRetrieval({ ...jobFor(plant.devices[0]), kind: 'logfile' })
    await until(() => isStopped)
    await plant.gateway.stop()
    await plant.cloud.endSession()
    plant.gateway = await startUpdateGateway(plant.home)
    await register(plant, interfaces)
    assert.equal((await plant.updates.endOf(job)).state, 'FINISHED')
    assert.ok(plant.updates.uploads.get(job)?.bytes.equals(content))
    assert.equal(reads, 1)
  })

  test('reads the device again when the link is lost, and fails after some attempts', async (t) => {
    let reads = 0
    const plant = await startReadable(t, (call) => {
      reads += 1
      call.write({ file_content: Buffer.from('half') })
      call.emit('error', { code: status.UNAVAILABLE, details: 'ECONNRESET' })
    })
    const job = plant.updates.offerRetrieval({ ...jobFor(plant.devices[0]), kind: 'logfile' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code, reads], ['FAILED', 'link_lost', 4])
    assert.equal(plant.updates.uploads.has(job), false)
    assert.deepEqual(filesOf(plant), [])
  })

  test('fails with the reason of the device, for an empty content, and for content above the limit', async (t) => {
    const answers: ((call: Call) => void)[] = [
      (call) => {
        call.write({ status: { state: 'AOS_ERROR_NOT_SUPPORTED', message: 'no log' } })
        call.end()
      },
      (call) => call.end(),
      (call) => sendAll(call, Buffer.alloc(300_000)),
    ]
    const codes: string[] = []
    const plant = await startReadable(t, (call) => answers[codes.length]?.(call))
    await plant.gateway.stop()
    plant.gateway = await startUpdateGateway(plant.home, { artefactCacheBytes: 200_000 })
    await register(plant, interfaces)
    for (const _ of answers) {
      const job = plant.updates.offerRetrieval({ ...jobFor(plant.devices[0]), kind: 'logfile' })
      codes.push((await plant.updates.endOf(job)).result.code)
    }
    assert.deepEqual(codes, ['not_supported', 'empty_content', 'artefact_too_large'])
  })

  test('fails for a link that cannot read artefacts', async (t) => {
    const plant = await startPlant(t)
    const job = plant.updates.offerRetrieval({ ...jobFor(plant.devices[0]), kind: 'backup' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code], ['FAILED', 'not_supported'])
  })
})
