import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { type DeviceFacts, deviceAsset, macIdentifier } from '@millwright/link-sdk/network/device-asset.ts'
import { productDataOf } from '../system-description.ts'
import type { Station } from './dcp.ts'
import type { LldpNeighbour } from './lldp.ts'
import { idText, vendorName } from './vendors.ts'

/** `Connection` is a cable between a device and this machine, which is known by the MAC addresses of its port. */
export type Connection = { neighbour: LldpNeighbour; ownMacs: readonly string[] }

/** Returns the asset of a device that answered to Identify. `connection` is the cable to it, if there is one. */
export function stationAsset(station: Station, connection?: Connection): Asset {
  const { macAddress, ipAddress, networkMask, vendorId } = station
  const described = descriptionFacts(connection?.neighbour)
  return deviceAsset({
    ...described,
    name: station.name ?? station.type,
    description: vendorName(vendorId) === undefined ? unknownVendorText(station) : undefined,
    manufacturer: vendorName(vendorId) ?? described.manufacturer,
    product: described.product ?? station.type,
    macAddress,
    interfaces: [{ name: 'ethernet', macAddress, ipAddress, networkMask }],
    more: relationsOf(connection),
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

/** A cable connects both devices in the same way, so the relation has no direction. */
function relationsOf(connection: Connection | undefined): Asset {
  if (connection === undefined) return {}
  const relation = {
    predicate: 'is_connected_to',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: [...new Set(connection.ownMacs)].map(macIdentifier) },
    is_bidirectional: true,
  }
  return { asset_relations: [relation] }
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
