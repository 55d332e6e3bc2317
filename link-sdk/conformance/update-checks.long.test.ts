import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'
import { artefactTransferVendor, interfaceName, linkServices, wireService } from '@millwright/api/link-protocol.ts'
import {
  type ArtefactChunk,
  type ArtefactChunkSchema,
  type ArtefactMessageSchema,
  type ArtefactMetaData,
  ArtefactOperationPhase,
  ArtefactOperationState,
  type ArtefactOperationStatusSchema,
} from '@millwright/api/proto/generated/artefact-update_pb.js'
import type { DiscoverRequest, DiscoverResponseSchema } from '@millwright/api/proto/generated/discover_pb.js'
import { identifiersOf } from '../device-identifiers.ts'
import { checkLink } from './suite.ts'

/** How a link of these tests differs from a correct link. */
type Deviation = {
  acceptsWithoutMetadata?: boolean
  acceptsWithoutDevice?: boolean
  cancelsWithoutDevice?: boolean
  readsWithoutDevice?: boolean
  readsNothing?: boolean
  metadata?: string
  failsTransfer?: boolean
  requests?: number
  transferPhase?: ArtefactOperationPhase
  progress?: readonly number[]
  activatesOtherJobs?: boolean
  activatesCanceledJobs?: boolean
  acceptsEmpty?: boolean
  continuesAfterError?: boolean
  runsUpdatesOfDeviceTogether?: boolean
  blocksOtherDevices?: boolean
  staysBusy?: boolean
  forgetsAtRestart?: boolean
  activationPhase?: ArtefactOperationPhase
  losesDevice?: boolean
  activatesTwice?: boolean
}

type Transfer = ServerDuplexStream<ArtefactChunk, MessageInitShape<typeof ArtefactMessageSchema>>
type Cancellation = ServerWritableStream<ArtefactMetaData, MessageInitShape<typeof ArtefactOperationStatusSchema>>
type Reading = ServerWritableStream<ArtefactMetaData, MessageInitShape<typeof ArtefactChunkSchema>>
type Discovery = ServerWritableStream<DiscoverRequest, MessageInitShape<typeof DiscoverResponseSchema>>
type Status = { phase: ArtefactOperationPhase; state?: ArtefactOperationState; progress?: number }

const { AOP_DOWNLOAD, AOP_INSTALLATION, AOP_ACTIVATION, AOP_CANCELLATION, AOP_UPLOAD } = ArtefactOperationPhase
const failed = ArtefactOperationState.AOS_ERROR_FAIL

/**
 * `DeviatingLink` is a link without the SDK. It has two devices. It is correct, except for its deviation. It serves the
 * interfaces `artefactUpdate` and `artefactTransfer`, or only the second one.
 */
class DeviatingLink implements AsyncDisposable {
  readonly #deviation: Deviation
  readonly #isTransferOnly: boolean
  #server = new Server()
  #port = 0
  #prepared = new Map<string, string>()
  #activated = new Set<string>()
  #busy = new Set<string>()

  constructor(deviation: Deviation, { isTransferOnly = false } = {}) {
    this.#deviation = deviation
    this.#isTransferOnly = isTransferOnly
  }

  get endpoint(): string {
    return `127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    const { driverInfo, discover, artefactUpdate, artefactTransfer } = linkServices
    const steps = {
      prepareUpdate: (stream: Transfer) => void this.#step(stream, (one) => this.#prepare(stream, one)),
      activateUpdate: (stream: Transfer) => void this.#step(stream, (one) => this.#activate(stream, one)),
      cancelUpdate: (stream: Cancellation) => this.#cancel(stream),
    }
    this.#server = new Server()
    const unimplemented = (_call: unknown, done: sendUnaryData<never>) => done({ code: status.UNIMPLEMENTED })
    this.#server.addService(wireService(driverInfo), {
      getVersionInfo: (_call: unknown, done: sendUnaryData<unknown>) =>
        done(null, { version: { vendorName: 'Test', productName: 'Deviating' } }),
      getConfigSchema: unimplemented,
      getAppIcon: unimplemented,
    })
    this.#server.addService(wireService(discover), {
      getFilterTypes: unimplemented,
      getFilterOptions: unimplemented,
      discoverDevices: (stream: Discovery) => this.#discover(stream),
    })
    if (!this.#isTransferOnly) this.#server.addService(wireService(artefactUpdate), steps)
    this.#server.addService(wireService(artefactTransfer, interfaceName(artefactTransfer, artefactTransferVendor)), {
      ...steps,
      pushArtefact: fail,
      pullArtefact: (stream: Reading) => this.#read(stream),
    })
    this.#port = await new Promise((resolve, reject) => {
      this.#server.bindAsync(this.endpoint, ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      )
    })
  }

  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]()
    if (this.#deviation.forgetsAtRestart) this.#prepared.clear()
    await this.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown()
  }

  #discover(stream: Discovery): void {
    const isLost = this.#deviation.losesDevice === true && this.#activated.size > 0
    const devices = [1, 2].map((number) => ({
      identifiers: identifiersOf({
        name: `Device ${number}`,
        asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: `02:00:5E:00:00:0${number}` }],
        metadata: this.#deviation.metadata ?? Buffer.from(`device ${number}${isLost ? ' new' : ''}`).toString('base64'),
      }),
    }))
    stream.write({ devices })
    stream.end()
  }

  async #step(stream: Transfer, work: (metadata: ArtefactMetaData) => Promise<void>): Promise<void> {
    const chunks: AsyncIterator<ArtefactChunk> = stream[Symbol.asyncIterator]()
    const { value: first } = await chunks.next()
    if (first?.data.case !== 'metadata') {
      if (this.#deviation.acceptsWithoutMetadata && first !== undefined) stream.end()
      else fail(stream, status.INVALID_ARGUMENT)
      return
    }
    const metadata = first.data.value
    if (!isComplete(metadata)) {
      if (this.#deviation.acceptsWithoutDevice) stream.end()
      else fail(stream, status.INVALID_ARGUMENT)
      return
    }
    await work(metadata).catch(() => fail(stream, status.CANCELLED))
  }

  async #prepare(stream: Transfer, metadata: ArtefactMetaData): Promise<void> {
    const { requests = 1, progress = [50, 100], transferPhase = AOP_DOWNLOAD, ...rest } = this.#deviation
    const device = deviceOf(metadata)
    if (this.#busy.has(device) && !rest.runsUpdatesOfDeviceTogether) return fail(stream, status.RESOURCE_EXHAUSTED)
    if (rest.blocksOtherDevices && this.#busy.size > 0 && !this.#busy.has(device)) return
    this.#busy.add(device)
    for (let count = 0; count < requests; count += 1) stream.write({ message: { case: 'request', value: {} } })
    let bytes = 0
    if (requests > 0) {
      for await (const { data } of stream as AsyncIterable<ArtefactChunk>) {
        bytes += data.case === 'fileContent' ? data.value.length : 0
      }
    }
    if (bytes > 0 || !rest.staysBusy) this.#busy.delete(device)
    if (rest.failsTransfer || (bytes === 0 && requests > 0 && !rest.acceptsEmpty)) {
      send(stream, { phase: AOP_INSTALLATION, state: failed })
      if (rest.continuesAfterError) send(stream, { phase: AOP_INSTALLATION, progress: 100 })
    } else {
      for (const percent of progress) send(stream, { phase: transferPhase, progress: percent })
      this.#prepared.set(device, jobOf(metadata))
    }
    stream.end()
  }

  async #activate(stream: Transfer, metadata: ArtefactMetaData): Promise<void> {
    const { activatesOtherJobs, activatesTwice, activationPhase = AOP_ACTIVATION } = this.#deviation
    const device = deviceOf(metadata)
    const prepared = this.#prepared.get(device)
    const isOwn = prepared === jobOf(metadata) || (activatesOtherJobs === true && prepared !== undefined)
    if (!isOwn && !(activatesTwice && this.#activated.has(jobOf(metadata)))) {
      return fail(stream, status.FAILED_PRECONDITION)
    }
    if (!activatesOtherJobs || isOwn) this.#prepared.delete(device)
    this.#activated.add(jobOf(metadata))
    send(stream, { phase: activationPhase, progress: 100 })
    stream.end()
  }

  #cancel(stream: Cancellation): void {
    const metadata = stream.request
    if (!isComplete(metadata) && !this.#deviation.cancelsWithoutDevice) {
      fail(stream, status.INVALID_ARGUMENT)
      return
    }
    const isOwn = this.#prepared.get(deviceOf(metadata)) === jobOf(metadata)
    if (isOwn && !this.#deviation.activatesCanceledJobs) this.#prepared.delete(deviceOf(metadata))
    stream.write({ phase: AOP_CANCELLATION, progress: 100 })
    stream.end()
  }

  #read(stream: Reading): void {
    if (!isComplete(stream.request) && !this.#deviation.readsWithoutDevice) {
      fail(stream, status.INVALID_ARGUMENT)
      return
    }
    stream.write({ data: { case: 'status', value: { phase: AOP_UPLOAD } } })
    if (!this.#deviation.readsNothing) stream.write({ data: { case: 'fileContent', value: Buffer.from('log') } })
    stream.end()
  }
}

function fail(stream: { emit(event: string, error: object): boolean }, code: number = status.UNIMPLEMENTED): void {
  stream.emit('error', { code, details: 'refused' })
}

function send(stream: Transfer, value: Status): void {
  stream.write({ message: { case: 'status', value } })
}

function isComplete({ jobIdentifier, deviceIdentifier }: ArtefactMetaData): boolean {
  return jobIdentifier !== undefined && deviceIdentifier !== undefined
}

function jobOf({ jobIdentifier }: ArtefactMetaData): string {
  return jobIdentifier?.jobId ?? ''
}

function deviceOf({ deviceIdentifier }: ArtefactMetaData): string {
  return Buffer.from(deviceIdentifier?.blob ?? []).toString()
}

async function resultsOf(deviation: Deviation, options: { isTransferOnly?: boolean } = {}) {
  await using link = new DeviatingLink(deviation, options)
  await link.start()
  return await Array.fromAsync(
    checkLink({
      endpoint: link.endpoint,
      vendor: 'millwright',
      withinMs: 2_000,
      update: { kind: 'firmware', content: Buffer.alloc(200_000, 1) },
      restart: () => link.restart(),
    }),
  )
}

const deviations: readonly [sentence: string, deviation: Deviation][] = [
  ['The link rejects an update without metadata of the device', { acceptsWithoutMetadata: true }],
  ['The link rejects an update without a job or a device identifier', { acceptsWithoutDevice: true }],
  ['The link rejects a cancellation of an update without a job or a device identifier', { cancelsWithoutDevice: true }],
  ['Every device has metadata or an address that names it in an update', { metadata: 'not base64!' }],
  ['The link rejects a read without a job or a device identifier', { readsWithoutDevice: true }],
  ['The link reads a log file from a device, or reports that it is not supported', { readsNothing: true }],
  ['The link transfers an artefact to a device', { failsTransfer: true }],
  ['The link requests the content of an artefact exactly once', { requests: 2 }],
  ['Every status of a transfer has a phase of the transfer', { transferPhase: AOP_ACTIVATION }],
  ['The progress of a transfer is a percentage that does not decrease within a phase', { progress: [60, 40, 100] }],
  ['The progress of a transfer is a percentage that does not decrease within a phase', { progress: [50, 101] }],
  ['The link does not activate an update of another job', { activatesOtherJobs: true }],
  ['The link cancels a prepared update', { activatesCanceledJobs: true }],
  ['The link rejects an empty artefact, and the transfer ends with the error', { acceptsEmpty: true }],
  ['The link rejects an empty artefact, and the transfer ends with the error', { continuesAfterError: true }],
  ['The link runs one update of a device at a time', { runsUpdatesOfDeviceTogether: true }],
  ['The link updates another device at the same time, or reports that it is busy', { blocksOtherDevices: true }],
  ['The link can repeat a transfer that the caller canceled', { staysBusy: true }],
  ['A prepared update can be activated after a restart of the link', { forgetsAtRestart: true }],
  ['The link activates a prepared update', { activationPhase: AOP_DOWNLOAD }],
  ['A discovery finds the device after the activation', { losesDevice: true }],
  ['The link does not activate an update twice', { activatesTwice: true }],
]

const sentences = new Set(deviations.map(([sentence]) => sentence))

for (const isTransferOnly of [false, true]) {
  const names = isTransferOnly ? 'only the interface with the prefix factory_x' : 'both update interfaces'
  test(`checkLink passes all update checks for a correct link with ${names}`, async () => {
    const results = (await resultsOf({}, { isTransferOnly })).filter(({ sentence }) => sentences.has(sentence))
    assert.equal(results.length, sentences.size)
    assert.deepEqual(
      results.filter(({ outcome }) => outcome !== 'pass'),
      [],
    )
  })
}

for (const [sentence, deviation] of deviations) {
  test(`checkLink fails with a hint for a link with ${JSON.stringify(deviation)}`, async () => {
    const result = (await resultsOf(deviation)).find((one) => one.sentence === sentence)
    assert.equal(result?.outcome, 'fail', `${sentence}: ${result?.outcome}`)
    assert.ok((result.detail ?? '') !== '' && (result.hint ?? '') !== '')
  })
}

test('checkLink changes no device without an artefact', async () => {
  await using link = new DeviatingLink({ metadata: Buffer.from('device').toString('base64') })
  await link.start()
  const results = await Array.fromAsync(checkLink({ endpoint: link.endpoint, vendor: 'millwright', withinMs: 5_000 }))
  const skipped = results.filter(({ detail }) => detail === 'No artefact was passed, so no device is changed.')
  assert.equal(skipped.length, 14)
})
