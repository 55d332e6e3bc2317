import type { IpRange } from '@millwright/api/ip-range.ts'
import { areas, catalogue, type Kind, type Product, tags } from './catalogue.ts'
import type { Device } from './device.ts'
import { draw, pick } from './draw.ts'

/** `Plant` is a simulated plant at a point in time. */
export type Plant = {
  size: number
  seed: number
  tick: number
  changesPercent: number
  protectedPercent: number
  silentPercent: number
}

export const plantLimits = { size: 1_000_000, seed: 0xffff, tick: 1_000_000 } as const

/** The number of devices in a station: a controller, its two modules, and five other devices. */
const perStation = 8
const modulesPerStation = 2
const stationsPerHall = 40

/** The number of devices in a subnet with the mask 255.255.255.0. The last address of the subnet is its router. */
const devicesPerSubnet = 253
const routerHost = 254

/**
 * The salts of the pseudo-random numbers, one for each purpose. They make the properties of one device independent of
 * each other.
 */
const salts = {
  kind: 9,
  product: 1,
  hardware: 2,
  firmware: 3,
  phase: 4,
  gone: 5,
  protection: 6,
  silence: 7,
  mode: 8,
} as const

function isDrawn(plant: Plant, index: number, { salt, percent }: { salt: number; percent: number }): boolean {
  return draw(plant.seed, index, salt) % 10_000 < percent * 100
}

/** Returns the number of devices that have existed up to this tick. Each tick adds some devices. */
export function devicesEver({ size, tick, changesPercent }: Plant): number {
  return Math.min(size + Math.floor((size * changesPercent * tick) / 300), plantLimits.size)
}

/** Returns true when a device is missing at this tick. At the first tick, all devices exist. */
export function isGone(plant: Plant, index: number): boolean {
  const { tick, changesPercent } = plant
  return tick > 0 && isDrawn(plant, index, { salt: salts.gone + 16 * tick, percent: changesPercent / 3 })
}

/**
 * Returns the IP address of a device as a number. The addresses are in the same order as the indexes of the devices.
 */
export function addressNumber(index: number): number {
  const subnet = Math.floor(index / devicesPerSubnet)
  return 0x0a00_0000 + subnet * 256 + (index % devicesPerSubnet) + 1
}

/**
 * Returns the indexes of the devices that can have an address in the ranges, from `first` up to, but not including, `end`. Modules
 * follow their controller and are reached through its address.
 */
export function indexesIn(ranges: readonly IpRange[], count: number): { first: number; end: number } {
  if (ranges.length === 0) return { first: 0, end: count }
  const first = devicesBelow(Math.min(...ranges.map(({ from }) => from)))
  const end = devicesBelow(Math.max(...ranges.map(({ to }) => to)) + 1) + perStation - 1
  return { first: Math.min(first, count), end: Math.min(end, count) }
}

/** Returns the number of devices whose addresses are lower than an address. */
function devicesBelow(address: number): number {
  const offset = Math.max(0, address - 0x0a00_0000)
  const inSubnet = Math.min(Math.max((offset % 256) - 1, 0), devicesPerSubnet)
  return Math.floor(offset / 256) * devicesPerSubnet + inSubnet
}

export function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.')
}

/**
 * Returns the index of the device through whose address a device is reached. A module is reached through its
 * controller.
 */
export function reachedThrough(index: number): number {
  return isModule(index) ? stationOf(index) * perStation : index
}

export function deviceAt(plant: Plant, index: number): Device {
  const kind = kindAt(plant, index)
  const product = pick<Product>(catalogue[kind], draw(plant.seed, index, salts.product))
  const station = stationOf(index)
  const { name: hall } = pick(areas, Math.floor(station / stationsPerHall))
  const serial = serialOf(plant, index)
  return {
    name: `${tags[kind]}-${String(station + 1).padStart(3, '0')}-${(index % perStation) + 1}`,
    description: `${product.name} in station ${station + 1}, ${hall}`,
    vendor: product.vendor,
    article: product.article,
    productName: product.name,
    family: product.family,
    serial,
    hardware: pick(product.hardware, draw(plant.seed, index, salts.hardware)),
    firmware: firmwareAt(plant, { index, product }),
    productLink: productLink(product.vendor, { article: product.article, serial }),
    location: { hall, station: station + 1 },
    ...(kind === 'controller' && { mode: modeAt(plant, index) }),
    needs: { read: isProtected(plant, index), admin: isProtected(plant, index) },
    isSilent: isDrawn(plant, index, { salt: salts.silence + 16 * plant.tick, percent: plant.silentPercent }),
    ...connection(plant, index),
  }
}

/** Returns the operating mode of a controller. One controller of ten is in stop. */
function modeAt({ seed }: Plant, index: number): 'run' | 'stop' {
  return draw(seed, index, salts.mode) % 10 === 0 ? 'stop' : 'run'
}

function connection(plant: Plant, index: number): Pick<Device, 'network' | 'parent'> {
  if (isModule(index)) {
    return { parent: { mac: macOf(plant, reachedThrough(index)), slot: index % perStation } }
  }
  const address = addressNumber(index)
  const router = addressText(address - (address % 256) + routerHost)
  return {
    network: { mac: macOf(plant, index), ip: addressText(address), mask: '255.255.255.0', router, port: 'enp0' },
  }
}

function stationOf(index: number): number {
  return Math.floor(index / perStation)
}

function isModule(index: number): boolean {
  const place = index % perStation
  return place >= 1 && place <= modulesPerStation
}

const fieldKinds = ['drive', 'switch', 'sensor', 'panel'] as const satisfies Kind[]

function kindAt({ seed }: Plant, index: number): Kind {
  if (index % perStation === 0) return 'controller'
  return isModule(index) ? 'module' : pick(fieldKinds, draw(seed, index, salts.kind))
}

/**
 * Returns true when reading a device requires credentials. A module is read through its controller, so the protection
 * of the controller counts.
 */
function isProtected(plant: Plant, index: number): boolean {
  return isDrawn(plant, reachedThrough(index), { salt: salts.protection, percent: plant.protectedPercent })
}

/**
 * Returns the firmware version of a device at this tick. Each update installs the next version, until the device has
 * the newest version.
 */
function firmwareAt(plant: Plant, { index, product }: { index: number; product: Product }): string {
  const first = draw(plant.seed, index, salts.firmware) % product.firmware.length
  if (plant.changesPercent === 0) return product.firmware[first] ?? product.firmware[0]
  const ticksBetween = Math.max(1, Math.round(300 / plant.changesPercent))
  const phase = draw(plant.seed, index, salts.phase) % ticksBetween
  const updates = Math.floor((plant.tick + phase) / ticksBetween)
  return product.firmware[Math.min(first + updates, product.firmware.length - 1)] ?? product.firmware[0]
}

/**
 * Returns a locally administered MAC address that contains the seed and the index, so that the device can be found by
 * its MAC address.
 */
function macOf({ seed }: Plant, index: number): string {
  return `02${hex(seed, 4)}${hex(index, 6)}`.replace(/..(?!$)/g, '$&:')
}

function serialOf({ seed }: Plant, index: number): string {
  return `MW${hex(seed, 4)}${hex(index, 6)}`
}

/** Returns the seed and the index of the device with this MAC address or serial number. */
export function deviceOf(text: string): { seed: number; index: number } | undefined {
  const match = /^(?:02|MW)([0-9A-F]{4})([0-9A-F]{6})$/i.exec(text.replaceAll(/[:-]/g, ''))
  if (match === null) return undefined
  return { seed: Number.parseInt(match[1] ?? '', 16), index: Number.parseInt(match[2] ?? '', 16) }
}

function productLink(vendor: string, { article, serial }: { article: string; serial: string }): string {
  const host = vendor.toLowerCase().replaceAll(' ', '-')
  return `https://${host}.example/?1P=${encodeURIComponent(article)}&S=${serial}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0')
}
