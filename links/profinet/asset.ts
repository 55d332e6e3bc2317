import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { type DeviceFacts, deviceAsset, macIdentifier } from '@millwright/link-sdk/network/device-asset.ts'
import { productDataOf } from '../system-description.ts'
import type { Station } from './dcp.ts'
import type { LldpNeighbour } from './lldp.ts'
import type { Identification } from './record.ts'
import type { Records } from './record-reader.ts'
import { idText, vendorName } from './vendors.ts'

/** `Connection` is a cable between a device and this machine, which is known by the MAC addresses of its port. */
export type Connection = { neighbour: LldpNeighbour; ownMacs: readonly string[] }

/** `StationContext` is what else is known of a station: the cable to it, and its records. */
export type StationContext = { connection?: Connection | undefined; records?: Records | undefined }

/** Returns the asset of a device that answered to Identify. */
export function stationAsset(station: Station, { connection, records }: StationContext = {}): Asset {
  const { macAddress, ipAddress, networkMask, vendorId } = station
  const described = { ...descriptionFacts(connection?.neighbour), ...nameplateFacts(records?.identification) }
  return deviceAsset({
    ...described,
    name: station.name ?? station.type,
    description: vendorName(vendorId) === undefined ? unknownVendorText(station) : undefined,
    manufacturer: vendorName(vendorId) ?? described.manufacturer,
    product: described.product ?? station.type,
    macAddress,
    interfaces: [{ name: 'ethernet', macAddress, ipAddress, networkMask }],
    more: relationsOf(
      connection,
      records?.peers.filter((mac) => mac !== macAddress),
    ),
  })
}

/** Returns the asset of an LLDP neighbour that does not answer to Identify, such as a switch without PROFINET. */
export function neighbourAsset(connection: Connection): Asset {
  const { neighbour } = connection
  const macAddress = neighbourMac(neighbour)
  return deviceAsset({
    ...descriptionFacts(neighbour),
    name: neighbour.systemName ?? neighbour.chassisName,
    description: neighbour.systemDescription,
    macAddress,
    interfaces: [{ name: 'ethernet', macAddress, ipAddress: neighbour.ipAddress }],
    more: relationsOf(connection),
  })
}

/** Returns the MAC address that identifies a neighbour: that of the device, or else that of its port. */
export function neighbourMac({ chassisMac, sourceMac }: LldpNeighbour): string {
  return chassisMac ?? sourceMac
}

/** Returns whether a neighbour is this station. PROFINET devices send their name of station as chassis id. */
export function isStation(neighbour: LldpNeighbour, { macAddress, name }: Station): boolean {
  if (neighbourMac(neighbour) === macAddress) return true
  return (
    neighbour.chassisMac === undefined && neighbour.isProfinet && name !== undefined && neighbour.chassisName === name
  )
}

/** The enterprise number of Siemens, whose descriptions contain the order number and the serial number. */
const siemensEnterprise = 4329

function descriptionFacts(neighbour: LldpNeighbour | undefined): DeviceFacts {
  const { family, product, orderNumber, serial, hardware, firmware } = productDataOf(
    siemensEnterprise,
    neighbour?.systemDescription,
  )
  return {
    manufacturer: orderNumber === undefined ? undefined : 'Siemens',
    product,
    productFamily: family,
    orderNumber,
    serialNumber: serial,
    hardwareVersion: hardware,
    firmwareVersion: firmware,
  }
}

function unknownVendorText({ vendorId, deviceId }: Station): string | undefined {
  if (vendorId === undefined) return undefined
  const device = deviceId === undefined ? '' : `, device ${idText(deviceId)}`
  return `PROFINET device. Vendor ${idText(vendorId)}${device}`
}

/** Returns the facts of a nameplate that are filled. */
function nameplateFacts(nameplate: Identification | undefined): DeviceFacts {
  if (nameplate === undefined) return {}
  const { vendorId, orderNumber, serialNumber, hardwareRevision, firmwareVersion } = nameplate
  const facts = {
    manufacturer: vendorName(vendorId),
    orderNumber,
    serialNumber,
    hardwareVersion: hardwareRevision,
    firmwareVersion,
  }
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}

/** Returns the cables of a device: to this machine, and to the devices at its ports. */
function relationsOf(connection: Connection | undefined, peers: readonly string[] = []): Asset {
  const own = [...new Set(connection?.ownMacs)]
  const others = peers.filter((mac) => !own.includes(mac)).map((mac) => [mac])
  const cables = [...(own.length === 0 ? [] : [own]), ...others]
  return cables.length === 0 ? {} : { asset_relations: cables.map(relationTo) }
}

/** A cable connects both devices in the same way, so the relation has no direction. */
function relationTo(macAddresses: readonly string[]): Asset {
  return {
    predicate: 'is_connected_to',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: macAddresses.map(macIdentifier) },
    is_bidirectional: true,
  }
}

/** Returns all facts of a station for the property `profinet`. */
export function stationDetails(station: Station): Asset {
  const id = (value: number | undefined) => (value === undefined ? undefined : idText(value))
  return {
    name_of_station: station.name,
    type_of_station: station.type,
    vendor_id: id(station.vendorId),
    device_id: id(station.deviceId),
    oem_vendor_id: id(station.oemVendorId),
    oem_device_id: id(station.oemDeviceId),
    instance: station.instance,
    roles: station.roles && [...station.roles],
    alias_name: station.alias,
    mac_address: station.macAddress,
    ip_address: station.ipAddress,
    network_mask: station.networkMask,
    router: station.router,
    ip_state: station.ipState,
    ip_conflict: station.hasIpConflict,
    options: station.options && [...station.options],
  }
}
