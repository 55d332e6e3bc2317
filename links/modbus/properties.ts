import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices, parentOf } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { propertyValues } from '@millwright/link-sdk/network/property-values.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { factsOf, type Nameplate, unitAsset } from './asset.ts'
import { readHost } from './host.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(defaultOptionsOf(manifest))

/** The time for a read of one device, which has no options. It ends before the gateway stops waiting. */
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
      : unitAsset({ gatewayMac: parent.mac, unit: parent.slot, nameplate })
  return { ...propertyValues(asset), modbus: propertyValues(detailsOf(nameplate, host.unit)) }
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

type Place = { address: string; port: number; unit: number | undefined }

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, neighbours: Neighbours): Promise<Place> {
  const parent = parentOf(device)
  const { ip_address: address, port, unit_id } = await knownDevices.locate(device, neighbours, parent?.mac)
  const unit = typeof unit_id === 'number' ? unit_id : parent?.slot
  return { address, port: typeof port === 'number' ? port : 502, unit }
}
