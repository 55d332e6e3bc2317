import { isInRanges, numberOfAddress } from '@millwright/api/ip-range.ts'
import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { type HostPlace, isRangeScan, scanHosts } from '@millwright/link-sdk/network/host-scan.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { type ScanRange, scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { assetOf } from './asset.ts'
import { Answers, broadcastWhoIs, ownNetworks, whoIsThroughBbmd } from './broadcast.ts'
import type { FoundDevice } from './channel.ts'
import type { Reading } from './device.ts'
import { type Host, readHost } from './host.ts'
import { type ScanOptions, scanOptionsOf } from './options.ts'
import { addressOf, knownDevices } from './properties.ts'

/** Yields the BACnet devices of a range as they are read. Addresses that do not answer yield nothing. */
export async function* discover(call: DiscoverCall, neighbours: Neighbours): AsyncGenerator<DiscoveryResult> {
  const options = scanOptionsOf(call.options)
  const range = scanRangeOf(call.filters, call.targets)
  const { visitsAt, problem } = isRangeScan(call)
    ? await broadcastVisits(range, { call, options })
    : { visitsAt: singleVisits(options) }
  if (problem !== undefined) yield { error: problem, address: {} }
  yield* scanHosts(call, {
    range,
    options,
    neighbours,
    knownDevices,
    visitsAt,
    readHost: (at, { devices }) => readHost(at, options, devices),
    resultsOf,
  })
}

/** `Visit` is a port of an address to read. `devices` contains the devices there that answered to a broadcast. */
type Visit = { port: number; devices?: readonly FoundDevice[] }
type VisitsAt = (address: string) => Visit[]
type BroadcastVisits = { visitsAt: VisitsAt; problem?: LinkError | undefined }

function singleVisits({ ports }: ScanOptions): VisitsAt {
  const visits = ports.map((port) => ({ port }))
  return () => visits
}

/**
 * Sends the broadcasts that the options select. Returns a function with the visits of an address: the devices that answered,
 * or a request to the address if no broadcast reached it. `problem` is set if answers were left out.
 */
async function broadcastVisits(
  { ranges }: ScanRange,
  { call, options }: { call: DiscoverCall; options: ScanOptions },
): Promise<BroadcastVisits> {
  const { permits, signal } = call
  const { bbmd, withBroadcast, localAddress } = options
  const single = singleVisits(options)
  if (!withBroadcast && bbmd === undefined) return { visitsAt: single }
  const isIncluded = (address: string) => isInRanges(ranges, numberOfAddress(address) ?? -1)
  const context = { options, isIncluded, permits, signal }
  const answers = new Answers(context)
  const networks = withBroadcast ? ownNetworks(ranges, localAddress) : []
  await Promise.all([
    networks.length === 0 ? undefined : broadcastWhoIs(networks, answers, context),
    bbmd === undefined ? undefined : whoIsThroughBbmd(bbmd, answers, context),
  ])
  const reached = networks.map(({ first, last }) => ({ from: first, to: last }))
  const visitsAt: VisitsAt = (address) => {
    const found = answers.at(address)
    const isReached = bbmd !== undefined || isInRanges(reached, numberOfAddress(address) ?? -1)
    return found.length > 0 || isReached ? found : single(address)
  }
  return { visitsAt, problem: answers.problem }
}

function* resultsOf({ readings, problem }: Host, place: HostPlace): Generator<DiscoveryResult> {
  const { macAddress } = place
  for (const reading of readings) {
    const address = addressOf(reading, place)
    const asset = assetOf(reading, { ipAddress: place.address, macAddress })
    if (asset !== undefined) yield { asset, address }
    else if (reading.problem === undefined) yield { error: unidentified(reading, place), address }
    if (reading.problem !== undefined) yield { error: reading.problem, address }
  }
  if (problem !== undefined) yield { error: problem, address: { ip_address: place.address, port: place.port } }
}

function unidentified({ instance, station, values }: Reading, { address, port }: HostPlace): LinkError {
  const product = [values.vendorName, values.modelName].filter((text) => text !== undefined).join(' ')
  const place = station === undefined ? `${address} port ${port}` : `Network ${station.network} behind ${address}`
  return new LinkError(
    'FAILED_PRECONDITION',
    `${place} has the BACnet device ${instance}${product === '' ? '' : ` (${product})`}, but the device has no identifier. It reports no serial number with vendor and model, and the MAC address is known only on the same network segment. Scan from a gateway on the segment of the device.`,
  )
}
