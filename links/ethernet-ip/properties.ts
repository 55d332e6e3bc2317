import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices, parentOf } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { propertyValues } from '@millwright/link-sdk/network/property-values.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { factsOf, moduleAsset, revisionText, serialText } from './asset.ts'
import { deviceTypeName } from './device-types.ts'
import { type Host, type Module, readHost } from './host.ts'
import { manifest } from './manifest.ts'
import type { Identity } from './message.ts'
import { highestSlot, scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(defaultOptionsOf(manifest))
const [defaultPort = 44_818] = defaults.ports

/** The time for a read of one device, which has no options. It ends before the gateway stops waiting. */
const readSeconds = 15

/** The addresses of the devices of earlier scans. A device that is read later by its identifiers is found with them. */
export const knownDevices = new KnownDevices()

/** Reads the asset fields, the identity and the network settings of a device, or of a module in one of its slots. */
export async function properties(call: PropertiesCall, neighbours: Neighbours): Promise<PropertyValues> {
  const { device, permits, signal } = call
  const { address, port, slot } = await placeOf(device, neighbours)
  const slots = slot === undefined ? [] : [slot]
  const host = await readHost(
    { address, port, timeoutMs: defaults.timeoutMs, permits, signal },
    { ...defaults, slots, deviceSeconds: readSeconds },
  )
  if (host === undefined)
    throw new LinkError(
      'UNAVAILABLE',
      `${address} does not answer to EtherNet/IP at port ${port}. Check the device and the network.`,
    )
  const network = { ipAddress: address, macAddress: await neighbours.macAddressOf(address) }
  if (slot === undefined || host.slot === slot)
    return { ...propertyValues(deviceAsset(factsOf(host, network))), ethernet_ip: propertyValues(deviceDetails(host)) }
  const module = host.modules.find((one) => one.slot === slot)
  const asset = module === undefined ? undefined : moduleAsset(module, host, network)
  if (module === undefined || asset === undefined)
    throw (
      host.problem ??
      new LinkError(
        'UNAVAILABLE',
        `The module in slot ${slot} of ${address} does not answer. Check the module, and scan the device again.`,
      )
    )
  // Only a scan of all slots decides of which device it is a module.
  const { asset_relations: _, ...values } = propertyValues(asset)
  return { ...values, ethernet_ip: propertyValues(moduleDetails(module)) }
}

export function supportedProperties(): SupportedProperty[] {
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url']
  const arrays = ['asset_identifiers', 'connection_points', 'software_components', 'location']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...arrays.map((key) => ({ key, type: 'array' as const })),
    ...['product_instance_information', 'ethernet_ip'].map((key) => ({ key, type: 'structure' as const })),
  ]
}

function deviceDetails({ identity, details, slot }: Host): Asset {
  const { interfaceSettings: settings } = details
  return {
    ...identityDetails(identity),
    encapsulation_version: identity.encapsulationVersion,
    reported_address: identity.ipAddress,
    slot,
    host_name: details.hostName,
    domain_name: settings?.domainName || undefined,
    mac_address: details.macAddress,
    ip_address: settings?.ipAddress,
    network_mask: settings?.networkMask,
    router: settings?.router,
  }
}

function moduleDetails({ slot, identity }: Module): Asset {
  return { ...identityDetails(identity), slot }
}

function identityDetails(identity: Identity): Asset {
  const { status, state } = identity
  return {
    vendor_id: identity.vendorId,
    device_type: identity.deviceType,
    device_type_name: deviceTypeName(identity.deviceType),
    product_code: identity.productCode,
    product_name: identity.productName,
    revision: revisionText(identity),
    serial_number: serialText(identity.serialNumber),
    status: `0x${status.toString(16).toUpperCase().padStart(4, '0')}`,
    is_owned: isSet(status, 0),
    is_configured: isSet(status, 2),
    faults: Object.entries(faultBits).flatMap(([name, bit]) => (isSet(status, bit) ? [name] : [])),
    state: state === undefined ? undefined : (states[state] ?? `State ${state}`),
  }
}

/** The bits of the status of an identity object that report faults. */
const faultBits = {
  'Minor recoverable fault': 8,
  'Minor unrecoverable fault': 9,
  'Major recoverable fault': 10,
  'Major unrecoverable fault': 11,
} as const

const states: Readonly<Record<number, string>> = {
  0: 'Nonexistent',
  1: 'Device self testing',
  2: 'Standby',
  3: 'Operational',
  4: 'Major recoverable fault',
  5: 'Major unrecoverable fault',
}

function isSet(status: number, bit: number): boolean {
  return ((status >> bit) & 1) === 1
}

type Place = { address: string; port: number; slot: number | undefined }

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, neighbours: Neighbours): Promise<Place> {
  const parent = parentOf(device)
  const { ip_address: address, port, slot } = await knownDevices.locate(device, neighbours, parent?.mac)
  const place = { address, port: typeof port === 'number' ? port : defaultPort }
  return { ...place, slot: slotOf(typeof slot === 'number' ? slot : parent?.slot) }
}

/** A slot that does not exist would become the number of another slot in the route of a request. */
function slotOf(slot: number | undefined): number | undefined {
  if (slot === undefined || (Number.isInteger(slot) && slot >= 0 && slot <= highestSlot)) return slot
  throw new LinkError('INVALID_ARGUMENT', `The slot of the device is ${slot}, but must be from 0 to ${highestSlot}.`)
}
