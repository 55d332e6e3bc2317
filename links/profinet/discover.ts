import { type IpRange, isInRanges, numberOfAddress } from '@millwright/api/ip-range.ts'
import type { Address, DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import type { Segment } from '@millwright/link-sdk/network/local-network.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { sweep } from '@millwright/link-sdk/network/sweep.ts'
import { type Connection, isStation, neighbourAsset, neighbourMac, stationAsset } from './asset.ts'
import { isStationName, type Station } from './dcp.ts'
import { type Answers, type Cable, identify, listenForNeighbours, mostStations } from './identify.ts'
import { type ScanOptions, scanOptionsOf } from './options.ts'
import type { Ethernet } from './raw-ethernet.ts'
import { type Records, readRecords } from './record-reader.ts'

/** The addresses of the devices of earlier scans. A device that is read later by its identifiers is found with them. */
export const knownDevices = new KnownDevices()

/** `Surroundings` is the network access of this machine. Tests replace it. */
export type Surroundings = { ethernet: Ethernet; segments: () => Segment[]; neighbours: Neighbours }

/**
 * Yields the PROFINET devices and LLDP neighbours on the network segments of the range. Devices with an IP address outside of
 * the range are left out. Devices without an IP address are reported.
 */
export async function* discover(call: DiscoverCall, surroundings: Surroundings): AsyncGenerator<DiscoveryResult> {
  const options = scanOptionsOf(call.options)
  const { ranges } = scanRangeOf(call.filters)
  const names = interfacesOf(ranges, { options, segments: surroundings.segments() })
  if (names.length === 0) {
    if (!ranges.every(isLoopback)) yield noInterface(surroundings.segments())
    return
  }
  const problem = await surroundings.ethernet.problem()
  if (problem !== undefined) {
    yield { error: new LinkError('FAILED_PRECONDITION', problem), address: { interface: names.join(', ') } }
    return
  }
  const scan = { call, options, surroundings, scanned: call.targets.some(namesDevice) ? undefined : {} }
  const rounds = names.length * options.requests
  let completed = 0
  const onRound = () => {
    completed += 1
    call.progress((completed / rounds) * 100)
  }
  yield* sweep(names, {
    parallel: names.length,
    signal: call.signal,
    work: (interfaceName, signal) => scanInterface(interfaceName, { ...scan, ranges, signal, onRound }),
  })
}

const loopbackAddresses: IpRange = { from: 0x7f00_0000, to: 0x7fff_ffff }

/** The loopback network has no Ethernet frames, so a scan of it finds nothing. */
function isLoopback({ from, to }: IpRange): boolean {
  return from >= loopbackAddresses.from && to <= loopbackAddresses.to
}

type InterfaceSelection = { options: ScanOptions; segments: readonly Segment[] }

/** Returns the chosen interface, or all Ethernet interfaces whose network contains addresses of the range. */
function interfacesOf(ranges: readonly IpRange[], { options, segments: all }: InterfaceSelection): string[] {
  if (options.interfaceName !== undefined) return [options.interfaceName]
  const overlapping = all.filter(
    ({ first, last, macAddress }) =>
      macAddress !== undefined && ranges.some(({ from, to }) => from <= last && to >= first),
  )
  return [...new Set(overlapping.map(({ name }) => name))]
}

function noInterface(all: readonly Segment[]): DiscoveryResult {
  const names = [...new Set(all.map(({ name, address }) => `${name} (${address})`))].join(', ')
  const error = new LinkError(
    'FAILED_PRECONDITION',
    `The range is not in the network of an Ethernet interface of the gateway. Its interfaces are: ${names || 'none'}. PROFINET DCP does not pass routers. Scan with a gateway in the network of the devices, or set the option interface.`,
  )
  return { error, address: { interface: names || 'none' } }
}

type Scan = {
  call: DiscoverCall
  options: ScanOptions
  surroundings: Surroundings
  /** The addresses of the range without the excluded ones. */
  ranges: readonly IpRange[]
  /** An object that stands for the scan of a range. It is absent if the call names the devices. */
  scanned: object | undefined
  signal: AbortSignal
  onRound: () => void
}

async function* scanInterface(interfaceName: string, scan: Scan): AsyncGenerator<DiscoveryResult> {
  const { options, signal } = scan
  try {
    const { answers, cables } = await readSegment(interfaceName, scan)
    for await (const reported of resultsOf(answers, { cables, interfaceName, scan })) {
      const result = await withConfirmedAddress(reported, scan.surroundings)
      if ('asset' in result && result.address !== undefined) {
        // LLDP frames contain the MAC address of a device as text of the sender, so the network does not confirm it.
        const { mac_address: mac, protocol } = result.address
        const macAddress = protocol === 'lldp' ? undefined : String(mac)
        knownDevices.add(result.asset, result.address, { scan: scan.scanned, macAddress })
      }
      yield result
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof LinkError)) throw error
    const isNamed = options.interfaceName !== undefined && error.code === 'INVALID_ARGUMENT'
    const isRefused = error instanceof PermitRefusedError && error.reason !== 'excluded'
    if (isNamed || isRefused) throw error
    yield { error, address: { interface: interfaceName } }
  }
}

/**
 * Returns the result without an IP address that the ARP table does not have for the device. A device reports its IP address
 * itself, which can be the address of another device. Without it, the device is read by its MAC address.
 */
async function withConfirmedAddress(result: DiscoveryResult, { neighbours }: Surroundings): Promise<DiscoveryResult> {
  const { ip_address: ipAddress, ...others } = result.address ?? {}
  if (typeof ipAddress !== 'string' || (await neighbours.macAddressOf(ipAddress)) === others.mac_address) return result
  return { ...result, address: others }
}

/** Sends the Identify frames and listens for LLDP frames concurrently. The end of one with an error ends the other one. */
async function readSegment(interfaceName: string, scan: Scan): Promise<{ answers: Answers; cables: Cable[] }> {
  const { call, options, surroundings, onRound } = scan
  const ended = new AbortController()
  const signal = AbortSignal.any([scan.signal, ended.signal])
  const access = { ethernet: surroundings.ethernet, permits: call.permits, signal }
  const { requests, spreadMs, timeoutMs, lldpSeconds } = options
  try {
    const [answers, cables] = await Promise.all([
      identify({ interfaceName, requests, spreadMs, timeoutMs, onRound }, access),
      lldpSeconds === 0 ? [] : listenForNeighbours({ interfaceName, ms: lldpSeconds * 1_000 }, access),
    ])
    return { answers, cables }
  } finally {
    ended.abort()
  }
}

type Place = { cables: readonly Cable[]; interfaceName: string; scan: Scan }
type FoundStation = { station: Station; connection: Connection | undefined; address: Address }

async function* resultsOf(answers: Answers, place: Place): AsyncGenerator<DiscoveryResult> {
  const { interfaceName, scan } = place
  const { ownMac, stations, faults, isCut } = answers
  const connectionOf = ({ neighbour, portMac }: Cable): Connection => ({ neighbour, ownMacs: [ownMac, portMac] })
  const others = cablesByDevice(place.cables)
  const found = stations.map((station): FoundStation => {
    const cable = [...others.values()].find(({ neighbour }) => isStation(neighbour, station))
    if (cable !== undefined) others.delete(neighbourMac(cable.neighbour))
    const connection = cable === undefined ? undefined : connectionOf(cable)
    return { station, connection, address: addressOf(station, { interfaceName, scan }) }
  })
  const selected = found.filter(({ address }) => isSelected(address, scan))
  const groups = Map.groupBy(selected, ({ station }) => station.ipAddress ?? station.macAddress)
  yield* sweep(groups.values(), {
    parallel: scan.options.parallel,
    signal: scan.signal,
    work: (group, signal) => groupResults(group, { ...scan, signal }),
  })
  for (const [mac, cable] of others) {
    const { ipAddress } = cable.neighbour
    const address = { ...ipField(ipAddress), mac_address: mac, interface: interfaceName, protocol: 'lldp' }
    if (isSelected(address, scan)) yield { asset: neighbourAsset(connectionOf(cable)), address }
  }
  for (const error of faults) yield { error, address: { mac_address: error.macAddress, interface: interfaceName } }
  if (isCut) yield { error: tooMany(interfaceName), address: { interface: interfaceName } }
}

/** Returns one cable of each device. A cable from the MAC address of the device itself comes before the others. */
function cablesByDevice(cables: readonly Cable[]): Map<string, Cable> {
  const result = new Map<string, Cable>()
  for (const cable of cables) {
    const mac = neighbourMac(cable.neighbour)
    if (!result.has(mac) || cable.neighbour.sourceMac === mac) result.set(mac, cable)
  }
  return result
}

/** The number of stations with the same IP address whose records are read: the first one, and the one in the ARP table. */
const mostReadStations = 2

/**
 * Yields the stations with the same IP address. One device can answer with any number of MAC addresses and the IP address of
 * another device, which must not receive the requests for all of them. So the station in the ARP table is read. If the table
 * has no entry before the first request, the first station is read.
 */
async function* groupResults(group: readonly FoundStation[], scan: Scan): AsyncGenerator<DiscoveryResult> {
  const ipAddress = group[0]?.station.ipAddress
  const unread = new Set(group)
  for (let count = 0; count < mostReadStations && ipAddress !== undefined && group.length > 1; count += 1) {
    const mac = await scan.surroundings.neighbours.macAddressOf(ipAddress)
    const owner = mac === undefined && count === 0 ? group[0] : group.find(({ station }) => station.macAddress === mac)
    if (owner === undefined || !unread.delete(owner)) break
    yield* stationResults(owner, scan)
  }
  for (const one of unread) {
    if (group.length === 1 || !scan.options.readsRecords) yield* stationResults(one, scan)
    else {
      yield { asset: stationAsset(one.station, { connection: one.connection }), address: one.address }
      yield { error: sharedAddress(one.station), address: one.address }
    }
  }
}

function sharedAddress({ macAddress, ipAddress }: Station): LinkError {
  return new LinkError(
    'FAILED_PRECONDITION',
    `The device ${macAddress} reports the IP address ${ipAddress}, which other devices report too. Its records were not read. Check the address for a conflict.`,
  )
}

/** Yields a station with its records. If they cannot be read, yields the station without them, and the error. */
async function* stationResults(found: FoundStation, scan: Scan): AsyncGenerator<DiscoveryResult> {
  const { station, connection, address } = found
  const { ipAddress } = station
  if (!scan.options.readsRecords || ipAddress === undefined) {
    yield { asset: stationAsset(station, { connection }), address }
    return
  }
  try {
    const records = await ownRecords({ ...station, ipAddress }, scan)
    yield { asset: stationAsset(station, { connection, records }), address }
  } catch (error) {
    scan.signal.throwIfAborted()
    const isExcludedAddress = error instanceof PermitRefusedError && error.reason === 'excluded'
    if (!(error instanceof LinkError) || (error instanceof PermitRefusedError && !isExcludedAddress)) throw error
    yield { asset: stationAsset(station, { connection }), address }
    if (!isExcludedAddress) yield { error, address }
  }
}

type RecordAccess = Pick<Scan, 'options' | 'surroundings' | 'signal'> & { call: Pick<DiscoverCall, 'permits'> }

/**
 * Reads the records of a station. A device can report the IP address of another device, so the records are used only if the
 * ARP table has the MAC address of the station for this IP address.
 */
export async function ownRecords(
  station: Station & { ipAddress: string },
  { call, options, surroundings, signal }: RecordAccess,
): Promise<Records | undefined> {
  const { timeoutMs, deviceSeconds } = options
  const { ipAddress, macAddress } = station
  const read = { address: ipAddress, timeoutMs, deviceSeconds, permits: call.permits, signal }
  const records = await readRecords(station, read)
  if (records === undefined) return undefined
  const confirmed = await surroundings.neighbours.macAddressOf(ipAddress)
  if (confirmed === macAddress) return records
  throw new LinkError(
    'FAILED_PRECONDITION',
    `The device ${macAddress} reports the IP address ${ipAddress}, but another device (${confirmed ?? 'unknown'}) answers at this address. Its records are not used. Check the address for a conflict.`,
  )
}

/** The address also names the records, so that a later read of the device includes them. */
function addressOf(station: Station, { interfaceName, scan }: Pick<Place, 'interfaceName' | 'scan'>): Address {
  const { macAddress, ipAddress, name } = station
  const isFilter = ipAddress !== undefined && name !== undefined && isStationName(name)
  return {
    ...ipField(ipAddress),
    mac_address: macAddress,
    interface: interfaceName,
    ...(isFilter ? { name_of_station: name } : {}),
    ...(scan.options.readsRecords && ipAddress !== undefined ? { records: true } : {}),
  }
}

function ipField(ipAddress: string | undefined): Address {
  return ipAddress === undefined ? {} : { ip_address: ipAddress }
}

function tooMany(interfaceName: string): LinkError {
  return new LinkError(
    'OUT_OF_RANGE',
    `More than ${mostStations} devices answer at the interface "${interfaceName}". The other devices are left out. Check the segment for a device that answers with many MAC addresses.`,
  )
}

/** Leaves out devices with an IP address that the range does not contain, and devices that the call does not name. */
function isSelected(address: Address, { call, ranges }: Scan): boolean {
  const { ip_address: ip, mac_address: mac } = address
  const isInRange = typeof ip !== 'string' || isInRanges(ranges, numberOfAddress(ip) ?? 0)
  const named = call.targets.filter(namesDevice)
  const isNamed = named.some((target) => target.address.mac_address === mac || target.address.ip_address === ip)
  return isInRange && (named.length === 0 || isNamed)
}

function namesDevice({ address }: { address: Address }): boolean {
  return typeof address.mac_address === 'string' || typeof address.ip_address === 'string'
}
