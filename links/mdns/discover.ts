import { type IpRange, isInRanges, numberOfAddress } from '@millwright/api/ip-range.ts'
import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset, isIdentified } from '@millwright/link-sdk/network/device-asset.ts'
import { type HostPlace, isRangeScan, scanHosts } from '@millwright/link-sdk/network/host-scan.ts'
import { type Segment, segmentOf, segments } from '@millwright/link-sdk/network/local-network.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { type ScanRange, scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { factsOf } from './asset.ts'
import { type Reading, readDevice } from './device.ts'
import { findResponders, type Responders } from './multicast.ts'
import { type ScanOptions, scanOptionsOf } from './options.ts'
import { knownDevices } from './properties.ts'

/** Yields the devices of a range that answer to multicast DNS queries. Addresses that do not answer yield nothing. */
export async function* discover(call: DiscoverCall, neighbours: Neighbours): AsyncGenerator<DiscoveryResult> {
  const options = scanOptionsOf(call.options)
  const finder = new ResponderFinder(options)
  const range = scanRangeOf(call.filters, call.targets)
  if (isRangeScan(call) && options.usesMulticast) yield* finder.find(range, call)
  const visits = options.ports.map((port) => ({ port }))
  yield* scanHosts(call, {
    range,
    options,
    neighbours,
    knownDevices,
    visitsAt: (address) => (finder.isSilent(address) ? [] : visits),
    readHost: (at) =>
      readDevice(at, { deviceSeconds: options.deviceSeconds, isResponder: finder.hasAnswered(at.address) }),
    resultsOf,
  })
}

/**
 * `ResponderFinder` finds the devices of the segments of this machine with multicast. In these segments, only the devices
 * that answered are queried. Addresses of other networks are queried individually.
 */
class ResponderFinder {
  readonly #options: ScanOptions
  readonly #segments: Segment[] = []
  readonly #responders: Responders = new Set()

  constructor(options: ScanOptions) {
    this.#options = options
  }

  /** Sends the queries. Yields an error for a segment whose devices are then queried individually. */
  async *find({ ranges }: ScanRange, { permits, signal }: DiscoverCall): AsyncGenerator<DiscoveryResult> {
    const { ports, timeoutMs } = this.#options
    for (const segment of this.#segmentsOf(ranges)) {
      try {
        const accepts = (address: string) =>
          isInRanges(ranges, numberOfAddress(address) ?? 0) && segmentOf(address, [segment]) !== undefined
        const found = ports.map((port) =>
          findResponders({ localAddress: segment.address, port, timeoutMs, permits, signal, accepts }),
        )
        for (const responders of await Promise.all(found))
          for (const address of responders) this.#responders.add(address)
        this.#segments.push(segment)
      } catch (error) {
        signal.throwIfAborted()
        const isRefused = error instanceof PermitRefusedError
        if (!(error instanceof LinkError) || (isRefused && error.reason !== 'excluded')) throw error
        yield { error: withoutMulticast(error), address: { interface: segment.name } }
      }
    }
  }

  /** Returns whether an address belongs to a device that does not answer, or to no device. */
  isSilent(address: string): boolean {
    return segmentOf(address, this.#segments) !== undefined && !this.#responders.has(address)
  }

  hasAnswered(address: string): boolean {
    return this.#responders.has(address)
  }

  /** Returns the segments of this machine that contain addresses of the ranges. */
  #segmentsOf(ranges: readonly IpRange[]): Segment[] {
    const { localAddress } = this.#options
    const own = segments().filter(({ address }) => localAddress === undefined || address === localAddress)
    return own
      .filter((one) => segmentOf(one.address, own) === one)
      .filter(({ first, last }) => ranges.some(({ from, to }) => from <= last && to >= first))
  }
}

function withoutMulticast(error: LinkError): LinkError {
  return new LinkError(
    error.code,
    `${error.message} The scan uses no multicast here, and queries each address of the segment instead.`,
  )
}

function* resultsOf(reading: Reading, { address: ipAddress, port, macAddress }: HostPlace): Generator<DiscoveryResult> {
  const facts = factsOf({ ipAddress, macAddress, reading })
  const address = { ip_address: ipAddress, port }
  if (isIdentified(facts)) yield { asset: deviceAsset(facts), address }
  else yield { error: unidentified(facts.name, ipAddress), address }
  if (reading.problem !== undefined) yield { error: reading.problem, address }
}

function unidentified(name: string | undefined, address: string): LinkError {
  return new LinkError(
    'FAILED_PRECONDITION',
    `The device at ${address}${name === undefined ? '' : ` (${name})`} answers to multicast DNS, but has no identifier. It reports no serial number with its manufacturer and model, and its MAC address is not known. Scan from a gateway on the segment of the device.`,
  )
}
