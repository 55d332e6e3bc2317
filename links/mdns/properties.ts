import type { PropertiesCall, PropertyValues, SupportedProperty, Target } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { propertyValues } from '@millwright/link-sdk/network/property-values.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { factsOf } from './asset.ts'
import { type Reading, readDevice } from './device.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'

const defaults = scanOptionsOf(defaultOptionsOf(manifest))

/** The port of multicast DNS. */
const usualPort = 5353

/** The time for a read of one device, which has no options. It ends before the gateway stops waiting. */
const readSeconds = 15

/** The addresses of the devices of earlier scans. A device that is read later by its identifiers is found with them. */
export const knownDevices = new KnownDevices()

/** Reads the asset fields and all services of a device. */
export async function properties(call: PropertiesCall, neighbours: Neighbours): Promise<PropertyValues> {
  const { device, permits, signal } = call
  const { address, port } = await placeOf(device, neighbours)
  const at = { address, port, timeoutMs: defaults.timeoutMs, permits, signal }
  const reading = await readDevice(at, { deviceSeconds: readSeconds })
  if (reading === undefined)
    throw new LinkError(
      'UNAVAILABLE',
      `The device at ${address} does not answer to multicast DNS queries at UDP port ${port}. Check the device and the network.`,
    )
  const macAddress = await neighbours.macAddressOf(address)
  const asset = deviceAsset(factsOf({ ipAddress: address, macAddress, reading }))
  return { ...propertyValues(asset), mdns: propertyValues(detailsOf(reading)) }
}

export function supportedProperties(): SupportedProperty[] {
  const texts = ['name', 'functional_object_type', 'functional_object_schema_url']
  const arrays = [
    ...['asset_identifiers', 'connection_points', 'software_components', 'instance_annotations'],
    'location',
  ]
  return [
    ...texts.map((key) => ({ key, type: 'text' as const })),
    ...arrays.map((key) => ({ key, type: 'array' as const })),
    ...['product_instance_information', 'mdns'].map((key) => ({ key, type: 'structure' as const })),
  ]
}

function detailsOf({ hostName, services }: Reading): Asset {
  return {
    host_name: hostName,
    services: services.map(({ type, name, host, port, txt }) => ({ type, name, host, port, txt: [...txt] })),
  }
}

/**
 * Finds a device by the address that the discovery returned. If the call does not contain it, finds the device by its
 * identifiers, with the addresses of earlier scans and with the ARP table.
 */
async function placeOf(device: Target, neighbours: Neighbours): Promise<{ address: string; port: number }> {
  const { ip_address: address, port } = await knownDevices.locate(device, neighbours)
  return { address, port: typeof port === 'number' ? port : usualPort }
}
