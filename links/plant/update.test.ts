import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { linkServices } from '@millwright/api/link-protocol.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { jsonOf, variantOf } from '@millwright/api/variant.ts'
import { codeOf, Subject } from '@millwright/link-sdk/conformance/check.ts'
import { valuesOf } from '@millwright/link-sdk/conformance/device-values.ts'
import { runDiscovery } from '@millwright/link-sdk/conformance/discover-checks.ts'
import { UpdateClient } from '@millwright/link-sdk/conformance/update-client.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { faultOf, faults, isActivatedWithoutAnswer } from './fault.ts'
import { createFirmware } from './firmware.ts'
import { link } from './link.ts'
import { manifest } from './manifest.ts'
import { plantOf } from './options.ts'
import { deviceAt } from './simulator.ts'

const restartMs = 300
type PlantOptions = Record<string, string | number>
const plantOptions = (options: PlantOptions) => ({ protected_percent: 0, update_restart_ms: restartMs, ...options })
const defaults = defaultOptionsOf(manifest)
const payload = Buffer.alloc(200_000, 7)
const chunks = (bytes: Buffer) =>
  Array.from({ length: 20 }, (_, index) => bytes.subarray(index * 10_100).subarray(0, 10_100))

/** `TestPlant` is a running plant link with the clients of a gateway. */
class TestPlant implements AsyncDisposable {
  readonly subject: Subject
  readonly updates: UpdateClient
  readonly #stop: () => Promise<unknown>

  constructor(endpoint: string, stop: () => Promise<unknown>) {
    this.subject = new Subject({ endpoint }, 'millwright')
    this.updates = new UpdateClient({ endpoint })
    this.#stop = stop
  }

  /** Scans a plant. Later calls use the options of this scan. */
  async scan(options: PlantOptions) {
    return runDiscovery(this.subject, {
      options: Object.entries(plantOptions(options)).map(([key, value]) => ({ key, value: variantOf(value) })),
    })
  }

  /** Returns the firmware version and the number of activations that a device reports, or the code of the error. */
  async report(device: object): Promise<{ firmware: string; activations: number } | { code: number }> {
    const target = { case: 'connectionParameterSet' as const, value: { parameterJson: JSON.stringify(device) } }
    const keys = ['software_components', 'update.activations']
    try {
      const { getPropertyValues } = linkServices.deviceInfo.method
      const { propertyResults } = await this.subject.ask(getPropertyValues, { device: { target }, keys })
      const [software, activations] = propertyResults.map(({ result }) =>
        result.case === 'property' && result.value.value !== undefined ? jsonOf(result.value.value) : undefined,
      )
      const firmware = /"version":"([^"]+)"/.exec(JSON.stringify(software))?.[1] ?? ''
      return { firmware, activations: Number(activations) }
    } catch (error) {
      return { code: codeOf(error) }
    }
  }

  /** Waits until a device responds, and returns its report. */
  async reportAfterRestart(device: object) {
    const givenUpAt = performance.now() + 120_000
    for (;;) {
      const report = await this.report(device)
      if (!('code' in report)) return report
      assert.ok(performance.now() < givenUpAt, 'the device does not respond')
      await delay(20)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
    this.subject[Symbol.dispose]()
    this.updates[Symbol.dispose]()
  }
}

const folder = mkdtempSync(join(tmpdir(), 'plant-'))
after(() => rmSync(folder, { recursive: true }))

/** Starts the link in this process, with a new folder. */
async function startPlant(): Promise<TestPlant> {
  const home = mkdtempSync(join(folder, 'home-'))
  const running = await startLink(link, { logLevel: 'silent', home })
  return new TestPlant(running.endpoint, () => running.stop())
}

/** Starts the link as a process. Disposing the plant kills the process. */
async function spawnPlant(home: string): Promise<TestPlant> {
  const main = join(import.meta.dirname, 'main.ts')
  const child = spawn(process.execPath, [main, '--registry', 'none', '--home', home], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const port = await new Promise<string>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text
      const found = /"port":\s*(\d+)/.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', () => reject(new Error(`The link has ended: ${output}`)))
  })
  const ended = once(child, 'exit')
  return new TestPlant(`127.0.0.1:${port}`, () => {
    child.kill('SIGKILL')
    return ended
  })
}

function firmwareFor({ seed = 1, index, version }: { seed?: number; index: number; version: string }): Buffer {
  const { article } = deviceAt(plantOf({ ...defaults, ...plantOptions({}), seed }), index)
  return createFirmware({ product: article, version, payload })
}

describe('an update of a simulated device', () => {
  let plant: TestPlant
  before(async () => {
    plant = await startPlant()
    await plant.scan({ size: 20 })
  })
  after(() => plant[Symbol.asyncDispose]())

  test('transfers the firmware, restarts the device, and changes the version that it reports', async () => {
    const device = { seed: 1, device: 3 }
    const { devices } = await plant.scan({ size: 20 })
    const metadata = valuesOf(devices[3] as (typeof devices)[number]).find(({ path }) => path === 'metadata')?.value
    assert.equal(metadata?.case, 'text')
    assert.deepEqual(JSON.parse(Buffer.from(String(metadata.value), 'base64').toString()), device)

    const before = await plant.report(device)
    const content = chunks(firmwareFor({ index: 3, version: '99.1' }))
    const prepared = await plant.updates.prepare({ jobId: 'job 1', device, content })
    assert.deepEqual([prepared.code, prepared.requests], [0, 1])
    const progress = prepared.statuses.filter(({ phase }) => phase === 'AOP_DOWNLOAD').map((one) => one.progress)
    assert.deepEqual(progress, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
    assert.deepEqual([prepared.statuses.at(-1)?.phase, prepared.statuses.at(-1)?.progress], ['AOP_INSTALLATION', 100])
    assert.deepEqual(await plant.report(device), before)

    const restarting: Promise<unknown>[] = []
    const onStatus = ({ progress }: { progress: number }) => {
      if (progress === 50) restarting.push(plant.report(device), plant.scan({ size: 20 }))
    }
    const activated = await plant.updates.activate({ jobId: 'job 1', device, onStatus })
    assert.deepEqual([activated.code, activated.requests, activated.statuses.at(-1)?.progress], [0, 0, 100])
    const [report, scan] = await Promise.all(restarting)
    assert.deepEqual(report, { code: Code.UNAVAILABLE })
    assert.equal((scan as Awaited<ReturnType<TestPlant['scan']>>).errors.length, 1)
    assert.deepEqual(await plant.reportAfterRestart(device), { firmware: '99.1', activations: 1 })

    const again = await plant.updates.activate({ jobId: 'job 1', device })
    assert.equal(again.code, Code.FAILED_PRECONDITION)
    assert.deepEqual(await plant.report(device), { firmware: '99.1', activations: 1 })
  })

  test('refuses firmware for another product, damaged firmware and other kinds of artefacts', async () => {
    const device = { seed: 1, device: 5 }
    const firmware = firmwareFor({ index: 5, version: '2.0' })
    const last = async (content: Buffer, kind: 'AT_FIRMWARE' | 'AT_CONFIGURATION' = 'AT_FIRMWARE') => {
      const { code, statuses } = await plant.updates.prepare({ jobId: 'job', device, content: chunks(content), kind })
      assert.equal(code, 0)
      return statuses.at(-1)?.state
    }
    const other = createFirmware({ product: 'another', version: '2.0', payload })
    assert.equal(await last(other), 'AOS_ERROR_INCOMPATIBLE')
    assert.equal(await last(Buffer.from('#!/bin/sh')), 'AOS_ERROR_FAIL')
    assert.equal(await last(firmware.subarray(0, -1)), 'AOS_ERROR_FAIL')
    assert.equal(await last(firmware.with(-1, 8) as Buffer), 'AOS_ERROR_FAIL')
    assert.equal(await last(firmware, 'AT_CONFIGURATION'), 'AOS_ERROR_NOT_SUPPORTED')
    assert.equal((await plant.updates.activate({ jobId: 'job', device })).code, Code.FAILED_PRECONDITION)
  })

  test('cancels an update after the transfer, but not for another job', async () => {
    const device = { seed: 1, device: 6 }
    const content = chunks(firmwareFor({ index: 6, version: '2.0' }))
    await plant.updates.prepare({ jobId: 'mine', device, content })
    assert.equal((await plant.updates.cancel({ jobId: 'other', device })).code, 0)
    assert.equal((await plant.updates.activate({ jobId: 'other', device })).code, Code.FAILED_PRECONDITION)
    const { statuses } = await plant.updates.cancel({ jobId: 'mine', device })
    assert.deepEqual([statuses[0]?.phase, statuses[0]?.progress], ['AOP_CANCELLATION', 100])
    assert.equal((await plant.updates.activate({ jobId: 'mine', device })).code, Code.FAILED_PRECONDITION)
    assert.equal((await plant.updates.cancel({ jobId: 'mine', device })).code, 0)
  })

  test('requires credentials for the update of a protected device', async () => {
    await plant.scan({ size: 10, seed: 2, protected_percent: 100 })
    const device = { seed: 2, device: 3 }
    const content = chunks(firmwareFor({ seed: 2, index: 3, version: '2.0' }))
    const prepare = (user?: { username: string; password: string }) =>
      plant.updates.prepare({
        jobId: 'job',
        device,
        content,
        ...(user === undefined ? {} : { deviceCredentials: user }),
      })
    assert.equal((await prepare()).code, Code.UNAUTHENTICATED)
    const wrong = await prepare({ username: 'user', password: 'guess-4711' })
    assert.equal(wrong.code, Code.UNAUTHENTICATED)
    assert.ok(!wrong.details.includes('guess-4711'))
    assert.equal((await prepare({ username: 'admin', password: 'admin_password' })).code, 0)
  })

  test('writes updates to the log of the device, and reads the log, a backup and the configuration', async () => {
    const device = { seed: 1, device: 7 }
    await plant.updates.prepare({ jobId: 'job 7', device, content: chunks(firmwareFor({ index: 7, version: '2.0' })) })
    const log = await plant.updates.read({ jobId: 'read', device, kind: 'AT_LOGFILE' })
    assert.equal(log.code, 0)
    assert.match(log.content.toString(), /Firmware 2\.0 prepared by job job 7/)
    assert.deepEqual(log.statuses.at(-1), { phase: 'AOP_UPLOAD', state: 'AOS_OK', message: '', progress: 100 })
    const backup = JSON.parse((await plant.updates.read({ jobId: 'b', device, kind: 'AT_BACKUP' })).content.toString())
    assert.equal(backup.nameplate.activations, 0)
    const { content } = await plant.updates.read({ jobId: 'c', device, kind: 'AT_CONFIGURATION' })
    assert.deepEqual(JSON.parse(content.toString()), backup.configuration)
    const firmware = await plant.updates.read({ jobId: 'f', device, kind: 'AT_FIRMWARE' })
    assert.deepEqual([firmware.statuses.at(-1)?.state, firmware.content.length], ['AOS_ERROR_NOT_SUPPORTED', 0])
  })

  test('names the device by its metadata, its address or its identifiers', async () => {
    const { serial, network } = deviceAt(plantOf({ ...defaults, ...plantOptions({}) }), 11)
    const mac = { asset_identifier_type: 'MacIdentifier', mac_address: network?.mac.toLowerCase() }
    const names = [
      { seed: 1, device: 11 },
      { ip_address: '10.0.0.12', seed: 1, device: 11 },
      { ip_address: '10.0.0.12', asset_identifiers: [mac] },
      { asset_identifiers: [{ asset_identifier_type: 'ProductInstanceIdentifier', serial_number: serial }] },
    ]
    for (const device of names) {
      const { content } = await plant.updates.read({ jobId: 'job', device, kind: 'AT_BACKUP' })
      assert.equal(JSON.parse(content.toString()).nameplate.serial, serial)
    }
  })

  test('reports devices that do not exist', async () => {
    const { code } = await plant.updates.prepare({ jobId: 'job', device: { seed: 1, device: 2_000_000 } })
    assert.equal(code, Code.UNAVAILABLE)
    const noAddress = await plant.updates.prepare({ jobId: 'job', device: Buffer.from('device 7') })
    assert.equal(noAddress.code, Code.INVALID_ARGUMENT)
  })
})

describe('faults of simulated devices', () => {
  test('selects faults only by the seed and the settings, with the requested share', () => {
    const settings = { faultPercent: 5, faults, restartMs }
    const faulty = (seed: number) => Array.from({ length: 20_000 }, (_, index) => faultOf({ seed, index }, settings))
    const first = faulty(1)
    assert.deepEqual(faulty(1), first)
    assert.notDeepEqual(faulty(2), first)
    const counts = faults.map((fault) => first.filter((one) => one === fault).length)
    for (const count of counts) assert.ok(count > 150 && count < 250, `${count} of 20,000`)
    const silent = first.flatMap((fault, index) => (fault === 'no-answer' ? [{ seed: 1, index }] : []))
    const activated = silent.filter(isActivatedWithoutAnswer).length / silent.length
    assert.ok(activated > 0.35 && activated < 0.65)
    assert.ok(
      Array.from({ length: 1_000 }, (_, index) => faultOf({ seed: 1, index }, { ...settings, faultPercent: 0 })).every(
        (fault) => fault === undefined,
      ),
    )
  })

  test('refuses unknown names of faults', async () => {
    await using plant = await startPlant()
    await assert.rejects(
      plant.scan({ update_faults: 'slow,explodes' }),
      /"explodes" is not a fault .* Choose one of slow/,
    )
  })

  const updateWith = async (fault: string, { index, answerMs }: { index: number; answerMs?: number }) => {
    const plant = await startPlant()
    await plant.scan({ size: 20, update_fault_percent: 100, update_faults: fault })
    const device = { seed: 1, device: index }
    const old = await plant.reportAfterRestart(device)
    const job = { jobId: 'job', device }
    const startedAt = performance.now()
    const content = chunks(firmwareFor({ index, version: '99.9' }))
    const prepared = await plant.updates.prepare({ ...job, content })
    const prepareMs = performance.now() - startedAt
    const signal = answerMs === undefined ? {} : { signal: AbortSignal.timeout(answerMs) }
    const activated = await plant.updates.activate({ ...job, ...signal })
    const report = await plant.reportAfterRestart(device)
    await plant[Symbol.asyncDispose]()
    return { old, prepared, prepareMs, activated, report }
  }

  test('slow: the transfer takes ten times as long as a restart', async () => {
    const { prepareMs, report } = await updateWith('slow', { index: 1 })
    assert.ok(prepareMs >= 10 * restartMs * 0.95, `${prepareMs} ms`)
    assert.deepEqual(report, { firmware: '99.9', activations: 1 })
  })

  test('fails-at-60: the transfer fails and nothing can be activated', async () => {
    const { old, prepared, activated, report } = await updateWith('fails-at-60', { index: 1 })
    const last = prepared.statuses.at(-1)
    assert.deepEqual([last?.state, last?.progress], ['AOS_ERROR_FAIL', 60])
    assert.equal(activated.code, Code.FAILED_PRECONDITION)
    assert.deepEqual(report, old)
  })

  test('reboots: the activation fails, but the device runs the new version', async () => {
    const { activated, report } = await updateWith('reboots', { index: 1 })
    assert.equal(activated.code, Code.UNAVAILABLE)
    assert.deepEqual(report, { firmware: '99.9', activations: 1 })
  })

  test('wrong-version: the activation succeeds, but the device runs the old version', async () => {
    const { old, activated, report } = await updateWith('wrong-version', { index: 1 })
    assert.equal(activated.code, 0)
    assert.deepEqual(report, { ...old, activations: 1 })
  })

  test('no-answer: the activation never ends, and some devices run the new version', async () => {
    const indexes = Array.from({ length: 20 }, (_, index) => index)
    const withNew = indexes.find((index) => isActivatedWithoutAnswer({ seed: 1, index }))
    const withOld = indexes.find((index) => !isActivatedWithoutAnswer({ seed: 1, index }))
    assert.ok(withNew !== undefined && withOld !== undefined)
    const activated = await updateWith('no-answer', { index: withNew, answerMs: 1_000 })
    assert.equal(activated.activated.code, Code.CANCELLED)
    assert.deepEqual(activated.report, { firmware: '99.9', activations: 1 })
    const unchanged = await updateWith('no-answer', { index: withOld, answerMs: 1_000 })
    assert.equal(unchanged.activated.code, Code.CANCELLED)
    assert.deepEqual(unchanged.report, unchanged.old)
  })
})

test('the state of devices and the options of the plant survive a kill of the link', onlyInLongRuns, async () => {
  const home = mkdtempSync(join(folder, 'killed-'))
  const device = { seed: 3, device: 4 }
  const job = { jobId: 'job', device }
  const content = chunks(firmwareFor({ seed: 3, index: 4, version: '99.9' }))
  const slow = { size: 10, seed: 3, update_restart_ms: 2_000 }
  {
    await using plant = await spawnPlant(home)
    await plant.scan(slow)
    assert.equal((await plant.updates.prepare({ ...job, content })).code, 0)
  }
  {
    await using plant = await spawnPlant(home)
    const killed = Promise.withResolvers<void>()
    const onStatus = ({ progress }: { progress: number }) => progress === 50 && killed.resolve()
    const activating = plant.updates.activate({ ...job, onStatus: (one) => void onStatus(one) })
    await killed.promise
    await plant[Symbol.asyncDispose]()
    assert.notEqual((await activating).code, 0)
  }
  await using plant = await spawnPlant(home)
  assert.deepEqual(await plant.reportAfterRestart(device), { firmware: '99.9', activations: 1 })
  assert.equal((await plant.updates.activate(job)).code, Code.FAILED_PRECONDITION)
})
