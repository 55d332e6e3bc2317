import { status } from '@grpc/grpc-js'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { linkServices, progressMetadataKey } from '@millwright/api/link-protocol.ts'
import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import type { DeviceDestination } from '../device-info/device-info.ts'
import { isBusy, isServiceError, LinkClient, offers } from '../link-client.ts'
import { assetOfDevice, assetOfDocument, type MappingResult } from '../mapping/asset.ts'
import { documentOf } from '../mapping/document.ts'
import { type DeviceReadings, readDiscovered } from '../mapping/reading.ts'
import type { Registration } from '../registry/registration.ts'
import { silenceVariable } from '../settings.ts'
import { errorOfLink, type ReportedError } from './device-error.ts'
import type { ScanRequest } from './scan-request.ts'

/**
 * `ScanMessage` is the content of one message from a link. `progress` is a percentage and is set only if the link
 * reports it.
 */
export type ScanMessage = { devices: ReportedDevice[]; errors: ReportedError[]; progress?: number }

export type ReportedDevice = { mapped: MappingResult; connection?: ConnectionParameterSet }

/**
 * How long the start of a scan is retried: `busy` while the link runs another scan, `away` while the link is not
 * reachable because it is starting.
 */
const patienceMs = { busy: 15 * 60_000, away: 10_000 } as const

export type ScanOptions = {
  registration: Registration
  /** Returns the current registration of the link. */
  lookUp?: () => Registration | undefined
  scanRequest: ScanRequest
  /** The id of the scan for permits. */
  scanId?: string | undefined
  /** The devices to scan. Without targets, the link scans all devices. */
  targets?: DeviceDestination[]
  /** The maximum time between two messages of the link. */
  silenceMs: number
  signal: AbortSignal
  /** Receives the reason why the link cannot start the scan yet. */
  onWaiting?: (why: string) => void
}

/** `SilentLinkError` means that the link sent nothing for longer than the time limit of the gateway. */
export class SilentLinkError extends Error {
  constructor({ appInstanceId }: Registration, silenceMs: number) {
    super(`Asset link ${appInstanceId} sent nothing for ${silenceMs / 1_000} seconds (${silenceVariable})`)
  }
}

/**
 * Runs a scan on a link through the link's discovery interface. Ends early, without an error, when the signal is
 * aborted. Throws a `SilentLinkError` when the link sends nothing for `silenceMs`.
 */
export async function* scan(options: ScanOptions): AsyncGenerator<ScanMessage> {
  const { signal, silenceMs, onWaiting } = options
  const backOff = new BackOff({ firstMs: 500, longestMs: 15_000 })
  const beganAtMs = performance.now()
  for (;;) {
    let hasBegun = false
    // The current registration is used, because a link may have another address after a restart.
    const registration = options.lookUp?.() ?? options.registration
    using link = new LinkClient(registration, { purpose: 'scan', scanId: options.scanId })
    const silence = new AbortController()
    const call = { ...options, registration, signal: AbortSignal.any([signal, silence.signal]) }
    try {
      for await (const message of limitSilence(discover(link, call), { silenceMs, silence })) {
        hasBegun = true
        yield message
      }
      return
    } catch (error) {
      if (signal.aborted) return
      if (silence.signal.aborted) throw new SilentLinkError(registration, silenceMs)
      const patience = hasBegun ? 0 : patienceFor(error)
      if (performance.now() - beganAtMs > patience) throw error
      onWaiting?.(patience === patienceMs.busy ? 'The asset link is busy' : 'The asset link is not reachable yet')
      await pause(backOff.nextMs(), signal)
      if (signal.aborted) return
    }
  }
}

/**
 * Aborts `silence` when the next message does not arrive in time. The time that the caller needs to process a message
 * is not counted.
 */
async function* limitSilence<Message>(
  messages: AsyncGenerator<Message>,
  { silenceMs, silence }: { silenceMs: number; silence: AbortController },
): AsyncGenerator<Message> {
  try {
    for (;;) {
      const timer = setTimeout(() => silence.abort(), silenceMs)
      const { done, value } = await messages.next().finally(() => clearTimeout(timer))
      if (done) return
      yield value
    }
  } finally {
    await messages.return(undefined)
  }
}

function patienceFor(error: unknown): number {
  if (!isServiceError(error)) return 0
  if (isBusy(error)) return patienceMs.busy
  return error.code === status.UNAVAILABLE ? patienceMs.away : 0
}

async function* discover(link: LinkClient, scanning: ScanOptions): AsyncGenerator<ScanMessage> {
  const { registration } = scanning
  const isOfFirstGeneration = offers(registration, 'firstDiscovery') && !offers(registration, 'discover')
  if (!isOfFirstGeneration) return yield* discoverNow(link, scanning)
  try {
    yield* discoverFirst(link, scanning)
  } catch (error) {
    // Some links register only the interface of the first generation, although they also have the current interface.
    if (!isServiceError(error) || error.code !== status.UNIMPLEMENTED) throw error
    yield* discoverNow(link, scanning)
  }
}

async function* discoverNow(
  link: LinkClient,
  { scanRequest, targets = [], signal }: ScanOptions,
): AsyncGenerator<ScanMessage> {
  const parameter = ({ key, operator, value }: ScanRequest['filters'][number]) => ({ key, operator, value })
  const request = {
    filters: scanRequest.filters.map(parameter),
    options: scanRequest.options.map(parameter),
    target: targets,
  }
  const { discoverDevices } = linkServices.discover.method
  const metadata = { [progressMetadataKey]: '1' }
  const stream = link.stream(discoverDevices, request, { signal, metadata, read: readDiscovered })
  for await (const { devices, errors, ...rest } of stream) {
    yield { devices: devices.map(reportedDevice), errors: errors.map(errorOfLink), ...rest }
  }
}

function reportedDevice({ readings, connectionParameterSet: connection }: DeviceReadings): ReportedDevice {
  return { mapped: assetOfDevice(readings), ...(connection === undefined ? {} : { connection }) }
}

/**
 * Runs a scan with the interface of the first generation: starts a discovery, subscribes to its results, and stops it.
 */
async function* discoverFirst(link: LinkClient, { scanRequest, signal }: ScanOptions): AsyncGenerator<ScanMessage> {
  const { startDeviceDiscovery, subscribeDiscoveryResults, stopDeviceDiscovery } = linkServices.firstDiscovery.method
  const parameter = ({ key, operator, text }: ScanRequest['filters'][number]) => ({ key, operator, value: text })
  const request = { filters: scanRequest.filters.map(parameter), options: scanRequest.options.map(parameter) }
  const { discoveryId } = await link.call(startDeviceDiscovery, request, { signal })
  try {
    for await (const { devices } of link.stream(subscribeDiscoveryResults, { discoveryId }, { signal })) {
      const reported = devices.map(({ parameters }) => ({ mapped: assetOfDocument(documentOf(parameters)) }))
      yield { devices: reported, errors: [] }
    }
  } finally {
    // The discovery is always stopped, so that the link releases its resources.
    await link.call(stopDeviceDiscovery, { discoveryId }).catch(() => undefined)
  }
}
