import { EthernetIpError } from './ethernet-ip-error.ts'
import {
  classes,
  type Identity,
  type InterfaceSettings,
  parseIdentity,
  parseInterfaceSettings,
  parseMacAddress,
  parseShortText,
  parseText,
} from './message.ts'
import type { ObjectReader } from './reader.ts'

/** `Details` contains what a device reports about its network interface. */
export type Details = {
  hostName?: string | undefined
  macAddress?: string | undefined
  interfaceSettings?: InterfaceSettings | undefined
}

/** The attributes of the identity object, by the fields of an `Identity`. */
const identityAttributes = {
  vendorId: 1,
  deviceType: 2,
  productCode: 3,
  revision: 4,
  status: 5,
  serialNumber: 6,
  productName: 7,
} as const

/**
 * Reads the identity object of a device, or of the module in a slot. If it does not support the service for all attributes,
 * the attributes are read individually.
 */
export async function readIdentity(reader: ObjectReader, slot?: number): Promise<Identity> {
  const path = { classId: classes.identity, instance: 1 }
  try {
    const identity = parseIdentity(await reader.read(path, slot))
    if (typeof identity !== 'string') return identity
  } catch (error) {
    if (!(error instanceof EthernetIpError) || !error.isServiceMissing) throw error
  }
  const values: Partial<Record<keyof typeof identityAttributes, Buffer>> = {}
  for (const [name, attribute] of Object.entries(identityAttributes)) {
    const value = await attempt(() => reader.read({ ...path, attribute }, slot))
    if (value !== undefined) values[name as keyof typeof identityAttributes] = value
  }
  return {
    vendorId: numberIn(values.vendorId, 2),
    deviceType: numberIn(values.deviceType, 2),
    productCode: numberIn(values.productCode, 2),
    revision: { major: values.revision?.[0] ?? 0, minor: values.revision?.[1] ?? 0 },
    status: numberIn(values.status, 2),
    serialNumber: numberIn(values.serialNumber, 4),
    productName: parseShortText(values.productName ?? Buffer.alloc(0)) ?? '',
  }
}

/** Returns whether the answer to ListIdentity lacks what identifies the device. */
export function isIncomplete({ vendorId, serialNumber, productName }: Identity): boolean {
  return vendorId === 0 || serialNumber === 0 || productName === ''
}

/** Returns the identity with the fields of another reading for those that are missing. */
export function completed<Partially extends Identity>(identity: Partially, other: Identity): Partially {
  const { vendorId, serialNumber, productName } = identity
  return {
    ...identity,
    vendorId: vendorId || other.vendorId,
    serialNumber: serialNumber || other.serialNumber,
    productName: productName || other.productName,
  }
}

/** Reads host name, IP settings and MAC address. Objects that the device does not have are left out. */
export async function readDetails(reader: ObjectReader): Promise<Details> {
  const read = (classId: number, attribute: number) => attempt(() => reader.read({ classId, instance: 1, attribute }))
  const settings = await read(classes.tcpIpInterface, 5)
  const hostName = await read(classes.tcpIpInterface, 6)
  const macAddress = await read(classes.ethernetLink, 3)
  const interfaceSettings = settings === undefined ? undefined : parseInterfaceSettings(settings)
  return {
    hostName: hostName === undefined ? undefined : parseText(hostName) || undefined,
    macAddress: macAddress === undefined ? undefined : parseMacAddress(macAddress),
    interfaceSettings: typeof interfaceSettings === 'string' ? undefined : interfaceSettings,
  }
}

/** Returns undefined if the device refuses the message. Throws other errors. */
async function attempt(read: () => Promise<Buffer>): Promise<Buffer | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof EthernetIpError && error.fault === 'refused') return undefined
    throw error
  }
}

/** Returns a number of two or four bytes, or 0 if the value is too short. */
function numberIn(value: Buffer | undefined, bytes: 2 | 4): number {
  return value === undefined || value.length < bytes ? 0 : value.readUIntLE(0, bytes)
}
