import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices, parentOf } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { propertyValues } from '@millwright/link-sdk/network/property-values.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { factsOf, moduleAsset, placeAt } from './asset.ts'
import { type Module, readHost } from './host.ts'
import { manifest } from './manifest.ts'
import { highest, scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(defaultOptionsOf(manifest))

const usualPort = 102
const highestPort = 65_535

/** The time for a read of one device, which has no options. It ends before the gateway stops waiting. */
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
    throw new LinkError(
      'UNAVAILABLE',
      `${address} does not accept S7 connections at port ${port}. Check the device and the network.`,
    )
  const { cpu, modules } = host
  const facts = factsOf(cpu, { ipAddress: address, macAddress: await neighbours.macAddressOf(address) })
  if (moduleSlot === undefined) return { ...propertyValues(deviceAsset(facts)), s7: propertyValues(detailsOf(cpu)) }
  const [module] = modules
  if (module === undefined)
    throw new LinkError(
      'UNAVAILABLE',
      `${address} has no module that answers in rack ${rack}, slot ${moduleSlot}. Check the module, and scan the device again.`,
    )
  return { ...propertyValues(moduleAsset(module, facts) ?? {}), s7: propertyValues(detailsOf(module)) }
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
async function placeOf(device: Target, neighbours: Neighbours): Promise<Place> {
  const parent = placeInRackOf(device)
  const known = await knownDevices.locate(device, neighbours, parent?.mac)
  const address = known.ip_address
  const [slot, cpuSlot] = [numberOf(known.slot, highest.slot), numberOf(known.cpu_slot, highest.slot)]
  const rack = numberOf(known.rack, highest.rack) ?? defaults.rack
  const place = { address, port: numberOf(known.port, highestPort) ?? usualPort, rack }
  if (cpuSlot !== undefined) return { ...place, cpuSlot, moduleSlot: slot }
  if (parent === undefined) return { ...place, cpuSlot: slot, moduleSlot: undefined }
  return { ...place, rack: parent.rack, cpuSlot: undefined, moduleSlot: parent.slot }
}

function numberOf(value: unknown, most: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most ? value : undefined
}

/** Returns the MAC address of the controller, the rack and the slot, if the device is a module without a serial number. */
function placeInRackOf(device: Target): { mac: string; rack: number; slot: number } | undefined {
  const parent = parentOf(device)
  const position = numberOf(parent?.slot, highest.position)
  return parent === undefined || position === undefined ? undefined : { mac: parent.mac, ...placeAt(position) }
}
