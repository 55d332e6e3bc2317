import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import {
  type DeviceFacts,
  deviceAsset,
  isIdentified,
  macIdentifier,
} from '@millwright/link-sdk/network/device-asset.ts'
import { communicationsAdapter, controller, deviceTypeName } from './device-types.ts'
import type { Host, Module } from './host.ts'
import type { Identity } from './message.ts'
import { manufacturerOf } from './vendors.ts'

/** The place of a device in the network. `macAddress` is the address that the network reports for it. */
export type Place = { ipAddress: string; macAddress: string | undefined }

/** The name of the port of the device that was scanned. */
const portName = 'ethernet'

export function factsOf({ identity, details }: Pick<Host, 'identity' | 'details'>, place: Place): DeviceFacts {
  const { ipAddress } = place
  const macAddress = place.macAddress ?? details.macAddress
  const { interfaceSettings: settings, hostName } = details
  // A device behind network address translation reports another address, whose mask does not apply here.
  const networkMask = settings?.ipAddress === ipAddress ? settings.networkMask : undefined
  const product = productOf(identity)
  return {
    ...product,
    name: hostName ?? product.name,
    macAddress,
    ...(details.macAddress === undefined ? {} : { otherMacAddresses: [details.macAddress] }),
    interfaces: [{ name: portName, macAddress, ipAddress, networkMask }],
  }
}

/**
 * Returns the asset of the module in a slot. A module without a serial number is identified by its slot and the MAC address
 * that the network reports for the device. A MAC address that only the device reports is not used, because a device could
 * report modules of another device with it. Returns undefined if nothing identifies the module.
 */
export function moduleAsset({ slot, identity }: Module, host: Host, place: Place): Asset | undefined {
  const facts = productOf(identity)
  const device = factsOf(host, place)
  const parent = deviceAsset(device).asset_identifiers
  const relation = {
    predicate: 'is_module_of',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: parent },
  }
  const more: Asset = {
    location: [{ location_type: 'MountingLocation', slot_number: slot }],
    asset_relations: isModuleOf({ slot, identity }, host) && isIdentified(device) ? [relation] : [],
  }
  if (isIdentified(facts)) return deviceAsset({ ...facts, more })
  if (place.macAddress === undefined) return undefined
  const identifier = {
    asset_identifier_type: 'ParentRelativeIdentifier',
    parent_identifier: macIdentifier(place.macAddress),
    slot,
    subslot: 0,
  }
  return deviceAsset({ ...facts, more: { ...more, asset_identifiers: [identifier] } })
}

/**
 * Decides whether a module in the same backplane is a module of the device. If a backplane contains several devices with an
 * IP address, each finds the others. Adapters come first, then controllers, then lower slots, so that no two devices are modules of each other.
 */
function isModuleOf(module: Module, { slot, identity }: Host): boolean {
  const [moduleRank, rank] = [rankOf(module.identity), rankOf(identity)]
  if (moduleRank !== rank) return moduleRank > rank
  return slot === undefined ? rank === headTypes.length : module.slot > slot
}

function rankOf({ deviceType }: Identity): number {
  const rank = headTypes.indexOf(deviceType)
  return rank < 0 ? headTypes.length : rank
}

/** The types of devices in a backplane that often have an IP address. */
const headTypes: readonly number[] = [communicationsAdapter, controller]

function productOf(identity: Identity): DeviceFacts {
  const { vendorId, productName, serialNumber } = identity
  const manufacturer = manufacturerOf(vendorId)
  const name = productName === '' ? undefined : productName
  const { orderNumber, series } = manufacturer === rockwell ? catalogNumberIn(productName) : {}
  return {
    name,
    description: descriptionOf(identity, manufacturer),
    manufacturer,
    product: name,
    orderNumber,
    hardwareVersion: series,
    serialNumber: serialNumber === 0 ? undefined : serialText(serialNumber),
    firmwareVersion: revisionText(identity),
  }
}

const rockwell = 'Rockwell Automation'

/** Returns the catalog number at the start of a product name such as `1756-EN2T/D`, and the series of the hardware after it. */
function catalogNumberIn(productName: string): { orderNumber?: string; series?: string | undefined } {
  const [, orderNumber, series] = /^(\d{4}[A-Z]{0,3}-[A-Z0-9]+)(?:\/([A-Z]))?(?=[\s/,]|$)/.exec(productName) ?? []
  return orderNumber === undefined ? {} : { orderNumber, series }
}

/** Returns the type of the device in words. A manufacturer that is not in the table is shown as its number. */
function descriptionOf({ vendorId, deviceType, productCode }: Identity, manufacturer: string | undefined): string {
  const type = deviceTypeName(deviceType) ?? `Device type ${deviceType}`
  const vendor = manufacturer === undefined ? `Vendor ${vendorId}, ` : ''
  return `${type} (EtherNet/IP, ${vendor}product code ${productCode})`
}

/** Returns a serial number as the eight hexadecimal digits that labels and tools show. */
export function serialText(serialNumber: number): string {
  return serialNumber.toString(16).toUpperCase().padStart(8, '0')
}

/** Returns a revision in the form of the specification: the minor revision has three digits. Returns undefined for 0.0. */
export function revisionText({ revision: { major, minor } }: Identity): string | undefined {
  return major === 0 && minor === 0 ? undefined : `${major}.${String(minor).padStart(3, '0')}`
}
