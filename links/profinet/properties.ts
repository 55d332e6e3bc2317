import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { segmentOf } from '@millwright/link-sdk/network/local-network.ts'
import { propertyValues } from '@millwright/link-sdk/network/property-values.ts'
import { stationAsset, stationDetails } from './asset.ts'
import { isStationName, type Station } from './dcp.ts'
import { knownDevices, ownRecords, type Surroundings } from './discover.ts'
import { identify } from './identify.ts'
import { defaultOptions, scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(defaultOptions)

/** The time to read the records of one device. It ends before the gateway stops waiting. */
const readSeconds = 8

/** The time over which a single station spreads its answer. */
const singleSpreadMs = 10

/**
 * Reads a device with Identify. If the name of station is known, only this station answers to the first frame. The second
 * frame has no name, because the name can have changed.
 */
export async function properties(call: PropertiesCall, surroundings: Surroundings): Promise<PropertyValues> {
  const { permits, signal } = call
  const place = await placeOf(call.device, surroundings)
  const { ethernet } = surroundings
  const isDevice = (station: Station) => isAt(station, place)
  const { interfaceName, stationName } = place
  const { spreadMs, timeoutMs } = defaults
  const attempts = [...(stationName === undefined ? [] : [{ stationName, spreadMs: singleSpreadMs }]), { spreadMs }]
  for (const attempt of attempts) {
    const read = { interfaceName, requests: 1, timeoutMs, isEnough: isDevice, ...attempt }
    const { stations } = await identify(read, { ethernet, permits, signal })
    const station = stations.find(isDevice)
    if (station !== undefined) return valuesOfStation(station, { call, place, surroundings })
  }
  const { macAddress, ipAddress } = place
  throw new LinkError(
    'UNAVAILABLE',
    `The device ${macAddress ?? ipAddress} does not answer to PROFINET DCP at the interface "${interfaceName}". Check the device and its cable.`,
  )
}

type Read = { call: PropertiesCall; place: Place; surroundings: Surroundings }

/** Reads the records too, if the scan that found the device did. */
async function valuesOfStation(station: Station, { call, place, surroundings }: Read): Promise<PropertyValues> {
  const { ipAddress } = station
  const isRead = place.hasRecords && ipAddress !== undefined
  const records = isRead ? await recordsOf({ ...station, ipAddress }, { call, surroundings }) : undefined
  const { software_components: software, ...asset } = stationAsset(station, { records })
  const isEmpty = Array.isArray(software) && software.length === 0
  return {
    ...propertyValues(asset),
    // DCP has no versions: an empty list would mean that the device has no firmware.
    ...(isEmpty ? {} : propertyValues({ software_components: software })),
    profinet: propertyValues(stationDetails(station)),
  }
}

/** A device that answers to Identify is reachable, also if its records cannot be read. */
async function recordsOf(station: Station & { ipAddress: string }, { call, surroundings }: Omit<Read, 'place'>) {
  const { signal, log } = call
  try {
    const options = { ...defaults, deviceSeconds: readSeconds }
    return await ownRecords(station, { call, options, surroundings, signal })
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof LinkError)) throw error
    log.warn('The records of a device could not be read.', { reason: error.message })
    return undefined
  }
}

export function supportedProperties(): SupportedProperty[] {
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url']
  const arrays = ['asset_identifiers', 'asset_relations', 'connection_points', 'software_components']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...arrays.map((key) => ({ key, type: 'array' as const })),
    ...['product_instance_information', 'profinet'].map((key) => ({ key, type: 'structure' as const })),
  ]
}

type Place = {
  interfaceName: string
  /** The MAC address decides. Without it, the IP address decides. */
  macAddress: string | undefined
  ipAddress: string | undefined
  stationName: string | undefined
  /** Whether the scan that found the device read its records. */
  hasRecords: boolean
}

function isAt(station: Station, { macAddress, ipAddress }: Place): boolean {
  return macAddress === undefined ? station.ipAddress === ipAddress : station.macAddress === macAddress
}

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, { segments, neighbours }: Surroundings): Promise<Place> {
  const known = knownDevices.addressOf(device) ?? {}
  if (known.protocol === 'lldp')
    throw new LinkError(
      'UNIMPLEMENTED',
      'The device was found by its LLDP frames. It does not answer to PROFINET DCP, so the link cannot read it. Use another link, or scan again.',
    )
  const identifiers = [known, ...device.identifiers]
  const macAddress = identifiers.map(({ mac_address }) => textOf(mac_address)?.toUpperCase()).find(isDefined)
  const ipAddress = textOf(known.ip_address) ?? (macAddress && (await neighbours.ipAddressOf(macAddress)))
  const segment = ipAddress === undefined ? undefined : segmentOf(ipAddress, segments())
  const interfaceName = textOf(known.interface) ?? segment?.name
  if (interfaceName === undefined || (macAddress ?? ipAddress) === undefined)
    throw new LinkError(
      'UNAVAILABLE',
      'The network segment of the device is not known. Scan the range of the device first.',
    )
  const name = textOf(known.name_of_station)
  const stationName = name !== undefined && isStationName(name) ? name : undefined
  return { interfaceName, macAddress, ipAddress, stationName, hasRecords: known.records === true }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isDefined(text: string | undefined): text is string {
  return text !== undefined
}
