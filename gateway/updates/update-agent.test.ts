import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { status } from '@grpc/grpc-js'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { TestLink, until, versionInfo } from '../testing.ts'
import {
  activateDevice,
  artefactUpdateHandlers,
  discoveryHandlers,
  firmware,
  jobFor,
  minisignKey,
  register,
  startPlant,
  startUpdateGateway,
  startUpdateLink,
  type TestDevice,
} from './testing.ts'

// biome-ignore lint/suspicious/noExplicitAny: calls of a library without types
type Call = any

const discover = 'siemens.industrialassethub.discover.v1'

describe('an update through the interfaces of links', () => {
  test('transfers, activates and verifies an artefact with the current interface', async (t) => {
    const { updates, devices, cloud, gateway } = await startPlant(t)
    const [device] = devices
    const content = firmware('2.0')
    const job = updates.offer(jobFor(device), { content, version: '2.0' })
    const end = await updates.endOf(job)
    assert.deepEqual([end.state, end.message, end.result?.version], ['ACTIVATED', undefined, '2.0'])
    assert.deepEqual(updates.statesOf(job), ['PREPARING', 'PREPARED', 'ACTIVATING', 'VERIFYING', 'ACTIVATED'])
    assert.deepEqual([device.activations, device.prepared?.equals(content)], [1, true])
    assert.equal(end.result.asset.name, 'Pump 0')
    assert.equal(JSON.stringify(cloud.callsOf('uploadFound')).includes('metadata'), false)
    await until(() => gateway.status().updates.running === 0)
    const { artefacts, bytes, downloads } = gateway.status().updates.cache
    assert.deepEqual([artefacts, bytes, downloads], [1, content.length, 0])
  })

  test('uses the earlier variant of the interface for a link that has only this one', async (t) => {
    const plant = await startPlant(t, {
      interfaces: [discover, 'factory_x.artefact_update.v1'],
      start: (devices) =>
        TestLink.start({
          ...versionInfo,
          ...discoveryHandlers(devices, {}),
          'factory_x/artefact_update.v1': artefactUpdateHandlers(devices, {}),
        }),
    })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
    assert.equal(device.activations, 1)
  })

  const firstGeneration = 'commondevicemanagement.firmwareupdateApi.v1'
  const firstInterfaces = [discover, `siemens.${firstGeneration}`]
  const reply = (fields: object) => ({ status: 'IN_PROGRESS', ...fields })

  test('names the file and reads percentages as text with the interface of the first generation', async (t) => {
    const requests: [string, Call][] = []
    const plant = await startPlant(t, {
      interfaces: firstInterfaces,
      start: (devices) => {
        const step = (name: string, work: (device: TestDevice, request: Call) => void) => (call: Call) => {
          requests.push([name, call.request])
          call.write(reply({ progress_status: { operation: 'DOWNLOAD', percentage: '50 %' } }))
          work(devices[0] as TestDevice, call.request)
          call.write({ status: 'SUCCESS' })
          call.end()
        }
        return TestLink.start({
          ...versionInfo,
          ...discoveryHandlers(devices, {}),
          [firstGeneration]: {
            FirmwareDownload: step('download', (device, { meta_data: [file] }) => {
              device.prepared = readFileSync(file.firmware_file)
            }),
            FirmwareInstall: step('install', () => undefined),
            FirmwareActivate: step('activate', (device) => activateDevice(device, {})),
          },
        })
      },
    })
    const [device] = plant.devices
    const content = firmware('2.0')
    const job = plant.updates.offer(jobFor(device), { content, version: '2.0' })
    assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
    assert.deepEqual(
      requests.map(([name, { job_id, device_id }]) => [name, job_id === job, device_id]),
      [
        ['download', true, device.metadata],
        ['install', true, device.metadata],
        ['activate', true, device.metadata],
      ],
    )
    assert.deepEqual([device.activations, device.prepared?.equals(content)], [1, true])
  })

  test('activates with one call if a link of the first generation implements no separate steps', async (t) => {
    const plant = await startPlant(t, {
      interfaces: firstInterfaces,
      start: (devices) =>
        TestLink.start({
          ...versionInfo,
          ...discoveryHandlers(devices, {}),
          [firstGeneration]: {
            FirmwareUpdate: (call: Call) => {
              const [device] = devices as [TestDevice]
              device.prepared = readFileSync(call.request.meta_data[0].firmware_file)
              activateDevice(device, {})
              call.write({ status: 'SUCCESS' })
              call.end()
            },
          },
        }),
    })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.deepEqual([(await plant.updates.endOf(job)).state, device.activations], ['ACTIVATED', 1])
  })

  test('fails with the error of a link of the first generation', async (t) => {
    const plant = await startPlant(t, {
      interfaces: firstInterfaces,
      start: (devices) =>
        TestLink.start({
          ...versionInfo,
          ...discoveryHandlers(devices, {}),
          [firstGeneration]: {
            FirmwareDownload: (call: Call) => {
              call.write({ status: 'FAILED', error_msg: 'flash is worn out' })
              call.end()
            },
          },
        }),
    })
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content: firmware('2.0'), version: '2.0' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code], ['FAILED', 'link_failed'])
    assert.match(end.message, /flash is worn out/)
  })

  test('sends the connection parameters as base64 text if the link reported no metadata', async (t) => {
    let blob = ''
    const hooks = {
      onPrepare: (_: TestDevice, call: Call) => {
        blob = String(call.metadataMessage.device_identifier.blob)
      },
    }
    const plant = await startPlant(t, {
      start: (devices) => {
        for (const device of devices) delete device.metadata
        return startUpdateLink(devices, hooks)
      },
    })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
    const parameters = JSON.parse(Buffer.from(blob, 'base64').toString())
    assert.equal(parameters.asset_identifiers[0].asset_identifier_type, 'MacIdentifier')
  })

  test('sends content only after the link requested it', async (t) => {
    const early: Call[] = []
    let received = 0
    const plant = await startPlant(t, {
      start: (devices) => {
        const PrepareUpdate = (call: Call) => {
          let isRequested = false
          call.on('data', (chunk: Call) => {
            if (chunk.file_content !== undefined && !isRequested) early.push(chunk)
            if (chunk.file_content !== undefined) received += chunk.file_content.length
          })
          call.on('end', () => {
            const [device] = devices as [TestDevice]
            device.prepared = Buffer.from('2.0\n')
            call.end()
          })
          call.write({ status: { phase: 'AOP_PREPARE', state: 'AOS_OK', progress: 5 } })
          // The gateway reports the progress of this message, so it has read the message before the request.
          void until(() => plant.cloud.callsOf('renewLease').some(({ body }) => body.data.progress === 5)).then(() => {
            isRequested = true
            call.write({ request: { type: 'AORT_ARTEFACT_TRANSMISSION' } })
          })
        }
        return TestLink.start({
          ...versionInfo,
          ...discoveryHandlers(devices, {}),
          'industrialassethub.artefact_update.v1': { ...artefactUpdateHandlers(devices, {}), PrepareUpdate },
        })
      },
    })
    const content = firmware('2.0')
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content, version: '2.0' })
    assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
    assert.deepEqual([early.length, received], [0, content.length])
  })

  test('sends the content again if the link requests it for the activation', async (t) => {
    let received = 0
    const plant = await startPlant(t, {
      start: (devices) => {
        const ActivateUpdate = (call: Call) => {
          call.on('data', (chunk: Call) => {
            if (chunk.metadata !== undefined) call.write({ request: { type: 'AORT_ARTEFACT_TRANSMISSION' } })
            if (chunk.file_content !== undefined) received += chunk.file_content.length
          })
          call.on('end', () => {
            activateDevice(devices[0] as TestDevice, {})
            call.end()
          })
        }
        return TestLink.start({
          ...versionInfo,
          ...discoveryHandlers(devices, {}),
          'industrialassethub.artefact_update.v1': { ...artefactUpdateHandlers(devices, {}), ActivateUpdate },
        })
      },
    })
    const content = firmware('2.0')
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content, version: '2.0' })
    assert.deepEqual([(await plant.updates.endOf(job)).state, received], ['ACTIVATED', content.length])
  })
})

describe('an update fails', () => {
  const twice = { request: { type: 'AORT_ARTEFACT_TRANSMISSION' } }
  const faults: { title: string; hooks: Parameters<typeof startUpdateLink>[1]; code: string; text: RegExp }[] = [
    {
      title: 'when the link requests the content a second time',
      hooks: { onPrepare: (_, call) => call.write(twice) },
      code: 'link_protocol',
      text: /second time/,
    },
    {
      title: 'when the artefact is not compatible with the device',
      hooks: {
        onPrepare: (_, call) => {
          call.write({ status: { phase: 'AOP_PREPARE', state: 'AOS_ERROR_INCOMPATIBLE', message: 'wrong hardware' } })
          throw { code: status.OK }
        },
      },
      code: 'incompatible',
      text: /not compatible with the device: wrong hardware/,
    },
    {
      title: 'when the link rejects the call during the transfer',
      hooks: {
        onContent: () => {
          throw { code: status.DATA_LOSS, details: 'checksum' }
        },
      },
      code: 'link_failed',
      text: /DATA_LOSS: checksum/,
    },
    {
      title: 'when the link rejects the activation',
      hooks: {
        onActivate: () => {
          throw { code: status.FAILED_PRECONDITION, details: 'the machine runs' }
        },
      },
      code: 'link_failed',
      text: /the machine runs/,
    },
    {
      title: 'when the device reports another version, with both versions',
      hooks: { versionAfter: () => '1.5' },
      code: 'version_mismatch',
      text: /reports version 1\.5 instead of 2\.0/,
    },
    {
      title: 'when the device keeps its version, with both versions',
      hooks: { versionAfter: () => '1.0' },
      code: 'version_mismatch',
      text: /reports version 1\.0 instead of 2\.0/,
    },
  ]
  for (const { title, hooks, code, text } of faults) {
    test(title, async (t) => {
      const plant = await startPlant(t, { hooks: hooks ?? {} })
      const job = plant.updates.offer(jobFor(plant.devices[0]), { content: firmware('2.0'), version: '2.0' })
      const end = await plant.updates.endOf(job)
      assert.deepEqual([end.state, end.result?.code], ['FAILED', code])
      assert.match(end.message, text)
      assert.ok(plant.devices[0].activations <= 1)
    })
  }

  test('fails an update when the link sends nothing for too long', async (t) => {
    const hooks = { onPrepare: () => new Promise(() => undefined) }
    const plant = await startPlant(t, { hooks, settings: { linkSilenceMs: 300 } })
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content: firmware('2.0'), version: '2.0' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code], ['FAILED', 'link_silent'])
    assert.match(end.message, /MILLWRIGHT_GATEWAY_LINK_SILENCE_SECONDS/)
  })

  test('fails an update when the link is lost repeatedly during the transfer', async (t) => {
    let attempts = 0
    const hooks = {
      onContent: (_: TestDevice, bytes: number, __: Buffer[], call: Call) => {
        if (bytes > 64 * 1024) return
        attempts += 1
        call.call?.stream?.session?.destroy()
        throw { code: status.UNAVAILABLE, details: 'ECONNRESET' }
      },
    }
    const plant = await startPlant(t, { hooks })
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content: firmware('2.0'), version: '2.0' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code, attempts], ['FAILED', 'link_lost', 4])
  })

  test('fails an update when the link is not registered', async (t) => {
    const plant = await startPlant(t)
    const definition = { ...jobFor(plant.devices[0]), assetLinkId: 'another' }
    const job = plant.updates.offer(definition, { content: firmware('2.0'), version: '2.0' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code], ['FAILED', 'link_not_found'])
  })

  test('fails an update when the definition of the job is not valid', async (t) => {
    const plant = await startPlant(t)
    const job = plant.updates.offer({ assetLinkId: 7 }, { content: firmware('2.0'), version: '2.0' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual(plant.updates.statesOf(job), ['PREPARING', 'FAILED'])
    assert.match(end.message, /assetLinkId/)
  })
})

describe('an update with a link that stops', () => {
  /** Stops the link and starts it again at the same port. */
  const restart = async (plant: { link: TestLink; devices: TestDevice[] }, hooks = {}) => {
    const { port } = plant.link
    plant.link.stop()
    plant.link = await startUpdateLink(plant.devices, hooks, port)
  }

  test('prepares an update again when the link was restarted during the transfer', async (t) => {
    let isRestarted = false
    const plant = await startPlant(t, {
      hooks: {
        onContent: async () => {
          if (isRestarted) return
          isRestarted = true
          await restart(plant)
        },
      },
    })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.deepEqual([(await plant.updates.endOf(job)).state, device.activations], ['ACTIVATED', 1])
  })

  test('ends an update as activated when the device reports the new version after a lost acknowledgement', async (t) => {
    const plant = await startPlant(t, { hooks: { onActivated: () => restart(plant) } })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.deepEqual([(await plant.updates.endOf(job)).state, device.activations], ['ACTIVATED', 1])
  })

  test(
    'ends an update as unknown when the acknowledgement is lost and the device has the old version',
    onlyInLongRuns,
    async (t) => {
      const plant = await startPlant(t, {
        hooks: {
          onActivate: async () => {
            await restart(plant)
            throw { code: status.UNAVAILABLE, details: 'The asset link has stopped' }
          },
        },
      })
      const [device] = plant.devices
      const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
      const end = await plant.updates.endOf(job)
      assert.equal(end.state, 'UNKNOWN')
      assert.match(end.message, /did not acknowledge the activation. The device reports version 1\.0 instead of 2\.0/)
    },
  )

  test('ends an update as unknown when the device never answers after the activation', onlyInLongRuns, async (t) => {
    const plant = await startPlant(t, {
      hooks: {
        onActivated: (device) => {
          device.isSilent = true
        },
      },
    })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code, device.activations], ['UNKNOWN', 'version_unknown', 1])
    assert.match(end.message, /could not be read/)
  })

  test('waits for a busy link before the transfer and before the activation', async (t) => {
    const refusals = { prepare: 2, activate: 2 }
    const refuse = (step: keyof typeof refusals) => () => {
      if (refusals[step] === 0) return
      refusals[step] -= 1
      throw { code: status.RESOURCE_EXHAUSTED, details: 'Another job is already running' }
    }
    const plant = await startPlant(t, { hooks: { onPrepare: refuse('prepare'), onActivate: refuse('activate') } })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.deepEqual([(await plant.updates.endOf(job)).state, device.activations], ['ACTIVATED', 1])
    assert.deepEqual(refusals, { prepare: 0, activate: 0 })
  })
})

describe('a canceled update', () => {
  test('discards the artefact of an update that is canceled during the transfer', async (t) => {
    const plant = await startPlant(t, {
      hooks: {
        onContent: async (_, __, ___, call) => {
          plant.updates.cancel(job)
          await until(() => call.cancelled)
        },
      },
    })
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    assert.equal((await plant.updates.endOf(job)).state, 'CANCELED')
    assert.deepEqual([device.canceled, device.activations], [1, 0])
  })

  test('discards the artefact of an update that is canceled in the state PREPARED', async (t) => {
    const plant = await startPlant(t)
    plant.updates.isActivating = false
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    await until(() => plant.updates.statesOf(job).includes('PREPARED'))
    plant.updates.cancel(job)
    assert.equal((await plant.updates.endOf(job)).state, 'CANCELED')
    assert.deepEqual([device.canceled, device.activations, device.prepared], [1, 0, undefined])
  })

  test('does not activate an update that the platform cancels before it allows the activation', async (t) => {
    const plant = await startPlant(t)
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    plant.updates.beforeAdvance = (_, state) => {
      if (state === 'ACTIVATING') plant.updates.cancel(job)
    }
    assert.equal((await plant.updates.endOf(job)).state, 'CANCELED')
    assert.deepEqual([device.canceled, device.activations], [1, 0])
  })

  test('fails a canceled update with the reason when the link cannot discard the artefact', async (t) => {
    const plant = await startPlant(t, {
      hooks: {
        onCancel: () => {
          throw { code: status.INTERNAL, details: 'locked' }
        },
      },
    })
    plant.updates.isActivating = false
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content: firmware('2.0'), version: '2.0' })
    await until(() => plant.updates.statesOf(job).includes('PREPARED'))
    plant.updates.cancel(job)
    const end = await plant.updates.endOf(job)
    assert.equal(end.state, 'FAILED')
    assert.match(end.message, /could not be discarded: INTERNAL: locked/)
  })
})

describe('the trust of a gateway in artefacts', () => {
  const key = minisignKey()
  const anchor = (publicKey: string) => ({ id: crypto.randomUUID(), format: 'minisign-key', publicKey })
  const content = firmware('2.0')
  const signature = key.sign(content)
  const signed = { allowsUnsigned: false, trustAnchors: [anchor(key.publicKey)] }

  const cases: {
    title: string
    state: string
    job?: object
    artefact?: object
    file?: object | string
    text?: RegExp
  }[] = [
    { title: 'accepts a valid signature', state: 'ACTIVATED', job: signed, artefact: { signature } },
    {
      title: 'refuses an artefact without a signature',
      state: 'FAILED',
      job: signed,
      text: /has no signature, and the platform does not allow unsigned artefacts/,
    },
    {
      title: 'refuses a signature of other content, although the platform allows unsigned artefacts',
      state: 'FAILED',
      job: { ...signed, allowsUnsigned: true },
      artefact: { signature: key.sign(Buffer.from('other')) },
      text: /signature of the artefact is not valid/,
    },
    {
      title: 'refuses a signature of an unknown key',
      state: 'FAILED',
      job: signed,
      artefact: { signature: minisignKey().sign(content) },
      text: /No trust anchor of the platform confirms/,
    },
    {
      title: 'accepts an unsigned artefact if the platform allows it',
      state: 'ACTIVATED',
      job: { allowsUnsigned: true },
    },
    {
      title: 'refuses an unsigned artefact if the local file does not allow it',
      state: 'FAILED',
      job: { allowsUnsigned: true },
      file: { trustAnchors: [] },
      text: /has no signature, and update-trust.json does not allow unsigned artefacts/,
    },
    {
      title: 'refuses the trust anchors of the platform if the local file has others',
      state: 'FAILED',
      job: signed,
      artefact: { signature },
      file: { trustAnchors: [minisignKey().publicKey] },
      text: /No trust anchor of update-trust.json confirms/,
    },
    {
      title: 'accepts the trust anchors of the local file',
      state: 'ACTIVATED',
      job: { allowsUnsigned: false },
      artefact: { signature },
      file: { trustAnchors: [key.publicKey], allowsUnsigned: false },
    },
    {
      title: 'refuses all artefacts while the local file is not valid',
      state: 'FAILED',
      job: signed,
      artefact: { signature },
      file: '{"trustAnchors": [',
      text: /update-trust.json is not valid/,
    },
  ]
  for (const { title, state, job = {}, artefact = {}, file, text } of cases) {
    test(title, async (t) => {
      const plant = await startPlant(t)
      if (file !== undefined)
        writeFileSync(join(plant.home, 'update-trust.json'), typeof file === 'string' ? file : JSON.stringify(file))
      const [device] = plant.devices
      const id = plant.updates.offer({ ...jobFor(device), ...job }, { content, version: '2.0', ...artefact })
      const end = await plant.updates.endOf(id)
      assert.equal(end.state, state, end.message)
      if (text !== undefined) assert.match(end.message, text)
      assert.equal(device.prepared === undefined, state === 'FAILED')
    })
  }
})

test('an update gets the credentials of a protected device, and uses the same ones for the activation', async (t) => {
  const password = 'planted-secret'
  const used: string[] = []
  const check = (step: string) => (_: TestDevice, call: Call) => {
    const { device_credentials: given } = call.metadataMessage
    used.push(`${step} ${given?.username ?? 'none'}`)
    const isOpened = given?.password === password && JSON.parse(String(given.credentials)).password === password
    if (!isOpened) throw { code: status.UNAUTHENTICATED, details: `rejected ${given?.password}` }
  }
  const hooks = { onPrepare: check('prepare'), onActivate: check('activate') }
  const plant = await startPlant(t, { hooks })
  const credential = (number: number, username: string, secret: string) => ({
    instanceId: `0198f0c2-7b1e-7c3a-9d55-${String(number).padStart(12, '0')}`,
    schemaUri: 'urn:example:credentials',
    credentials: JSON.stringify({ username, password: secret }),
  })
  const [device] = plant.devices
  plant.cloud.credentials.set('10.0.0.1', [credential(1, 'guest', 'wrong-secret'), credential(2, 'admin', password)])
  const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
  assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
  assert.deepEqual(used, ['prepare none', 'prepare guest', 'prepare admin', 'activate admin'])
  const journal = readFileSync(join(plant.home, 'updates', `${job}.json`), 'utf8')
  assert.doesNotMatch(journal, new RegExp(password))

  plant.cloud.credentials.set('10.0.0.1', [credential(1, 'guest', 'wrong-secret')])
  const rejected = plant.updates.offer(jobFor(device), { content: firmware('3.0'), version: '3.0' })
  const end = await plant.updates.endOf(rejected)
  assert.deepEqual([end.state, end.result.code], ['FAILED', 'unauthenticated'])
  assert.doesNotMatch(end.message, /wrong-secret/)
})

test('an update of a configuration ends without a verification of the version', async (t) => {
  const plant = await startPlant(t, { hooks: { versionAfter: ({ version }) => version } })
  const [device] = plant.devices
  const job = plant.updates.offer(jobFor(device), { content: firmware('7'), version: '7', kind: 'configuration' })
  assert.deepEqual([(await plant.updates.endOf(job)).state, device.activations], ['ACTIVATED', 1])
})

test('many devices of a gateway share one download, and each is updated once', onlyInLongRuns, async (t) => {
  const plant = await startPlant(t, { devices: 40, settings: { renewEveryMs: 500 } })
  const content = firmware('2.0', 500_000)
  plant.updates.sendContent = async (response, bytes) => {
    await until(() => plant.gateway.status().updates.running === 40)
    response.end(bytes)
  }
  const jobs = plant.devices.map((device) => plant.updates.offer(jobFor(device), { content, version: '2.0' }))
  for (const job of jobs) assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
  assert.equal(plant.updates.downloads.length, 1)
  assert.deepEqual([...new Set(plant.devices.map(({ activations }) => activations))], [1])
})

test('two jobs for one device run one after the other', async (t) => {
  let running = 0
  let most = 0
  const plant = await startPlant(t, {
    hooks: {
      onPrepare: () => {
        running += 1
        most = Math.max(most, running)
      },
      onContent: (device, bytes) => {
        if (bytes === device.version.length + 100_001) running -= 1
      },
    },
  })
  const [device] = plant.devices
  const assetId = crypto.randomUUID()
  const jobs = ['2.0', '3.0'].map((version) =>
    plant.updates.offer({ ...jobFor(device), assetId }, { content: firmware(version), version }),
  )
  plant.updates.isActivating = false
  for (const job of jobs) await until(() => plant.updates.statesOf(job).includes('PREPARED'))
  assert.equal(most, 1)
})

describe('an update without a connection to the platform', () => {
  test(
    'finishes a transfer without the platform, but does not activate before the platform accepts it',
    onlyInLongRuns,
    async (t) => {
      const plant = await startPlant(t, {
        hooks: {
          onPrepare: () => plant.cloud.stop(),
        },
      })
      const [device] = plant.devices
      const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
      await until(() => device.prepared !== undefined)
      assert.equal(device.activations, 0)
      await plant.cloud.listen()
      assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
      assert.equal(device.activations, 1)
    },
  )

  test('keeps the result of an activation until the platform has it', onlyInLongRuns, async (t) => {
    let reads = 0
    const plant = await startPlant(t, {
      hooks: {
        onActivated: () => plant.cloud.stop(),
        onRead: () => {
          reads += 1
        },
      },
    })
    const [device] = plant.devices
    reads = 0
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    // The verification runs without a connection.
    await until(() => reads > 0)
    await plant.gateway.stop()
    await plant.cloud.listen()
    plant.gateway = await startUpdateGateway(plant.home)
    await register(plant)
    assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
    assert.equal(device.activations, 1)
  })

  test('fails without an activation when the permission of the platform is too old', async (t) => {
    const plant = await startPlant(t)
    plant.updates.isActivating = false
    const [device] = plant.devices
    const job = plant.updates.offer(jobFor(device), { content: firmware('2.0'), version: '2.0' })
    await until(() => plant.updates.statesOf(job).includes('PREPARED'))
    await plant.gateway.stop()
    const file = join(plant.home, 'updates', `${job}.json`)
    const timestamp = new Date(Date.now() - 20 * 60_000).toISOString()
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), step: 'requesting', timestamp }))
    const stored = plant.updates.jobs.get(job)
    assert.ok(stored)
    stored.state = 'ACTIVATING'
    plant.gateway = await startUpdateGateway(plant.home)
    await register(plant)
    plant.updates.reoffer(job)
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code, device.activations], ['FAILED', 'activation_expired', 0])
  })
})
