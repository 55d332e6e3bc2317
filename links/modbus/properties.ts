import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { factsOf, type Nameplate, unitAsset } from './asset.ts'
import { readHost } from './host.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(
  Object.fromEntries((manifest.options ?? []).map(({ key, default: value }) => [key, value])),
)

/** The time for a read of one device, which has no options. It ends before the gateway stops to wait. */
const readSeconds = 15

/** The addresses of the devices of earlier scans. A device that is read later by its identifiers is found with them. */
export const knownDevices = new KnownDevices()

/** Reads the asset fields and the complete nameplate of a device, or of a unit behind a gateway. */
export async function properties(call: PropertiesCall, neighbours: Neighbours): Promise<PropertyValues> {
  const { device, permits, signal } = call
  const { address, port, unit } = await placeOf(device, neighbours)
  const unitIds = unit === undefined ? defaults.unitIds : [unit]
  const host = await readHost(
    { address, port, timeoutMs: defaults.timeoutMs, permits, signal },
    { ...defaults, unitIds, gatewayUnits: [], deviceSeconds: readSeconds },
  )
  if (host === undefined)
    throw new LinkError('UNAVAILABLE', `${address} does not accept Modbus connections on port ${port}.`)
  const { nameplate } = host
  const macAddress = await neighbours.macAddressOf(address)
  const parent = parentOf(device)
  const asset =
    parent === undefined
      ? deviceAsset(factsOf({ ipAddress: address, macAddress, nameplate }))
      : unitAsset({ ...parent, nameplate })
  return { ...valuesOf(asset), modbus: valuesOf(detailsOf(nameplate, host.unit)) }
}

export function supportedProperties(): SupportedProperty[] {
  const texts = ['name', 'description', 'functional_object_type', 'functional_object_schema_url']
  const arrays = ['asset_identifiers', 'asset_relations', 'connection_points', 'software_components']
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...arrays.map((key) => ({ key, type: 'array' as const })),
    ...['product_instance_information', 'modbus'].map((key) => ({ key, type: 'structure' as const })),
  ]
}

function detailsOf(nameplate: Nameplate, unit: number): Asset {
  return {
    unit_id: unit,
    conformity_level: nameplate.conformityLevel,
    vendor_name: nameplate.vendorName,
    product_code: nameplate.productCode,
    revision: nameplate.majorMinorRevision,
    vendor_url: nameplate.vendorUrl,
    product_name: nameplate.productName,
    model_name: nameplate.modelName,
    user_application_name: nameplate.userApplicationName,
    private_objects: nameplate.privateObjects,
  }
}

/** Returns the values without fields that are undefined. */
function valuesOf(asset: Asset): Record<string, VariantValue> {
  return JSON.parse(JSON.stringify(asset))
}

type Place = { address: string; port: number; unit: number | undefined }

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, { ipAddressOf }: Neighbours): Promise<Place> {
  const { ip_address, port, unit_id } = knownDevices.addressOf(device) ?? {}
  const address = typeof ip_address === 'string' ? ip_address : await addressByMac(device, ipAddressOf)
  if (address === undefined)
    throw new LinkError('UNAVAILABLE', 'The IP address of the device is not known. Scan the range of the device first.')
  const unit = typeof unit_id === 'number' ? unit_id : parentOf(device)?.unit
  return { address, port: typeof port === 'number' ? port : 502, unit }
}

async function addressByMac(device: Target, ipAddressOf: Neighbours['ipAddressOf']): Promise<string | undefined> {
  const macs = [parentOf(device)?.gatewayMac, ...device.identifiers.map(({ mac_address }) => mac_address)]
  for (const mac of macs) {
    const address = typeof mac === 'string' ? await ipAddressOf(mac) : undefined
    if (address !== undefined) return address
  }
  return undefined
}

/** Returns the gateway and the unit id, if the device is a unit behind a gateway. */
function parentOf({ identifiers }: Target): { gatewayMac: string; unit: number } | undefined {
  for (const { parent_identifier: parent, slot } of identifiers) {
    const mac =
      typeof parent === 'object' && parent !== null && 'mac_address' in parent ? parent.mac_address : undefined
    if (typeof mac === 'string' && typeof slot === 'number') return { gatewayMac: mac, unit: slot }
  }
  return undefined
}
