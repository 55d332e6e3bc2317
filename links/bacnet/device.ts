import { BacnetError } from './bacnet-error.ts'
import type { Channel, FoundDevice } from './channel.ts'
import { highestInstance, type PropertyValue, type ReadTarget } from './codec.ts'

/** The numbers of the properties of a device object that the link reads. A request for all of them has at most 50 bytes. */
const propertyNumbers = {
  vendorName: 121,
  vendorId: 120,
  modelName: 70,
  firmwareRevision: 44,
  applicationVersion: 12,
  objectName: 77,
  description: 28,
  location: 58,
  serialNumber: 372,
  protocolVersion: 98,
  protocolRevision: 139,
  systemStatus: 112,
} as const
const objectIdentifier = 75

type PropertyName = keyof typeof propertyNumbers
const numberNames = ['vendorId', 'protocolVersion', 'protocolRevision', 'systemStatus'] as const
type NumberName = (typeof numberNames)[number]

/** `DeviceValues` contains the properties of a device object that the device has. */
export type DeviceValues = Partial<Record<Exclude<PropertyName, NumberName>, string>> &
  Partial<Record<NumberName, number>>

/** `Reading` is a device with its properties. */
export type Reading = FoundDevice & {
  values: DeviceValues
  /** The reason why the properties were not read. */
  problem?: BacnetError
}

/**
 * Reads the properties of a device with one request. If the device does not support this request, or if the answer would
 * need segments, reads each property with its own request.
 */
export async function readDevice(channel: Channel, device: FoundDevice): Promise<Reading> {
  const read = await readTogether(channel, device).catch(asBacnetError)
  if (!(read instanceof BacnetError)) return { ...device, values: valuesOf(read) }
  if (read.fault === 'refused') throw read
  return { ...device, values: valuesOf(await readSingly(channel, device)) }
}

/** Reads a device that was found. If its properties cannot be read, the result contains the reason. */
export async function readFoundDevice(channel: Channel, device: FoundDevice): Promise<Reading> {
  try {
    return await readDevice(channel, device)
  } catch (error) {
    return { ...device, values: {}, problem: asBacnetError(error) }
  }
}

function readTogether(channel: Channel, target: ReadTarget): Promise<ReadonlyMap<number, PropertyValue>> {
  return channel.readProperties(target, Object.values(propertyNumbers))
}

async function readSingly(channel: Channel, target: ReadTarget): Promise<ReadonlyMap<number, PropertyValue>> {
  const values = new Map<number, PropertyValue>()
  let refusal: BacnetError | undefined
  for (const property of Object.values(propertyNumbers)) {
    const read = await channel.readProperty(target, property).catch(asBacnetError)
    if (!(read instanceof BacnetError)) values.set(property, read.value)
    else if (read.fault === 'rejected' || read.fault === 'segmented') refusal ??= read
    else throw read
  }
  if (values.size === 0 && refusal !== undefined) throw refusal
  return values
}

function asBacnetError(error: unknown): BacnetError {
  if (error instanceof BacnetError) return error
  throw error
}

function valuesOf(read: ReadonlyMap<number, PropertyValue>): DeviceValues {
  const entries = Object.entries(propertyNumbers).map(([name, number]) => {
    const value = read.get(number)
    const type = numberNames.some((one) => one === name) ? 'number' : 'string'
    return [name, typeof value === type ? value : undefined] as const
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/**
 * Returns the instance of a device that does not answer to Who-Is. Many devices answer to Who-Is only with a broadcast, but
 * all devices answer directly to a request for their own identifier. Returns undefined if the address is silent.
 */
export async function readInstance(channel: Channel): Promise<number | undefined> {
  const anyDevice = { instance: highestInstance }
  const read = await channel.readProperty(anyDevice, objectIdentifier, { attempts: 1 }).catch(asBacnetError)
  if (!(read instanceof BacnetError)) return typeof read.value === 'number' ? read.value : read.instance
  if (read.fault === 'silent' || read.fault === 'refused') return undefined
  if (read.fault === 'faulty') throw read
  throw new BacnetError(
    read.fault,
    `${read.message} The instance number of the device is not known, so it cannot be read. Use the option broadcast.`,
  )
}
