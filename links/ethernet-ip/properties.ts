import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { factsOf, moduleAsset, revisionText, serialText } from './asset.ts'
import { deviceTypeName } from './device-types.ts'
import { type Host, type Module, readHost } from './host.ts'
import { manifest } from './manifest.ts'
import type { Identity } from './message.ts'
import { highestSlot, scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(
  Object.fromEntries((manifest.options ?? []).map(({ key, default: value }) => [key, value])),
)
const [defaultPort = 44_818] = defaults.ports

/** The time for a read of one device, which has no options. It ends before the gateway stops to wait. */
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
    throw new LinkError('UNAVAILABLE', `${address} does not answer to EtherNet/IP at port ${port}.`)
  const network = { ipAddress: address, macAddress: await neighbours.macAddressOf(address) }
  if (slot === undefined || host.slot === slot)
    return { ...valuesOf(deviceAsset(factsOf(host, network))), ethernet_ip: valuesOf(deviceDetails(host)) }
  const module = host.modules.find((one) => one.slot === slot)
  const asset = module === undefined ? undefined : moduleAsset(module, host, network)
  if (module === undefined || asset === undefined)
    throw host.problem ?? new LinkError('UNAVAILABLE', `The module in slot ${slot} of ${address} does not answer.`)
  // Only a scan of all slots decides of which device it is a module.
  const { asset_relations: _, ...values } = valuesOf(asset)
  return { ...values, ethernet_ip: valuesOf(moduleDetails(module)) }
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

/** Returns the values without fields that are undefined. */
function valuesOf(asset: Asset): Record<string, VariantValue> {
  return JSON.parse(JSON.stringify(asset))
}

type Place = { address: string; port: number; slot: number | undefined }

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, { ipAddressOf }: Neighbours): Promise<Place> {
  const { ip_address, port, slot } = knownDevices.addressOf(device) ?? {}
  const address = typeof ip_address === 'string' ? ip_address : await addressByMac(device, ipAddressOf)
  if (address === undefined)
    throw new LinkError('UNAVAILABLE', 'The IP address of the device is not known. Scan the range of the device first.')
  const place = { address, port: typeof port === 'number' ? port : defaultPort }
  return { ...place, slot: slotOf(typeof slot === 'number' ? slot : parentOf(device)?.slot) }
}

/** A slot that does not exist would become the number of another slot in the route of a request. */
function slotOf(slot: number | undefined): number | undefined {
  if (slot === undefined || (Number.isInteger(slot) && slot >= 0 && slot <= highestSlot)) return slot
  throw new LinkError('INVALID_ARGUMENT', `The slot of the device is ${slot}, but must be from 0 to ${highestSlot}.`)
}

async function addressByMac(device: Target, ipAddressOf: Neighbours['ipAddressOf']): Promise<string | undefined> {
  const macs = [parentOf(device)?.parentMac, ...device.identifiers.map(({ mac_address }) => mac_address)]
  for (const mac of macs) {
    const address = typeof mac === 'string' ? await ipAddressOf(mac) : undefined
    if (address !== undefined) return address
  }
  return undefined
}

/** Returns the device and the slot, if the target is a module that its slot identifies. */
function parentOf({ identifiers }: Target): { parentMac: string; slot: number } | undefined {
  for (const { parent_identifier: parent, slot } of identifiers) {
    const mac =
      typeof parent === 'object' && parent !== null && 'mac_address' in parent ? parent.mac_address : undefined
    if (typeof mac === 'string' && typeof slot === 'number') return { parentMac: mac, slot }
  }
  return undefined
}
