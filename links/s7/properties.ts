import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { factsOf, moduleAsset, placeAt } from './asset.ts'
import { type Module, readHost } from './host.ts'
import { manifest } from './manifest.ts'
import { highest, scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(
  Object.fromEntries((manifest.options ?? []).map(({ key, default: value }) => [key, value])),
)

const usualPort = 102
const highestPort = 65_535

/** The time for a read of one device, which has no options. It ends before the gateway stops to wait. */
const readSeconds = 15

/** The addresses of the devices of earlier scans. A device that is read later by its identifiers is found with them. */
export const knownDevices = new KnownDevices()

/** Reads the asset fields and the complete identification of a CPU, or of another module in its rack. */
export async function properties(call: PropertiesCall, neighbours: Neighbours): Promise<PropertyValues> {
  const { device, keys, permits, signal } = call
  const { address, port, rack, cpuSlot, moduleSlot } = await placeOf(device, neighbours)
  const host = await readHost(
    { address, port, timeoutMs: defaults.timeoutMs, permits, signal },
    {
      ...defaults,
      rack,
      slots: cpuSlot === undefined ? defaults.slots : [cpuSlot],
      moduleSlots: moduleSlot === undefined ? [] : [moduleSlot],
      deviceSeconds: readSeconds,
      withMode: keys.length === 0 || keys.includes('s7'),
    },
  )
  if (host === undefined)
    throw new LinkError('UNAVAILABLE', `${address} does not accept S7 connections on port ${port}.`)
  const { cpu, modules } = host
  const facts = factsOf(cpu, { ipAddress: address, macAddress: await neighbours.macAddressOf(address) })
  if (moduleSlot === undefined) return { ...valuesOf(deviceAsset(facts)), s7: valuesOf(detailsOf(cpu)) }
  const [module] = modules
  if (module === undefined)
    throw new LinkError('UNAVAILABLE', `${address} has no module that answers in rack ${rack}, slot ${moduleSlot}.`)
  return { ...valuesOf(moduleAsset(module, facts) ?? {}), s7: valuesOf(detailsOf(module)) }
}

export function supportedProperties(): SupportedProperty[] {
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url']
  const arrays = ['asset_identifiers', 'asset_relations', 'connection_points', 'software_components', 'location']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...arrays.map((key) => ({ key, type: 'array' as const })),
    ...['product_instance_information', 's7'].map((key) => ({ key, type: 'structure' as const })),
  ]
}

function detailsOf({ rack, slot, messageBytes, operatingMode, nameplate }: Module): Asset {
  return {
    rack,
    slot,
    message_bytes: messageBytes,
    operating_mode: operatingMode,
    order_number: nameplate.orderNumber,
    serial_number: nameplate.serialNumber,
    hardware_version: nameplate.hardwareVersion,
    firmware_version: nameplate.firmwareVersion,
    boot_loader_version: nameplate.bootLoaderVersion,
    plc_name: nameplate.plcName,
    module_name: nameplate.moduleName,
    module_type: nameplate.moduleType,
    plant_identification: nameplate.plantIdentification,
    location_identification: nameplate.locationIdentification,
    copyright: nameplate.copyright,
    memory_card_serial_number: nameplate.memoryCardSerialNumber,
    manufacturer_id: nameplate.manufacturerId,
    profile_id: nameplate.profileId,
    oem_copyright: nameplate.oemCopyright,
  }
}

/** Returns the values without fields that are undefined. */
function valuesOf(asset: Asset): Record<string, VariantValue> {
  return JSON.parse(JSON.stringify(asset))
}

type Place = {
  address: string
  port: number
  rack: number
  cpuSlot: number | undefined
  /** The slot of the device, if it is a module and not the CPU. */
  moduleSlot: number | undefined
}

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, { ipAddressOf }: Neighbours): Promise<Place> {
  const known = knownDevices.addressOf(device) ?? {}
  const address = typeof known.ip_address === 'string' ? known.ip_address : await addressByMac(device, ipAddressOf)
  if (address === undefined)
    throw new LinkError('UNAVAILABLE', 'The IP address of the device is not known. Scan the range of the device first.')
  const [slot, cpuSlot] = [numberOf(known.slot, highest.slot), numberOf(known.cpu_slot, highest.slot)]
  const rack = numberOf(known.rack, highest.rack) ?? defaults.rack
  const place = { address, port: numberOf(known.port, highestPort) ?? usualPort, rack }
  if (cpuSlot !== undefined) return { ...place, cpuSlot, moduleSlot: slot }
  const parent = parentOf(device)
  if (parent === undefined) return { ...place, cpuSlot: slot, moduleSlot: undefined }
  return { ...place, rack: parent.rack, cpuSlot: undefined, moduleSlot: parent.slot }
}

function numberOf(value: unknown, most: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most ? value : undefined
}

async function addressByMac(device: Target, ipAddressOf: Neighbours['ipAddressOf']): Promise<string | undefined> {
  const macs = [parentOf(device)?.mac, ...device.identifiers.map(({ mac_address }) => mac_address)]
  for (const mac of macs) {
    const address = typeof mac === 'string' ? await ipAddressOf(mac) : undefined
    if (address !== undefined) return address
  }
  return undefined
}

/** Returns the MAC address of the controller, the rack and the slot, if the device is a module without a serial number. */
function parentOf({ identifiers }: Target): { mac: string; rack: number; slot: number } | undefined {
  for (const { parent_identifier: parent, slot } of identifiers) {
    const mac =
      typeof parent === 'object' && parent !== null && 'mac_address' in parent ? parent.mac_address : undefined
    const position = numberOf(slot, highest.position)
    if (typeof mac === 'string' && position !== undefined) return { mac, ...placeAt(position) }
  }
  return undefined
}
