import { setTimeout as delay } from 'node:timers/promises'
import { type IpRange, isInRanges, numberOfAddress } from '@millwright/api/ip-range.ts'
import type { Credential } from '@millwright/link-sdk/credential.ts'
import type { Address, DiscoverCall, DiscoveryResult, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { rangesNamed, wholeNumber } from '@millwright/link-sdk/network/range.ts'
import { assetOf } from './asset.ts'
import { ask, type Device, isTarget } from './device.ts'
import { withState } from './device-state.ts'
import { isRemembered, plantOf, plantOfSeed, rememberPlant, type ScannedPlant } from './options.ts'
import { type ReferenceDevice, referenceDevices } from './reference.ts'
import {
  addressNumber,
  addressText,
  deviceAt,
  deviceOf,
  devicesEver,
  indexesIn,
  isGone,
  type Plant,
  reachedThrough,
} from './simulator.ts'

/**
 * Yields the devices in the order of their addresses. No state is stored between devices, so memory does not grow with
 * the size of the plant.
 */
export async function* discover(call: DiscoverCall): AsyncGenerator<DiscoveryResult> {
  const wait = paced(wholeNumber(call.options, 'rate', { most: 1_000_000 }), call.signal)
  const ranges = rangesNamed('ip_range', call.filters)
  for (const { device, ...scanned } of await scan(call, ranges)) {
    await wait()
    yield answerOf(withState(device, call.home), scanned)
  }
}

type ScannedDevice = {
  device: Device
  address: Address
  /** The fields that name the device in an update. */
  metadata: Address
  credentials: readonly Credential[]
}

async function scan(call: DiscoverCall, ranges: readonly IpRange[]): Promise<Iterable<ScannedDevice>> {
  if (call.options.reference === true) return scanReference(call, ranges)
  const plant = plantOf(call.options)
  // A scan of single devices can have other options than the scan of the plant. It does not change the plant.
  const isRange = !call.targets.some(namesDevice)
  if (isRange || !isRemembered(plant, call.home)) await rememberPlant(plant, call.home)
  return scanPlant(plant, call, ranges)
}

function* scanPlant(
  plant: ScannedPlant,
  { targets, progress, home }: DiscoverCall,
  ranges: readonly IpRange[],
): Generator<ScannedDevice> {
  const isRange = !targets.some(namesDevice)
  const total = devicesEver(plant)
  const ever = Math.max(total, devicesEver(plantOfSeed(plant.seed, home)))
  const { first, end } = indexesIn(ranges, total)
  for (const { index, credentials } of wantedOf(plant, { targets, ever, first, end })) {
    if (isRange) progress(((index - first) / (end - first)) * 100)
    const through = addressNumber(reachedThrough(index))
    if (!isIn(ranges, through) || isGone(plant, index)) continue
    const address = { ip_address: addressText(through), device: index, seed: plant.seed }
    const metadata = { seed: plant.seed, device: index }
    yield { device: deviceAt(plant, index), address, metadata, credentials }
  }
}

/** `NamedTarget` is the part of a target that names a device. */
export type NamedTarget = Pick<Target, 'address' | 'identifiers'>

type ScanTarget = { index: number; credentials: readonly Credential[] }

type WantedTargets = { targets: readonly Target[]; ever: number; first: number; end: number }

/**
 * Yields the devices that the targets name, with the credentials of each target. If no target names a device, yields
 * the devices from `first` to `end` with the credentials of all targets.
 */
function* wantedOf(plant: Plant, { targets, ever, first, end }: WantedTargets): Generator<ScanTarget> {
  if (targets.some(namesDevice)) {
    for (const target of targets.filter(namesDevice)) {
      const index = indexOf(target, plant)
      if (index !== undefined && index < ever) yield { index, credentials: target.credentials }
    }
    return
  }
  const credentials = targets.flatMap((target) => target.credentials)
  for (let index = first; index < end; index += 1) yield { index, credentials }
}

/** Returns true when the target names a device. A target that has only credentials applies to all devices. */
function namesDevice({ address, identifiers }: NamedTarget): boolean {
  return Object.keys(address).length > 0 || identifiers.length > 0
}

/** Returns the index of the device that a target names by its number, MAC address or serial number. */
export function indexOf({ address, identifiers }: NamedTarget, { seed }: Pick<Plant, 'seed'>): number | undefined {
  if (typeof address.device === 'number' && address.seed === seed) return address.device
  const texts = identifiers.flatMap(({ mac_address, serial_number }) => [mac_address, serial_number])
  for (const text of texts) {
    const device = typeof text === 'string' ? deviceOf(text) : undefined
    if (device?.seed === seed) return device.index
  }
  return undefined
}

function* scanReference({ options, targets }: DiscoverCall, ranges: readonly IpRange[]): Generator<ScannedDevice> {
  const named = targets.filter(namesDevice)
  const general = targets.filter((target) => !namesDevice(target)).flatMap(({ credentials }) => credentials)
  for (const device of referenceDevices) {
    if (options.interface !== '' && options.interface !== device.nic) continue
    if (!isIn(ranges, numberOfAddress(device.network.ip) ?? 0)) continue
    const mine = named.filter((target) => isReferenceTarget(target, device))
    if (named.length > 0 && mine.length === 0) continue
    const address = { alNic: device.nic, ipAddress: device.network.ip, subDeviceID: -1 }
    const credentials = [...general, ...mine.flatMap((target) => target.credentials)]
    yield { device, address, metadata: address, credentials }
  }
}

/**
 * Returns true when the target names the reference device, by its address or, if there is no address, by its
 * identifiers.
 */
export function isReferenceTarget({ address, identifiers }: NamedTarget, device: ReferenceDevice): boolean {
  if (address.ipAddress !== undefined) {
    return address.ipAddress === device.network.ip && (address.alNic ?? device.nic) === device.nic
  }
  return isTarget(device, identifiers)
}

function isIn(ranges: readonly IpRange[], address: number): boolean {
  return ranges.length === 0 || isInRanges(ranges, address)
}

function answerOf(device: Device, { address, metadata, credentials }: Omit<ScannedDevice, 'device'>): DiscoveryResult {
  try {
    return { asset: assetOf(ask(device, credentials)), address, metadata: Buffer.from(JSON.stringify(metadata)) }
  } catch (error) {
    if (error instanceof LinkError) return { error, address }
    throw error
  }
}

/**
 * Returns a function that waits, so that at most `perSecond` devices are returned per second. If `perSecond` is 0, the
 * function only checks for cancellation.
 */
function paced(perSecond: number, signal: AbortSignal): () => Promise<void> {
  const startedAt = performance.now()
  let devices = 0
  return async () => {
    signal.throwIfAborted()
    if (perSecond === 0) return
    const aheadMs = (devices / perSecond) * 1_000 - (performance.now() - startedAt)
    devices += 1
    if (aheadMs > 1) await delay(aheadMs, undefined, { signal })
  }
}
