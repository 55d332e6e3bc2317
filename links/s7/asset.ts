import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import {
  type DeviceFacts,
  deviceAsset,
  isIdentified,
  macIdentifier,
} from '@millwright/link-sdk/network/device-asset.ts'
import type { Module } from './host.ts'
import type { Nameplate } from './system-status-list.ts'

/** The number of Siemens, which PROFIBUS & PROFINET International assigns. */
const siemensId = 42

/** The start of the order numbers of Siemens for automation products. */
const siemensOrderNumber = /^6(ES|GK|AG|AU|AV|DD|DL|FC|SL)\d/

/** `ControllerPlace` is where the link found a controller. */
export type ControllerPlace = { ipAddress: string; macAddress: string | undefined }

/** Returns the facts about the CPU of a controller, which has the IP address. */
export function factsOf({ nameplate }: Module, { ipAddress, macAddress }: ControllerPlace): DeviceFacts {
  const port = macAddress === undefined ? [] : [{ name: 'ethernet', macAddress, ipAddress }]
  const location = locationsOf(nameplate)
  return {
    ...productOf(nameplate),
    macAddress,
    interfaces: port,
    ...(location.length === 0 ? {} : { more: { location } }),
  }
}

/** The number of slots of a rack in the position of a module, as in the address (TSAP) of the module. */
const slotsPerRack = 32

function positionOf({ rack, slot }: { rack: number; slot: number }): number {
  return rack * slotsPerRack + slot
}

/** Returns the rack and slot of the position in the identifier of a module. */
export function placeAt(position: number): { rack: number; slot: number } {
  return { rack: Math.floor(position / slotsPerRack), slot: position % slotsPerRack }
}

/**
 * Returns the asset of a module in the rack of a controller, with the facts about the controller. A module without a serial
 * number is identified by the MAC address of the controller, its rack and its slot. Returns undefined if nothing identifies it.
 */
export function moduleAsset({ rack, slot, nameplate }: Module, controller: DeviceFacts): Asset | undefined {
  const product = productOf(nameplate)
  const { macAddress } = controller
  const isSerial = isIdentified(product)
  if (!isSerial && macAddress === undefined) return undefined
  const place = { location_type: 'MountingLocation', slot_name: `Rack ${rack}, slot ${slot}`, slot_number: slot }
  const relation = {
    predicate: 'is_module_of',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: deviceAsset(controller).asset_identifiers },
  }
  const more: Asset = { location: [place, ...locationsOf(nameplate)], asset_relations: [relation] }
  if (isSerial || macAddress === undefined) return deviceAsset({ ...product, more })
  const identifier = {
    asset_identifier_type: 'ParentRelativeIdentifier',
    parent_identifier: macIdentifier(macAddress),
    slot: positionOf({ rack, slot }),
    subslot: 0,
  }
  return deviceAsset({ ...product, more: { ...more, asset_identifiers: [identifier] } })
}

function productOf(nameplate: Nameplate): DeviceFacts {
  const { moduleName, plcName, moduleType, hardwareVersion, firmwareVersion } = nameplate
  const manufacturer = manufacturerOf(nameplate)
  const isUnknown = manufacturer === undefined && nameplate.manufacturerId !== undefined && nameplate.manufacturerId > 0
  return {
    name: moduleName ?? plcName ?? moduleType ?? nameplate.orderNumber,
    description: isUnknown ? `Vendor ${nameplate.manufacturerId}` : undefined,
    manufacturer,
    product: moduleType,
    orderNumber: orderNumberOf(nameplate),
    serialNumber: nameplate.serialNumber,
    hardwareVersion,
    firmwareVersion,
  }
}

/**
 * Returns the manufacturer by its number, copyright or order number. Controllers of VIPA have their manufacturer in the order
 * number.
 */
function manufacturerOf({ manufacturerId = 0, copyright = '', orderNumber = '' }: Nameplate): string | undefined {
  if (/^VIPA\b/.test(orderNumber)) return 'VIPA'
  if (manufacturerId > 0) return manufacturerId === siemensId ? 'Siemens' : undefined
  return /siemens/i.test(copyright) || siemensOrderNumber.test(orderNumber) ? 'Siemens' : undefined
}

/** Returns the order number with the space after its first four characters, as SNMP and OPC UA report it. */
function orderNumberOf({ orderNumber }: Nameplate): string | undefined {
  if (orderNumber === undefined || !siemensOrderNumber.test(orderNumber)) return orderNumber
  return `${orderNumber.slice(0, 4)} ${orderNumber.slice(4).trim()}`
}

function locationsOf({ plantIdentification, locationIdentification }: Nameplate): Asset[] {
  return [
    ...(plantIdentification === undefined ? [] : [{ location_type: 'Akz', plant_designation: plantIdentification }]),
    ...(locationIdentification === undefined
      ? []
      : [{ location_type: 'Okz', location_identifier: locationIdentification }]),
  ]
}
