import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { status } from '@grpc/grpc-js'
import { builtInWorkflows } from '@millwright/cloud/services/workflows/built-in.ts'
import { type RunningGateway, startGateway } from '../gateway.ts'
import type { GatewaySettings } from '../settings.ts'
import {
  askRegistry,
  field,
  list,
  settingsFor,
  TestCloud,
  TestLink,
  temporaryFolder,
  until,
  versionInfo,
} from '../testing.ts'
import type { UpdateTiming } from './device-update.ts'

/**
 * This file contains the test support for updates: the update jobs of a test cloud, and a link with devices that does not use
 * the generated protocol code.
 */

// biome-ignore lint/suspicious/noExplicitAny: calls of a library without types, and bodies that were checked already
type Any = any

export const fastTiming: UpdateTiming = {
  ...{ retryMs: 20, verifyMs: 20, rejectedMs: 100, settledMs: 50 },
  longestCallMs: 60_000,
}

export const sha256Of = (content: Buffer) => createHash('sha256').update(content).digest('hex')

/** Creates a key of minisign. `sign` returns the text of a signature file. */
export function minisignKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const id = randomBytes(8)
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return {
    publicKey: Buffer.concat([Buffer.from('Ed'), id, raw]).toString('base64'),
    sign(content: Buffer): string {
      const digest = createHash('blake2b512').update(content).digest()
      const signature = sign(null, digest, privateKey)
      const comment = 'timestamp:1700000000'
      const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), privateKey)
      const line = Buffer.concat([Buffer.from('ED'), id, signature]).toString('base64')
      return `untrusted comment: test\n${line}\ntrusted comment: ${comment}\n${global.toString('base64')}\n`
    },
  }
}

type Artefact = { content: Buffer; version: string; signature?: string; kind?: string; sha256?: string }

type UpdateJob = {
  id: string
  workflow: string
  definition: Record<string, unknown>
  state: string
  /** The time at which the gateway used its lease for the last time. */
  seenAtMs: number
  /** The accepted states, in order. */
  states: string[]
  end?: Any
  content: Buffer
}

/** The duration of a lease. It is longer than the pause between two requests of the gateway on a busy machine. */
const leaseMs = 2_000

const workflow = builtInWorkflows.get('artefact-update')

/**
 * `TestUpdates` adds the jobs of updates and retrievals to a test cloud. It accepts only the transitions of the workflow, and
 * keeps the state of a job when its gateway is killed.
 */
export class TestUpdates implements Disposable {
  readonly #cloud: TestCloud
  readonly #timer = setInterval(() => this.#expire(), 100).unref()
  readonly jobs = new Map<string, UpdateJob>()
  /** The received requests for content, with their range. */
  readonly downloads: { jobId: string; range: string | undefined }[] = []
  readonly uploads = new Map<string, { bytes: Buffer; size?: number }>()
  /** Whether prepared devices are activated at once. */
  isActivating = true
  /** Is called before a state is accepted. The returned promise delays the response; an error closes the connection. */
  beforeAdvance: (job: UpdateJob, state: string) => unknown = () => undefined
  /** Is called after a state was accepted, before the response. */
  afterAdvance: (job: UpdateJob, state: string) => unknown = () => undefined
  /** Sends content. Tests replace it to interrupt or to change it. */
  sendContent: (response: ServerResponse, bytes: Buffer) => unknown = (response, bytes) => response.end(bytes)
  /** Is called before a part of an upload is stored. */
  beforeUpload: (bytes: Buffer) => unknown = () => undefined

  constructor(cloud: TestCloud) {
    this.#cloud = cloud
    cloud.answering = (call) => {
      const job = this.jobs.get(call.body?.data?.jobId)
      if (job !== undefined) job.seenAtMs = performance.now()
      return call.operation === 'advanceJob' ? this.#advance(call) : undefined
    }
    cloud.handling = (request, response, url) => this.#handle(request, response, url)
  }

  /** Offers an update job and returns its id. */
  offer(definition: Record<string, unknown>, { content, version, kind = 'firmware', ...more }: Artefact): string {
    const artefact = {
      ...{ id: crypto.randomUUID(), kind, name: 'Pump firmware', version, products: ['P-1'], manufacturer: 'Acme' },
      ...{ sha256: more.sha256 ?? sha256Of(content), size: content.length },
      ...(more.signature === undefined ? {} : { signature: more.signature }),
    }
    const about = { campaignId: crypto.randomUUID(), deviceId: crypto.randomUUID(), assetId: crypto.randomUUID() }
    const trust = { trustAnchors: [], allowsUnsigned: true, verifyMinutes: 0.05 }
    return this.#add('artefact-update', { ...about, ...trust, artefact, ...definition }, content)
  }

  offerRetrieval(definition: Record<string, unknown>): string {
    return this.#add('artefact-retrieval', { assetId: crypto.randomUUID(), ...definition }, Buffer.alloc(0))
  }

  #add(name: string, definition: Record<string, unknown>, content: Buffer): string {
    const id = crypto.randomUUID()
    const state = name === 'artefact-update' ? 'CREATED' : 'RUNNING'
    this.jobs.set(id, { id, workflow: name, definition, state, seenAtMs: 0, states: [], content })
    this.reoffer(id)
    return id
  }

  /** Offers a job again in its current state, as after the end of its lease. */
  reoffer(id: string): void {
    const job = this.#jobOf(id)
    this.#cloud.leases.delete(id)
    job.seenAtMs = performance.now()
    const { workflow: name, definition, state } = job
    this.#cloud.jobs.push({ id, workflow: name, definition, state })
    this.#cloud.wake()
  }

  /** Offers the jobs again whose gateway does not renew the lease, for example because it was killed. */
  #expire(): void {
    for (const { id, seenAtMs } of this.jobs.values())
      if (this.#cloud.leases.has(id) && performance.now() - seenAtMs > leaseMs) this.reoffer(id)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  activate(id: string): void {
    this.#jobOf(id).state = 'ACTIVATE'
    this.reoffer(id)
  }

  /** Requests the cancellation of a job. */
  cancel(id: string): void {
    const job = this.#jobOf(id)
    const isLeased = this.#cloud.leases.has(id)
    job.state = 'CANCELING'
    this.#cloud.canceled.add(id)
    if (!isLeased) this.reoffer(id)
  }

  async endOf(id: string): Promise<Any> {
    return until(() => this.#jobOf(id).end ?? this.#cloud.endOf(id))
  }

  statesOf(id: string): string[] {
    return this.#jobOf(id).states
  }

  #jobOf(id: string): UpdateJob {
    const job = this.jobs.get(id)
    if (job === undefined) throw new Error(`There is no job ${id}`)
    return job
  }

  async #advance({ params, body: { data } }: { params: Record<string, string>; body: Any }) {
    const job = this.#jobOf(data.jobId)
    if (this.#cloud.leases.get(job.id) !== params.id)
      return { status: 409, body: { code: 'lease_lost', detail: 'lost' } }
    await this.beforeAdvance(job, data.state)
    const isAllowed = workflow?.transitions.some(
      ({ from, to, eligible }) => from === job.state && to === data.state && eligible === 'CLIENT',
    )
    if (!isAllowed && job.state !== data.state) {
      if (job.state === 'CANCELING') return { status: 200, body: { data: { state: job.state } } }
      return { status: 409, body: { code: 'invalid_transition', detail: `${job.state} > ${data.state}` } }
    }
    if (isAllowed) job.states.push(data.state)
    job.state = data.state
    const isFinal = ['ACTIVATED', 'FAILED', 'CANCELED', 'UNKNOWN'].includes(data.state)
    if (isFinal) job.end ??= data
    if (isFinal || data.state === 'PREPARED') this.#cloud.leases.delete(job.id)
    try {
      await this.afterAdvance(job, data.state)
    } finally {
      if (data.state === 'PREPARED' && this.isActivating) this.activate(job.id)
    }
    return { status: 200, body: { data: { state: data.state } } }
  }

  async #handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean> {
    const [, id] = /^\/updates\/v1\/jobs\/([^/]+)\/content$/.exec(url.pathname) ?? []
    if (id === undefined) return false
    const lease = url.searchParams.get('lease')
    if (this.#cloud.leases.get(id) !== lease) {
      response.writeHead(409, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ code: 'lease_lost', detail: 'lost' }))
      return true
    }
    this.#jobOf(id).seenAtMs = performance.now()
    if (request.method === 'GET') await this.#download(id, request, response)
    else await this.#upload(id, request, response)
    return true
  }

  async #download(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { content } = this.#jobOf(id)
    const { range } = request.headers
    this.downloads.push({ jobId: id, range })
    const first = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
    const bytes = content.subarray(first)
    const part =
      range === undefined ? {} : { 'content-range': `bytes ${first}-${content.length - 1}/${content.length}` }
    response.writeHead(range === undefined ? 200 : 206, {
      ...{ 'content-type': 'application/octet-stream', 'content-length': bytes.length, ...part },
    })
    await this.sendContent(response, bytes)
  }

  async #upload(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const upload = this.uploads.get(id) ?? { bytes: Buffer.alloc(0) }
    this.uploads.set(id, upload)
    if (request.method === 'PUT') {
      const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(request.headers['content-range'] ?? '') ?? []
      const bytes = Buffer.concat(await request.toArray())
      await this.beforeUpload(bytes)
      if (Number(first) !== upload.bytes.length || Number(last) - Number(first) + 1 !== bytes.length) {
        response.writeHead(409, { 'content-type': 'application/problem+json' })
        response.end(JSON.stringify({ code: 'offset_mismatch', detail: 'offset' }))
        return
      }
      upload.bytes = Buffer.concat([upload.bytes, bytes])
      if (size !== '*') upload.size = Number(size)
    }
    response.writeHead(204, { 'upload-offset': upload.bytes.length }).end()
  }
}

/** Sends a part of the content, and then closes the connection. */
export async function interrupt(response: ServerResponse, bytes: Buffer, sentBytes: number): Promise<void> {
  response.write(bytes.subarray(0, sentBytes))
  await until(() => response.writableLength === 0)
  response.socket?.destroy()
  await once(response, 'close')
}

export type TestDevice = {
  number: number
  version: string
  metadata?: string
  activations: number
  prepared?: Buffer
  canceled: number
  isSilent?: boolean
}

/** Creates the devices of a test link. */
export function testDevices(count: number): TestDevice[] {
  return Array.from({ length: count }, (_, number) => ({
    ...{ number, version: '1.0', activations: 0, canceled: 0 },
    metadata: Buffer.from(`device ${number}`).toString('base64'),
  }))
}

const macOf = ({ number }: TestDevice) => `02:00:00:00:02:${number.toString(16).padStart(2, '0')}`
const addressOf = ({ number }: TestDevice) => `10.0.0.${number + 1}`

/** Returns the fields of an update job that name a device. */
export const deviceFields = (device: TestDevice) => ({
  assetIdentifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: macOf(device) }],
  addresses: [addressOf(device)],
  fromVersion: device.version,
})

const identifiersOf = (device: TestDevice) => [
  field('@type', 'Device'),
  field('name', `Pump ${device.number}`),
  ...(device.metadata === undefined ? [] : [field('metadata', device.metadata)]),
  list('mac_identifiers', field('mac_identifiers/mac_address', macOf(device))),
  list(
    'connection_points',
    field('connection_points/connection_point_type', 'Ipv4Connectivity'),
    field('connection_points/id', 'ip'),
    field('connection_points/ipv4_address', addressOf(device)),
  ),
  list(
    'software_components',
    field('software_components/software_component_type', 'SoftwareArtifactComponent'),
    field('software_components/artifact/is_firmware', 'true'),
    field('software_components/artifact/name', 'Firmware'),
    list(
      'software_components/artifact/asset_identifiers',
      field('software_components/artifact/asset_identifiers/asset_identifier_type', 'SoftwareIdentifier'),
      field('software_components/artifact/asset_identifiers/name', 'Firmware'),
      field('software_components/artifact/asset_identifiers/version', device.version),
    ),
  ),
]

/** Hooks into the calls of a test link. A hook that throws a status ends the call with it. */
export type LinkHooks = {
  onPrepare?: (device: TestDevice, call: Any) => unknown
  /** Is called for each chunk. A hook can remove chunks from the list, so that they are not stored. */
  onContent?: (device: TestDevice, receivedBytes: number, chunks: Buffer[], call: Any) => unknown
  onActivate?: (device: TestDevice, call: Any) => unknown
  onActivated?: (device: TestDevice, call: Any) => unknown
  onRead?: (device: TestDevice) => unknown
  onCancel?: (device: TestDevice) => unknown
  /** The version that a device has after the activation. The default is the version in the first line of the content. */
  versionAfter?: (device: TestDevice, version: string) => string
}

/** Returns content whose first line is the version, as the devices of a test link read it. */
export function firmware(version: string, bytes = 100_000): Buffer {
  return Buffer.concat([Buffer.from(`${version}\n`), randomBytes(bytes)])
}

const statusOf = (error: Any) => ({ code: error?.code ?? status.INTERNAL, details: String(error?.details ?? error) })

/** The handlers of an artefact update interface, in the form of a link of the public SDK. */
export function artefactUpdateHandlers(devices: readonly TestDevice[], hooks: LinkHooks) {
  const deviceOf = (metadata: Any) => {
    const text = Buffer.from(String(metadata.device_identifier.blob), 'base64').toString()
    // A gateway that was killed shortly after a scan has no metadata, and sends the identifiers of the device.
    const found = devices.find((one) => text === `device ${one.number}` || text.includes(macOf(one)))
    if (found === undefined) throw { code: status.NOT_FOUND, details: `There is no device ${text}` }
    return found
  }
  const handled = (work: (call: Any, messages: AsyncIterator<Any>) => Promise<void>) => (call: Any) => {
    work(call, call[Symbol.asyncIterator]()).then(
      () => call.end(),
      (error) => call.emit('error', statusOf(error)),
    )
  }
  return {
    PrepareUpdate: handled(async (call, messages) => {
      const { value: first } = await messages.next()
      if (first?.metadata === undefined) throw { code: status.INVALID_ARGUMENT, details: 'no metadata' }
      const device = deviceOf(first.metadata)
      call.metadataMessage = first.metadata
      await hooks.onPrepare?.(device, call)
      call.write({ status: { phase: 'AOP_PREPARE', state: 'AOS_OK', progress: 0 } })
      call.write({ request: { type: 'AORT_ARTEFACT_TRANSMISSION' } })
      const chunks: Buffer[] = []
      let bytes = 0
      for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
        chunks.push(next.value.file_content)
        bytes += next.value.file_content.length
        await hooks.onContent?.(device, bytes, chunks, call)
      }
      device.prepared = Buffer.concat(chunks)
      call.write({ status: { phase: 'AOP_DOWNLOAD', state: 'AOS_OK', progress: 100 } })
    }),
    ActivateUpdate: handled(async (call, messages) => {
      const { value: first } = await messages.next()
      const device = deviceOf(first.metadata)
      call.metadataMessage = first.metadata
      await hooks.onActivate?.(device, call)
      if (device.prepared === undefined) throw { code: status.FAILED_PRECONDITION, details: 'nothing is prepared' }
      activateDevice(device, hooks)
      await hooks.onActivated?.(device, call)
      call.write({ status: { phase: 'AOP_ACTIVATION', state: 'AOS_OK', progress: 100 } })
    }),
    CancelUpdate: (call: Any) => {
      Promise.resolve()
        .then(async () => {
          const device = deviceOf(call.request)
          await hooks.onCancel?.(device)
          device.canceled += 1
          delete device.prepared
          call.write({ phase: 'AOP_CANCELLATION', state: 'AOS_OK', progress: 100 })
          call.end()
        })
        .catch((error) => call.emit('error', statusOf(error)))
    },
  }
}

export function activateDevice(device: TestDevice, { versionAfter = (_, version) => version }: LinkHooks): void {
  const [line = ''] = device.prepared?.subarray(0, 100).toString('latin1').split('\n') ?? []
  device.activations += 1
  device.version = versionAfter(device, line)
}

/** The discovery of a link of the public SDK, which scans all devices for each request. */
export const discoveryHandlers = (devices: readonly TestDevice[], hooks: LinkHooks) => ({
  'industrialassethub.discover.v1': {
    GetFilterTypes: (_: Any, answer: Any) => answer({ code: status.UNKNOWN, details: 'no supported filters' }),
    GetFilterOptions: (_: Any, answer: Any) => answer({ code: status.UNKNOWN, details: 'no supported options' }),
    DiscoverDevices: (call: Any) => {
      const scan = async () => {
        for (const device of devices) {
          await hooks.onRead?.(device)
          if (device.isSilent !== true) call.write({ devices: [{ identifiers: identifiersOf(device) }] })
        }
        call.end()
      }
      scan().catch((error) => call.emit('error', statusOf(error)))
    },
  },
})

/** Starts a link with the current update interface. */
export function startUpdateLink(devices: readonly TestDevice[], hooks: LinkHooks = {}, port = 0): Promise<TestLink> {
  const handlers = {
    ...versionInfo,
    ...discoveryHandlers(devices, hooks),
    'industrialassethub.artefact_update.v1': artefactUpdateHandlers(devices, hooks),
  }
  return TestLink.start(handlers, 'siemens', port)
}

export const linkId = 'cdm-device-class-driver-pumps'

const currentInterfaces = ['siemens.industrialassethub.discover.v1', 'siemens.industrialassethub.artefact_update.v1']

export type TestPlant = {
  cloud: TestCloud
  updates: TestUpdates
  /** The running gateway. A test that kills it sets the new one. */
  gateway: RunningGateway
  home: string
  devices: [TestDevice, ...TestDevice[]]
  /** The hooks of the link. A test can change them. */
  hooks: LinkHooks
  link: TestLink
}

type PlantOptions = {
  devices?: number
  hooks?: LinkHooks
  settings?: TestSettings
  /** Starts another link. */
  start?: (devices: TestDevice[]) => Promise<TestLink>
  interfaces?: string[]
}

/** Starts a cloud, a gateway and a link, and scans the devices of the link. */
export async function startPlant(t: TestContext, options: PlantOptions = {}): Promise<TestPlant> {
  const { devices: count = 1, hooks = {}, settings = {}, interfaces = currentInterfaces } = options
  const devices = testDevices(count) as TestPlant['devices']
  const cloud = await TestCloud.start()
  const updates = new TestUpdates(cloud)
  const home = temporaryFolder()
  cloud.configure(home)
  const gateway = await startUpdateGateway(home, settings)
  const link = await (options.start?.(devices) ?? startUpdateLink(devices, hooks))
  const plant: TestPlant = { cloud, updates, gateway, home, devices, hooks, link }
  t.after(async () => {
    updates[Symbol.dispose]()
    await plant.gateway.stop()
    plant.link.stop()
    await cloud.stop()
  })
  await register(plant, interfaces)
  const scan = cloud.offer('discovery', { assetLinkId: linkId })
  await until(() => cloud.endOf(scan))
  return plant
}

type TestSettings = Partial<GatewaySettings> & { renewEveryMs?: number; longestCallMs?: number }

export function startUpdateGateway(home: string, { renewEveryMs = 50, longestCallMs, ...settings }: TestSettings = {}) {
  const updateTiming = longestCallMs === undefined ? fastTiming : { ...fastTiming, longestCallMs }
  return startGateway(settingsFor(home, settings), { renewEveryMs, updateTiming })
}

/** Registers the link with the gateway. */
export async function register(
  { gateway, link }: Pick<TestPlant, 'gateway' | 'link'>,
  interfaces: readonly string[] = currentInterfaces,
): Promise<void> {
  const info = { app_instance_id: linkId, ipv4_address: '127.0.0.1', grpc_ip_port_number: link.port, interfaces }
  await askRegistry(gateway.registryPort, 'siemens')('RegisterService', { info })
}

/** Returns the definition of a job for a device of the test link. */
export const jobFor = (device: TestDevice) => ({ assetLinkId: linkId, ...deviceFields(device) })
