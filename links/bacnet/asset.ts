import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import {
  type DeviceFacts,
  deviceAsset,
  isIdentified,
  macIdentifier,
  softwareComponent,
} from '@millwright/link-sdk/network/device-asset.ts'
import { manufacturerName } from '../manufacturer-name.ts'
import type { Reading } from './device.ts'
import { vendorOf } from './vendors.ts'

/** `Place` is the IP address at which a device or its router answered. */
export type Place = { ipAddress: string; macAddress: string | undefined }

/** Returns the asset of a device, or undefined if nothing identifies the device. */
export function assetOf(reading: Reading, { ipAddress, macAddress }: Place): Asset | undefined {
  const facts = { ...productOf(reading), more: softwareOf(reading) }
  if (reading.station !== undefined) return routedAsset(reading, facts, macAddress)
  const port = macAddress === undefined ? [] : [{ name: 'ethernet', macAddress, ipAddress }]
  const own = { ...facts, macAddress, interfaces: port }
  return isIdentified(own) ? deviceAsset(own) : undefined
}

/**
 * Returns the asset of a device behind a router. Without a serial number, the device is identified by its router, the
 * number of its network, and its instance, which is unique in all connected BACnet networks.
 */
function routedAsset(reading: Reading, facts: DeviceFacts, routerMac: string | undefined): Asset | undefined {
  const isSerial = isIdentified(facts)
  // A device that could not be read may have a serial number, so it would become a second asset.
  if (!isSerial && (routerMac === undefined || reading.problem !== undefined)) return undefined
  if (routerMac === undefined) return deviceAsset(facts)
  const router = macIdentifier(routerMac)
  const relative = {
    asset_identifier_type: 'ParentRelativeIdentifier',
    parent_identifier: router,
    slot: reading.station?.network ?? 0,
    subslot: reading.instance,
  }
  const connection = {
    predicate: 'is_connected_to',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: [router] },
    is_bidirectional: true,
  }
  const identifiers = isSerial ? {} : { asset_identifiers: [relative] }
  return deviceAsset({ ...facts, more: { ...facts.more, ...identifiers, asset_relations: [connection] } })
}

function productOf({ instance, iAm, values }: Reading): DeviceFacts {
  const { vendorName, modelName, serialNumber, firmwareRevision, location } = values
  const vendorId = values.vendorId ?? iAm?.vendorId
  const manufacturer = vendorOf(vendorId) ?? (vendorName === undefined ? undefined : manufacturerName(vendorName))
  const unknownVendor = manufacturer === undefined && vendorId !== undefined ? `Vendor ${vendorId}` : undefined
  const descriptions = [values.description, unknownVendor].filter((text) => text !== undefined)
  return {
    name: values.objectName ?? modelName ?? `BACnet device ${instance}`,
    description: descriptions.length === 0 ? undefined : descriptions.join(', '),
    manufacturer,
    product: modelName,
    orderNumber: modelName,
    serialNumber,
    firmwareVersion: firmwareRevision,
    location: /^(unknown|none|n\/a)$/i.test(location ?? '') ? undefined : location,
  }
}

/** Returns the firmware, and the application software as a component that is not firmware. */
function softwareOf({ values: { firmwareRevision, applicationVersion } }: Reading): Asset {
  const components = [
    ...(firmwareRevision === undefined ? [] : [softwareComponent('Firmware', firmwareRevision, { isFirmware: true })]),
    ...(applicationVersion === undefined
      ? []
      : [softwareComponent('Application software', applicationVersion, { isFirmware: false })]),
  ]
  return { software_components: components }
}
