import type {
  Address,
  PropertiesCall,
  PropertyValues,
  SupportedProperty,
  Target,
} from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { ContactOptions } from '@millwright/link-sdk/network/host-scan.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { propertyValues } from '@millwright/link-sdk/network/property-values.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { assetOf } from './asset.ts'
import { BacnetError } from './bacnet-error.ts'
import { highestInstance, highestNetwork, type IpPlace, type ReadTarget, usualPort } from './codec.ts'
import type { Reading } from './device.ts'
import { readHost, readKnownDevice } from './host.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'

/** The options for a read of one device, which has none. The time ends before the gateway stops waiting. */
const readOptions = {
  ...scanOptionsOf(defaultOptionsOf(manifest)),
  deviceSeconds: 15,
}

/** The addresses of the devices of earlier scans. A device that is read later by its identifiers is found with them. */
export const knownDevices = new KnownDevices()

/** Returns the address of a device, with which later calls find it again. */
export function addressOf({ instance, station }: ReadTarget, { address, port }: IpPlace): Address {
  const device = { ip_address: address, port, device_instance: instance }
  return station === undefined ? device : { ...device, network: station.network, mac: station.mac.toString('hex') }
}

/** Reads the asset fields and the properties of the device object of one device. */
export async function properties(call: PropertiesCall, neighbours: Neighbours): Promise<PropertyValues> {
  const { device, permits, signal } = call
  const place = await placeOf(device, neighbours)
  const { address, port } = place
  const reading = await readAt(place, { address, port, timeoutMs: readOptions.timeoutMs, permits, signal })
  const macAddress = await neighbours.macAddressOf(address)
  const asset = assetOf(reading, { ipAddress: address, macAddress }) ?? {}
  return { ...propertyValues(asset), bacnet: propertyValues(detailsOf(reading)) }
}

/** Reads the device with the known instance. If the device at the address has another instance now, reads this device. */
async function readAt({ target, address, port }: Place, at: ContactOptions): Promise<Reading> {
  if (target !== undefined) {
    try {
      return await readKnownDevice(at, target, readOptions)
    } catch (error) {
      const isOther = error instanceof BacnetError && error.fault === 'rejected' && target.station === undefined
      if (!isOther) throw error
    }
  }
  const [reading] = (await readHost(at, readOptions))?.readings ?? []
  if (reading === undefined)
    throw new LinkError(
      'UNAVAILABLE',
      `${address} does not answer to BACnet requests at UDP port ${port}. Check the device and the network.`,
    )
  if (reading.problem !== undefined) throw reading.problem
  return reading
}

export function supportedProperties(): SupportedProperty[] {
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url']
  const arrays = ['asset_identifiers', 'asset_relations', 'connection_points', 'software_components', 'location']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...arrays.map((key) => ({ key, type: 'array' as const })),
    ...['product_instance_information', 'bacnet'].map((key) => ({ key, type: 'structure' as const })),
  ]
}

/** The states of a device by their number. */
const systemStates = [
  'operational',
  'operational_read_only',
  'download_required',
  'download_in_progress',
  'non_operational',
  'backup_in_progress',
] as const

function detailsOf({ instance, station, iAm, values }: Reading): Asset {
  const { systemStatus } = values
  return {
    device_instance: instance,
    network: station?.network,
    mac: station?.mac.toString('hex'),
    object_name: values.objectName,
    description: values.description,
    location: values.location,
    vendor_name: values.vendorName,
    vendor_id: values.vendorId ?? iAm?.vendorId,
    model_name: values.modelName,
    serial_number: values.serialNumber,
    firmware_revision: values.firmwareRevision,
    application_software_version: values.applicationVersion,
    protocol_version: values.protocolVersion,
    protocol_revision: values.protocolRevision,
    system_status: systemStatus === undefined ? undefined : (systemStates[systemStatus] ?? String(systemStatus)),
  }
}

type Place = IpPlace & { target: ReadTarget | undefined }

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, neighbours: Neighbours): Promise<Place> {
  const known = await knownDevices.locate(device, neighbours)
  const { ip_address: address, port } = known
  return { address, port: typeof port === 'number' ? port : usualPort, target: targetOf(known) }
}

/** Returns the device that an address of a discovery names. */
function targetOf({ device_instance: instance, network, mac }: Address): ReadTarget | undefined {
  if (!isWhole(instance, { least: 0, most: highestInstance })) return undefined
  if (network === undefined && mac === undefined) return { instance }
  if (
    isWhole(network, { least: 1, most: highestNetwork }) &&
    typeof mac === 'string' &&
    /^([0-9a-f]{2}){1,7}$/.test(mac)
  )
    return { instance, station: { network, mac: Buffer.from(mac, 'hex') } }
  throw new LinkError(
    'INVALID_ARGUMENT',
    `"network" of the device must be a whole number from 1 to ${highestNetwork}, and "mac" must have 1 to 7 bytes in hexadecimal digits. Scan the range of the device again.`,
  )
}

function isWhole(value: unknown, { least, most }: { least: number; most: number }): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}
