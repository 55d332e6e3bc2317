import { assetLimits } from '@millwright/api/asset-schema.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import {
  type DeviceFacts,
  deviceAsset,
  type InterfaceFacts,
  isIdentified,
  macIdentifier,
} from '@millwright/link-sdk/network/device-asset.ts'
import { manufacturerName } from '../manufacturer-name.ts'
import { productDataOf } from '../system-description.ts'
import { type Entity, entityClass, type Interface, type Reading } from './device.ts'
import { enterpriseOf, manufacturerOf } from './enterprises.ts'
import { type Connection, connectionsOf } from './topology.ts'

/** Converts the reading of a device to facts about it. `arpMac` is the MAC address in the ARP table of this machine. */
export function factsOf(reading: Reading, { ipAddress, arpMac }: { ipAddress: string; arpMac?: string | undefined }) {
  const { system } = reading
  const enterprise = enterpriseOf(system.objectId)
  const text = productDataOf(enterprise, system.description)
  const main = mainEntityOf(reading.entities)
  const orderNumber = text.orderNumber ?? main?.model
  const product = text.product ?? main?.model ?? main?.description
  const [macAddress, ...otherMacAddresses] = identifyingMacs(reading, { ipAddress, arpMac })
  const facts: DeviceFacts = {
    name: short(system.name ?? product ?? `SNMP device ${ipAddress}`),
    description: system.description,
    manufacturer: short(manufacturerOf(enterprise) ?? named(main?.manufacturer)),
    product: short(product),
    productFamily: short(text.family),
    orderNumber: short(orderNumber),
    serialNumber: short(main?.serialNumber ?? text.serial),
    hardwareVersion: short(main?.hardwareRevision ?? text.hardware),
    firmwareVersion: short(main?.softwareRevision ?? main?.firmwareRevision ?? text.firmware),
    location: /^(unknown|none|n\/a)$/i.test(system.location ?? '') ? undefined : short(system.location),
    macAddress,
    otherMacAddresses,
    interfaces: interfacesOf(reading, ipAddress),
  }
  return facts
}

function short(text: string | undefined): string | undefined {
  return text?.slice(0, assetLimits.nameCharacters)
}

function named(manufacturer: string | undefined): string | undefined {
  return manufacturer === undefined ? undefined : manufacturerName(manufacturer)
}

/** Returns the entity that is the device itself: the first chassis, or the first entity that is not part of another. */
function mainEntityOf(entities: readonly Entity[]): Entity | undefined {
  return (
    entities.find((one) => one.class === entityClass.chassis) ?? entities.find(({ containedIn }) => containedIn === 0)
  )
}

/** The maximum number of MAC addresses that identify one device. */
const mostMacs = 16

/**
 * Returns the MAC addresses that identify the device: that of the scanned address first, then those by which neighbours
 * know the device. If there is none, the lowest address of all interfaces is used.
 */
function identifyingMacs(
  { interfaces, addresses, neighbours }: Reading,
  { ipAddress, arpMac }: { ipAddress: string; arpMac?: string | undefined },
): string[] {
  const macAt = (index: number) => interfaces.find((one) => one.index === index)?.macAddress
  const scanned = addresses.filter((one) => one.ipAddress === ipAddress).map((one) => macAt(one.interfaceIndex))
  const routed = addresses.map((one) => macAt(one.interfaceIndex)).filter(isUniversal)
  const macs = [arpMac, ...scanned, neighbours?.chassisMac, neighbours?.bridgeMac, ...routed]
  const found = [...new Set(macs.filter((mac) => mac !== undefined))].slice(0, mostMacs)
  if (found.length > 0) return found
  const [lowest] = interfaces.flatMap(({ macAddress }) => macAddress ?? []).toSorted()
  return lowest === undefined ? [] : [lowest]
}

/** Addresses that software assigned are not unique: containers have the same ones on many devices. */
function isUniversal(mac: string | undefined): boolean {
  return mac !== undefined && (Number.parseInt(mac.slice(0, 2), 16) & 2) === 0
}

/** The type of the loopback interface, as IANA numbers it. */
const loopback = 24

function interfacesOf({ interfaces, addresses }: Reading, ipAddress: string): InterfaceFacts[] {
  const all = interfaces
    .filter(({ type }) => type !== loopback)
    .flatMap((one) => {
      const own = addresses.filter(({ interfaceIndex }) => interfaceIndex === one.index)
      return one.macAddress === undefined && own.length === 0 ? [] : pointsOf(one, own)
    })
  const isListed = all.some((one) => one.ipAddress === ipAddress)
  const points = isListed ? all : [{ name: 'snmp', ipAddress }, ...all]
  // Each entry becomes up to two connection points.
  return points.slice(0, assetLimits.entries / 2)
}

function pointsOf({ name, macAddress }: Interface, addresses: Reading['addresses']): InterfaceFacts[] {
  // The id of an address contains the name of the interface, so the name is shorter than the limit.
  const port = { name: name.slice(0, 200), macAddress }
  if (addresses.length === 0) return [port]
  return addresses.map(({ ipAddress, networkMask }) => ({ ...port, ipAddress, networkMask }))
}

/** Returns the asset of a device with its connections. */
export function assetOf(facts: DeviceFacts, reading: Reading): Asset {
  const relations = connectionsOf(reading).slice(0, assetLimits.entries).map(relationOf)
  return deviceAsset({ ...facts, more: { asset_relations: relations } })
}

/** A cable connects both devices in the same way, so the relation has no direction. */
function relationOf({ macAddresses }: Connection): Asset {
  return {
    predicate: 'is_connected_to',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: macAddresses.map(macIdentifier) },
    is_bidirectional: true,
  }
}

const moduleClasses: readonly number[] = [
  entityClass.chassis,
  entityClass.powerSupply,
  entityClass.fan,
  entityClass.module,
]

/**
 * Returns the modules of a device, each with the index of its entity. A module is an asset if it has a model or description,
 * and a serial number that differs from that of the device.
 */
export function modulesOf(device: DeviceFacts, { entities }: Reading): { index: number; asset: Asset }[] {
  const main = mainEntityOf(entities)
  const parent = deviceAsset(device).asset_identifiers
  const serials = new Set([device.serialNumber])
  const modules = entities.filter((one) => {
    const isModule = one !== main && moduleClasses.includes(one.class) && !serials.has(one.serialNumber)
    serials.add(one.serialNumber)
    return isModule && one.serialNumber !== undefined
  })
  return modules.flatMap((module) => {
    const facts = moduleFacts(module, { parent, manufacturer: moduleManufacturer(module, main, device) })
    return isIdentified(facts) ? [{ index: module.index, asset: deviceAsset(facts) }] : []
  })
}

/** A module of the same manufacturer as the device has the same name of the manufacturer. */
function moduleManufacturer(module: Entity, main: Entity | undefined, device: DeviceFacts): string | undefined {
  const isOther = module.manufacturer !== undefined && module.manufacturer !== main?.manufacturer
  return isOther ? named(module.manufacturer) : device.manufacturer
}

type ModuleOrigin = { parent: Asset[string]; manufacturer: string | undefined }

function moduleFacts(module: Entity, { parent, manufacturer }: ModuleOrigin): DeviceFacts {
  const { name, description, model, position } = module
  return {
    name: short(name ?? description ?? model ?? `Module ${module.index}`),
    description,
    manufacturer: short(manufacturer),
    product: short(model ?? description),
    orderNumber: short(model),
    serialNumber: short(module.serialNumber),
    hardwareVersion: short(module.hardwareRevision),
    firmwareVersion: short(module.softwareRevision ?? module.firmwareRevision),
    more: {
      location:
        position !== undefined && position >= 0
          ? [{ location_type: 'MountingLocation', slot_number: position }]
          : undefined,
      asset_relations: [
        {
          predicate: 'is_module_of',
          relational_role_of_related_asset: 'object',
          related_asset: { asset_identifiers: parent },
        },
      ],
    },
  }
}
