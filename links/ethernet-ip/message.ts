/*
 * This file encodes requests and parses answers of EtherNet/IP: the encapsulation, the common packet format, and the CIP
 * messages in it, as in volumes 1 and 2 of the CIP Networks Library of ODVA. All numbers are little-endian, except the
 * socket address in an identity item. It contains only services that read. A parser returns the fault of a wrong answer as
 * text, and never reads outside of its bytes.
 */

export const commands = { listIdentity: 0x0063, registerSession: 0x0065, sendRRData: 0x006f } as const
const commandNumbers: readonly number[] = Object.values(commands)

export const services = { getAttributesAll: 0x01, getAttributeSingle: 0x0e, unconnectedSend: 0x52 } as const
const replyFlag = 0x80

/** The classes of the objects that the link reads, and of the object that forwards requests to modules. */
export const classes = { identity: 0x01, connectionManager: 0x06, tcpIpInterface: 0xf5, ethernetLink: 0xf6 } as const

/** The header: command, length, session, status, sender context and options. */
export const headerBytes = 24
const contextBytes = 8
/** The longest content of a frame that is accepted. Answers to the requests of this link are shorter than 600 bytes. */
export const mostContentBytes = 4_096
/** The number of items in one answer. Correct answers have one or two. */
const mostItems = 16

const itemTypes = { nullAddress: 0x0000, identity: 0x000c, unconnectedData: 0x00b2 } as const

/** `Identity` contains the attributes of an identity object. Attributes that were not read are absent. */
export type Identity = {
  vendorId: number
  deviceType: number
  productCode: number
  revision: { major: number; minor: number }
  status: number
  serialNumber: number
  productName: string
  state?: number
}

/** `ListedIdentity` is an identity item of an answer to ListIdentity. */
export type ListedIdentity = Identity & { encapsulationVersion: number; ipAddress: string; port: number }

export type Frame = { command: number; session: number; status: number; context: Buffer; content: Buffer }

/** `ObjectPath` names an object, and one of its attributes. */
export type ObjectPath = { classId: number; instance: number; attribute?: number }

/** `Route` is the way to a module: its slot in the backplane, and the time after which the device gives up. */
export type Route = { slot: number; timeoutMs: number }

/** The number of the port to the backplane in a route. */
const backplanePort = 1

type FrameOptions = { session?: number; context?: Buffer; content?: Buffer }

export function encodeFrame(command: number, options: FrameOptions = {}): Buffer {
  const { session = 0, context = Buffer.alloc(contextBytes), content = Buffer.alloc(0) } = options
  const header = Buffer.alloc(headerBytes)
  header.writeUInt16LE(command, 0)
  header.writeUInt16LE(content.length, 2)
  header.writeUInt32LE(session, 4)
  context.copy(header, 12, 0, contextBytes)
  return Buffer.concat([header, content])
}

/** The time within which a device answers to ListIdentity, if it delays the answer. 500 ms is the shortest time. */
const mostDelayMs = 500

/** Returns the datagram for ListIdentity. Its context contains the longest delay of the answer. */
export function listIdentityDatagram(): Buffer {
  const context = Buffer.alloc(contextBytes)
  context.writeUInt16LE(mostDelayMs, 0)
  return encodeFrame(commands.listIdentity, { context })
}

/** The content of RegisterSession: version 1 of the protocol, and no options. */
export const sessionContent = Buffer.of(1, 0, 0, 0)

/** Returns the sender context with a number, by which the answer is recognized. */
export function contextOf(number: number): Buffer {
  const context = Buffer.alloc(contextBytes)
  context.writeUInt32LE(number, 0)
  return context
}

/** Returns the content of SendRRData with a CIP message. */
export function encodeUnconnected(message: Buffer): Buffer {
  const header = Buffer.alloc(16)
  header.writeUInt16LE(2, 6)
  header.writeUInt16LE(itemTypes.nullAddress, 8)
  header.writeUInt16LE(itemTypes.unconnectedData, 12)
  header.writeUInt16LE(message.length, 14)
  return Buffer.concat([header, message])
}

/** Returns the CIP message that reads one attribute, or all attributes if the path has none. */
export function encodeRead(path: ObjectPath): Buffer {
  const { classId, instance, attribute } = path
  if (attribute === undefined) return Buffer.of(services.getAttributesAll, 2, 0x20, classId, 0x24, instance)
  return Buffer.of(services.getAttributeSingle, 3, 0x20, classId, 0x24, instance, 0x30, attribute)
}

/** Returns the CIP message with which the device forwards a message to a module. */
export function encodeUnconnectedSend(message: Buffer, { slot, timeoutMs }: Route): Buffer {
  const { connectionManager } = classes
  const header = Buffer.of(services.unconnectedSend, 2, 0x20, connectionManager, 0x24, 1, ...ticksOf(timeoutMs), 0, 0)
  header.writeUInt16LE(message.length, 8)
  const padding = Buffer.alloc(message.length % 2)
  return Buffer.concat([header, message, padding, Buffer.of(1, 0, backplanePort, slot)])
}

/** Returns the exponent of the length of a tick (a power of two in milliseconds), and the number of ticks. */
function ticksOf(ms: number): [exponent: number, ticks: number] {
  let exponent = 0
  while (ms / 2 ** exponent > 255) exponent += 1
  return [exponent, Math.max(1, Math.floor(ms / 2 ** exponent))]
}

/** Returns the length of the frame that starts with these bytes. Returns undefined if the header is incomplete. */
export function frameLength(bytes: Buffer): number | 'not a frame' | undefined {
  if (bytes.length >= 2 && !commandNumbers.includes(bytes.readUInt16LE(0))) return 'not a frame'
  if (bytes.length < headerBytes) return undefined
  const length = bytes.readUInt16LE(2)
  return length > mostContentBytes ? 'not a frame' : headerBytes + length
}

export function parseFrame(bytes: Buffer): Frame | string {
  const length = frameLength(bytes)
  if (typeof length !== 'number' || bytes.length < length) return 'its answer has no EtherNet/IP header'
  return {
    command: bytes.readUInt16LE(0),
    session: bytes.readUInt32LE(4),
    status: bytes.readUInt32LE(8),
    context: bytes.subarray(12, 12 + contextBytes),
    content: bytes.subarray(headerBytes, length),
  }
}

type Item = { type: number; data: Buffer }

/** Parses the items of the common packet format: their number, and then type, length and data of each. */
function parseItems(content: Buffer): Item[] | string {
  if (content.length < 2) return 'its answer has no items'
  const count = content.readUInt16LE(0)
  if (count > mostItems) return `its answer has ${count} items`
  const items: Item[] = []
  let at = 2
  for (let index = 0; index < count; index += 1) {
    if (at + 4 > content.length) return 'an item of its answer is incomplete'
    const [type, length] = [content.readUInt16LE(at), content.readUInt16LE(at + 2)]
    if (at + 4 + length > content.length) return 'the length of an item is wrong'
    items.push({ type, data: content.subarray(at + 4, at + 4 + length) })
    at += 4 + length
  }
  return items
}

/** Parses the content of an answer to ListIdentity. A device with several identities lists its own one first. */
export function parseListIdentity(content: Buffer): ListedIdentity | string {
  const items = parseItems(content)
  if (typeof items === 'string') return items
  const data = items.find(({ type }) => type === itemTypes.identity)?.data
  if (data === undefined) return 'its answer has no identity'
  if (data.length < identityStart) return 'its identity is incomplete'
  const identity = parseIdentity(data.subarray(identityStart))
  if (typeof identity === 'string') return identity
  return {
    ...identity,
    encapsulationVersion: data.readUInt16LE(0),
    port: data.readUInt16BE(4),
    ipAddress: [...data.subarray(6, 10)].join('.'),
  }
}

/** The position of the identity after the version of the encapsulation and the socket address. */
const identityStart = 18

/** Parses the attributes 1 to 7 of an identity object, and its state if the device sends it. */
export function parseIdentity(data: Buffer): Identity | string {
  if (data.length < 15) return 'its identity is incomplete'
  const nameEnd = 15 + data.readUInt8(14)
  if (nameEnd > data.length) return 'the length of its product name is wrong'
  return {
    vendorId: data.readUInt16LE(0),
    deviceType: data.readUInt16LE(2),
    productCode: data.readUInt16LE(4),
    revision: { major: data.readUInt8(6), minor: data.readUInt8(7) },
    status: data.readUInt16LE(8),
    serialNumber: data.readUInt32LE(10),
    productName: textOf(data.subarray(15, nameEnd)),
    ...(nameEnd < data.length ? { state: data.readUInt8(nameEnd) } : {}),
  }
}

/** `CipAnswer` is the answer to a CIP message. The status is 0 if the device executed the message. */
export type CipAnswer = {
  service: number
  status: number
  /** The first word of the additional status. */
  extendedStatus?: number
  data: Buffer
}

/** Parses the content of an answer to SendRRData. */
export function parseUnconnected(content: Buffer): CipAnswer | string {
  if (content.length < 6) return 'its answer has no items'
  const items = parseItems(content.subarray(6))
  if (typeof items === 'string') return items
  const data = items.find(({ type }) => type === itemTypes.unconnectedData)?.data
  if (data === undefined) return 'its answer has no CIP message'
  if (data.length < 4) return 'its CIP message is incomplete'
  const service = data.readUInt8(0)
  if ((service & replyFlag) === 0) return `it answers with the service code ${service}`
  const start = 4 + 2 * data.readUInt8(3)
  if (start > data.length) return 'the length of a CIP status is wrong'
  return {
    service: service & ~replyFlag,
    status: data.readUInt8(2),
    ...(start > 4 ? { extendedStatus: data.readUInt16LE(4) } : {}),
    data: data.subarray(start),
  }
}

/** `InterfaceSettings` contains the IP settings of the TCP/IP interface object. Settings that are 0.0.0.0 are absent. */
export type InterfaceSettings = {
  ipAddress?: string | undefined
  networkMask?: string | undefined
  router?: string | undefined
  domainName: string
}

/** Parses the interface configuration (attribute 5 of the TCP/IP interface object). */
export function parseInterfaceSettings(data: Buffer): InterfaceSettings | string {
  if (data.length < 20) return 'its interface configuration is incomplete'
  const addressAt = (at: number) =>
    data.readUInt32LE(at) === 0 ? undefined : [...data.subarray(at, at + 4)].reverse().join('.')
  const domainName = data.length < 22 ? '' : parseText(data.subarray(20))
  return { ipAddress: addressAt(0), networkMask: addressAt(4), router: addressAt(8), domainName: domainName ?? '' }
}

/** Parses a text with a length of two bytes. Returns undefined if its length is wrong. */
export function parseText(data: Buffer): string | undefined {
  if (data.length < 2) return undefined
  const length = data.readUInt16LE(0)
  return 2 + length > data.length ? undefined : textOf(data.subarray(2, 2 + length))
}

/** Parses a text with a length of one byte. Returns undefined if its length is wrong. */
export function parseShortText(data: Buffer): string | undefined {
  const length = data[0]
  return length === undefined || 1 + length > data.length ? undefined : textOf(data.subarray(1, 1 + length))
}

/** Parses a MAC address. Returns undefined for an address that does not belong to one interface. */
export function parseMacAddress(data: Buffer): string | undefined {
  const bytes = [...data.subarray(0, 6)]
  const isGroup = ((bytes[0] ?? 0) & 1) === 1
  if (bytes.length < 6 || isGroup || bytes.every((byte) => byte === 0)) return undefined
  return bytes.map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join(':')
}

const longestText = 256

/** Returns the readable text. The specification prescribes ISO 8859-1. Devices fill unused bytes with spaces and 0x00. */
function textOf(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replaceAll(/[\p{C}\xff]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, longestText)
}
