import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { timeLimit } from '@millwright/link-sdk/network/timer.ts'
import { BacnetError } from './bacnet-error.ts'
import { Channel, type FoundDevice } from './channel.ts'
import type { InstanceRange } from './codec.ts'
import { type Reading, readDevice, readFoundDevice, readInstance } from './device.ts'
import type { ScanOptions } from './options.ts'

/** `Host` is what answered at one IP address and port: a device, a router with devices behind it, or both. */
export type Host = {
  /** The devices, the one with this IP address first. */
  readings: readonly Reading[]
  /** The reason why devices behind the router were not read. */
  problem: LinkError | undefined
}

type Scan = Pick<ScanOptions, 'instances' | 'withRouters' | 'collectMs' | 'deviceSeconds'>

/**
 * Reads the device at an IP address and port, and the devices behind it if it is a router. `answers` contains the devices
 * that answered to a broadcast. Without it, the link asks the address. Returns undefined if the address is silent, or if
 * its devices are not in the range of instances.
 */
export async function readHost(
  at: ContactOptions,
  scan: Scan,
  answers?: readonly FoundDevice[],
): Promise<Host | undefined> {
  using limited = openLimited(at, scan)
  const { channel } = limited
  const found = answers === undefined ? await findDevices(limited, scan) : { devices: answers, problem: undefined }
  limited.start()
  const readings: Reading[] = []
  let { problem } = found
  try {
    for (const device of found.devices) {
      const reading = await readFoundDevice(channel, device)
      const confirmed = answers === undefined ? reading : await confirmedReading(channel, reading, scan)
      if (confirmed !== undefined) readings.push(confirmed)
      else problem ??= reading.problem
    }
  } catch (error) {
    if (error !== limited.expired || readings.length === 0) throw error
    problem = limited.expired
  }
  return readings.length === 0 && problem === undefined ? undefined : { readings, problem }
}

/**
 * Returns the reading of a device that answered to a broadcast. Every program in the network can send I-Am with the address of
 * another device, so only what the device answered to requests is used. If it has no object with the announced instance, it is
 * read with its own instance. Returns undefined if it does not answer.
 */
async function confirmedReading(channel: Channel, reading: Reading, { instances }: Scan): Promise<Reading | undefined> {
  const { iAm: _, ...answered } = reading
  if (answered.problem === undefined) return answered
  if (answered.station !== undefined || answered.problem.fault !== 'rejected') return undefined
  const instance = await readInstance(channel).catch(ignoreFault)
  if (instance === undefined || instance === answered.instance || !isRequested(instance, instances)) return undefined
  const own = await readFoundDevice(channel, { instance })
  return own.problem === undefined ? own : undefined
}

/** The error of the first request is reported. */
function ignoreFault(error: unknown): undefined {
  if (!(error instanceof BacnetError)) throw error
}

function isRequested(instance: number, { low, high }: InstanceRange): boolean {
  return instance >= low && instance <= high
}

/** Reads one device whose instance is known. */
export async function readKnownDevice(at: ContactOptions, device: FoundDevice, scan: Scan): Promise<Reading> {
  using limited = openLimited(at, scan)
  limited.start()
  return await readDevice(limited.channel, device)
}

/** `LimitedChannel` is a channel that ends with the error `expired` when the time for the address has passed. */
type LimitedChannel = Disposable & {
  channel: Channel
  expired: LinkError
  /** Starts the time. It starts after the first answer, so a silent address is not reported as slow. */
  start: () => void
}

function openLimited(at: ContactOptions, { deviceSeconds }: Scan): LimitedChannel {
  const expired = new LinkError(
    'OUT_OF_RANGE',
    `${at.address} port ${at.port} could not be read within ${deviceSeconds} seconds. Set the option device_seconds, limit the instances, or exclude the address.`,
  )
  const limit = timeLimit({ ms: deviceSeconds * 1_000, canceled: at.signal, reason: () => expired })
  const channel = new Channel({ ...at, signal: limit.signal, permits: limit.permits(at.permits) })
  return {
    channel,
    expired,
    start: limit.start,
    [Symbol.dispose]: () => {
      channel[Symbol.dispose]()
      limit[Symbol.dispose]()
    },
  }
}

type SearchResult = { devices: FoundDevice[]; problem: LinkError | undefined }

/** Returns the device at the address and, if they are requested, the devices behind it. */
async function findDevices({ channel, start }: LimitedChannel, scan: Scan): Promise<SearchResult> {
  const { instances, withRouters, collectMs } = scan
  const own = await findOwnDevice(channel, instances)
  if (own === undefined) return { devices: [], problem: undefined }
  start()
  const behind = withRouters ? await channel.whoIsBehind(instances, collectMs).catch(asRefusal) : []
  const devices = [own, ...(behind instanceof LinkError ? [] : behind)]
  return {
    devices: devices.filter(({ instance }) => isRequested(instance, instances)),
    problem: behind instanceof LinkError ? behind : undefined,
  }
}

/** A budget that does not allow a request to other networks can still allow the requests to the device itself. */
function asRefusal(error: unknown): LinkError {
  if (error instanceof PermitRefusedError && error.reason === 'excluded') return error
  throw error
}

async function findOwnDevice(channel: Channel, instances: InstanceRange): Promise<FoundDevice | undefined> {
  const found = await channel.whoIs(instances).catch(ignoreClosedPort)
  if (found !== undefined) return found
  const instance = await readInstance(channel)
  return instance === undefined ? undefined : { instance }
}

/** An address without BACnet often reports that its port is closed. The next request fails for the same reason. */
function ignoreClosedPort(error: unknown): undefined {
  if (error instanceof BacnetError && error.fault === 'refused') return undefined
  throw error
}
