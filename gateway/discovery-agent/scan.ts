import { status } from '@grpc/grpc-js'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { linkServices, progressMetadataKey } from '@millwright/api/link-protocol.ts'
import type { ConnectionParameterSet } from '@millwright/api/proto/generated/address_pb.js'
import type { DeviceDestination } from '../device-info/device-info.ts'
import { isBusy, isServiceError, LinkClient, offers } from '../link-client.ts'
import { assetOfDevice, assetOfDocument, type Mapped } from '../mapping/asset.ts'
import { documentOf } from '../mapping/document.ts'
import { type DeviceReadings, readDiscovered } from '../mapping/reading.ts'
import type { Registration } from '../registry/registration.ts'
import { silenceVariable } from '../settings.ts'
import type { Wanted } from './definition.ts'
import { errorOfLink, type FoundError } from './device-error.ts'

/** The content of one message of a link; `progress` is a percentage, where the link knows the range that it scans. */
export type Found = { devices: FoundDevice[]; errors: FoundError[]; progress?: number }

export type FoundDevice = { mapped: Mapped; connection?: ConnectionParameterSet }

/** How long it is tried again when a link cannot begin: busy with somebody else's scan, or just starting. */
const patienceMs = { busy: 15 * 60_000, away: 10_000 } as const

type Scan = {
  registration: Registration
  /** Where the link is by now. */
  lookUp?: () => Registration | undefined
  wanted: Wanted
  /** The only devices to scan; none means all devices. */
  targets?: DeviceDestination[]
  /** How long the link may send nothing. */
  silenceMs: number
  signal: AbortSignal
  /** The link cannot begin yet. */
  onWaiting?: (why: string) => void
}

/** The link sent nothing for longer than the time limit of the gateway. */
export class SilentLinkError extends Error {
  constructor({ appInstanceId }: Registration, silenceMs: number) {
    super(`The link ${appInstanceId} sent nothing for ${silenceMs / 1_000} seconds (${silenceVariable})`)
  }
}

/**
 * Has a link discover devices, by whichever interface it has. Ends early, without an error, when the signal is aborted.
 * Throws a `SilentLinkError` when the link sends nothing for `silenceMs`.
 */
export async function* scan(options: Scan): AsyncGenerator<Found> {
  const { signal, silenceMs, onWaiting } = options
  const backOff = new BackOff({ firstMs: 500, longestMs: 15_000 })
  const beganAtMs = performance.now()
  for (;;) {
    let hasBegun = false
    // A link that was started again may be at another address.
    const registration = options.lookUp?.() ?? options.registration
    using link = new LinkClient(registration, 'scan')
    const silence = new AbortController()
    const call = { ...options, registration, signal: AbortSignal.any([signal, silence.signal]) }
    try {
      for await (const found of limitSilence(discover(link, call), { silenceMs, silence })) {
        hasBegun = true
        yield found
      }
      return
    } catch (error) {
      if (signal.aborted) return
      if (silence.signal.aborted) throw new SilentLinkError(registration, silenceMs)
      const patience = hasBegun ? 0 : patienceFor(error)
      if (performance.now() - beganAtMs > patience) throw error
      onWaiting?.(patience === patienceMs.busy ? 'The link is busy' : 'The link does not answer yet')
      await pause(backOff.nextMs(), signal)
      if (signal.aborted) return
    }
  }
}

/** Aborts `silence` when the next message does not come in time. The time that the reader takes for a message is not counted. */
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

async function* discover(link: LinkClient, scanning: Scan): AsyncGenerator<Found> {
  const { registration } = scanning
  const isOfFirstGeneration = offers(registration, 'firstDiscovery') && !offers(registration, 'discover')
  if (!isOfFirstGeneration) return yield* discoverNow(link, scanning)
  try {
    yield* discoverFirst(link, scanning)
  } catch (error) {
    // The registration of some links names the first generation although they have the current interface.
    if (!isServiceError(error) || error.code !== status.UNIMPLEMENTED) throw error
    yield* discoverNow(link, scanning)
  }
}

async function* discoverNow(link: LinkClient, { wanted, targets = [], signal }: Scan): AsyncGenerator<Found> {
  const parameter = ({ key, operator, value }: Wanted['filters'][number]) => ({ key, operator, value })
  const request = {
    filters: wanted.filters.map(parameter),
    options: wanted.options.map(parameter),
    target: targets,
  }
  const { discoverDevices } = linkServices.discover.method
  const metadata = { [progressMetadataKey]: '1' }
  const stream = link.stream(discoverDevices, request, { signal, metadata, read: readDiscovered })
  for await (const { devices, errors, ...rest } of stream) {
    yield { devices: devices.map(foundDevice), errors: errors.map(errorOfLink), ...rest }
  }
}

function foundDevice({ readings, connectionParameterSet: connection }: DeviceReadings): FoundDevice {
  return { mapped: assetOfDevice(readings), ...(connection === undefined ? {} : { connection }) }
}

/** The first generation began a discovery, subscribed to what it found, and stopped it. */
async function* discoverFirst(link: LinkClient, { wanted, signal }: Scan): AsyncGenerator<Found> {
  const { startDeviceDiscovery, subscribeDiscoveryResults, stopDeviceDiscovery } = linkServices.firstDiscovery.method
  const parameter = ({ key, operator, text }: Wanted['filters'][number]) => ({ key, operator, value: text })
  const request = { filters: wanted.filters.map(parameter), options: wanted.options.map(parameter) }
  const { discoveryId } = await link.call(startDeviceDiscovery, request, { signal })
  try {
    for await (const { devices } of link.stream(subscribeDiscoveryResults, { discoveryId }, { signal })) {
      const found = devices.map(({ parameters }) => ({ mapped: assetOfDocument(documentOf(parameters)) }))
      yield { devices: found, errors: [] }
    }
  } finally {
    // Whether it still ran or not: the link need not keep it any longer.
    await link.call(stopDeviceDiscovery, { discoveryId }).catch(() => undefined)
  }
}
