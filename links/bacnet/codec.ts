import { isUtf8 } from 'node:buffer'
import { isInRanges, unicastAddresses } from '@millwright/api/ip-range.ts'
import { BacnetError } from './bacnet-error.ts'

/*
 * This file encodes and decodes BACnet/IP messages as in ANSI/ASHRAE 135: the virtual link layer (BVLC, annex J), the
 * network layer (NPDU, clause 6), and the application layer (APDU, clauses 20 and 21). It encodes only services that
 * read (Who-Is, ReadProperty, ReadPropertyMultiple), and the registration of a foreign device at a BBMD. Each length that
 * a device sends is checked before it is used, and nothing is decoded recursively. A message that violates the protocol
 * leads to a `BacnetError` with the fault `faulty`.
 */

/** The UDP port of BACnet/IP, 0xBAC0. */
export const usualPort = 47_808
/** The highest instance number of a device. In a request, it stands for any device. */
export const highestInstance = 4_194_303
/** The network number that stands for all networks, and the highest number of one network. */
const allNetworks = 0xffff
export const highestNetwork = 0xfffe

const bacnetIp = 0x81
const bvlc = {
  result: 0x00,
  forwardedNpdu: 0x04,
  registerForeignDevice: 0x05,
  deleteForeignDevice: 0x08,
  distributeBroadcast: 0x09,
  originalUnicast: 0x0a,
  originalBroadcast: 0x0b,
} as const

const npduVersion = 1
const npduFlags = { networkMessage: 0x80, destination: 0x20, source: 0x08, expectingReply: 0x04 } as const
const highestHopCount = 255
const rejectMessageToNetwork = 0x03

const pdu = { request: 0, unconfirmed: 1, simpleAck: 2, complexAck: 3, segmentAck: 4, error: 5, reject: 6, abort: 7 }
const segmentedFlag = 0x08
const services = { iAm: 0, whoIs: 8, readProperty: 12, readPropertyMultiple: 14 } as const
/** No segments, and answers of up to 1476 bytes. */
const acceptedAnswers = 0x05

const deviceObject = 8
const applicationTags = { unsigned: 2, characterString: 7, enumerated: 9, objectIdentifier: 12 } as const

/** `Station` is a device on another BACnet network, which a router connects. */
export type Station = { network: number; mac: Buffer }

/** `IpPlace` is an address and a UDP port. */
export type IpPlace = { address: string; port: number }

/** `InstanceRange` limits the devices that answer to Who-Is. */
export type InstanceRange = { low: number; high: number }

/** `IAm` is the answer of a device to Who-Is. */
export type IAm = { instance: number; maxApdu: number; segmentation: number; vendorId: number }

/** `PropertyValue` is the first value of a property. Values of types that the link does not read are undefined. */
export type PropertyValue = string | number | undefined

export type Apdu =
  | { type: 'iAm'; iAm: IAm }
  | { type: 'answer'; invokeId: number; service: number; data: Buffer }
  | { type: 'segment'; invokeId: number }
  | { type: 'refusal'; invokeId: number; reason: string; isSegmentation: boolean }
  | { type: 'other' }

/** `Received` is a decoded datagram. `origin` is the sender of a message that a BBMD forwarded. */
export type Received =
  | { type: 'result'; code: number }
  | { type: 'unreachableNetwork'; network: number; reason: number }
  | { type: 'apdu'; origin: IpPlace | undefined; source: Station | undefined; apdu: Apdu }
  | { type: 'other' }

/** Returns the name of a station in errors and addresses, such as `2001:0c`. */
export function stationName({ network, mac }: Station): string {
  return `${network}:${mac.toString('hex')}`
}

const ipStationBytes = 6

/**
 * Returns the IP address of a station on a BACnet/IP network, whose MAC address is an IP address and a port. The MAC address
 * of a station on a BACnet Ethernet network has the same length. Most of them start with 0, which no IP address does.
 */
export function ipAddressOf({ mac }: Station): string | undefined {
  const isDevice = mac.length === ipStationBytes && isInRanges([unicastAddresses], mac.readUInt32BE(0))
  return isDevice ? mac.subarray(0, 4).join('.') : undefined
}

/* Encoding */

function bvlcMessage(code: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const header = Buffer.of(bacnetIp, code, 0, 0)
  header.writeUInt16BE(header.length + content.length, 2)
  return Buffer.concat([header, content])
}

/** Encodes the header of the network layer. A station without a MAC address means all devices of its network. */
function npduHeader({ to, expectsReply }: { to?: Station | undefined; expectsReply: boolean }): Buffer {
  const reply = expectsReply ? npduFlags.expectingReply : 0
  if (to === undefined) return Buffer.of(npduVersion, reply)
  const network = Buffer.alloc(2)
  network.writeUInt16BE(to.network)
  return Buffer.concat([
    Buffer.of(npduVersion, reply | npduFlags.destination),
    network,
    Buffer.of(to.mac.length),
    to.mac,
    Buffer.of(highestHopCount),
  ])
}

/** Encodes a number with the smallest number of bytes. */
function unsigned(value: number): Buffer {
  const bytes = value > 0xff_ffff ? 4 : value > 0xffff ? 3 : value > 0xff ? 2 : 1
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntBE(value, 0, bytes)
  return buffer
}

function contextTag(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.of((tag << 4) | 0x08 | content.length), content])
}

function deviceIdentifier(instance: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32BE(((deviceObject << 22) | instance) >>> 0)
  return buffer
}

const openingTag = (tag: number) => Buffer.of((tag << 4) | 0x0e)
const closingTag = (tag: number) => Buffer.of((tag << 4) | 0x0f)

/** `WhoIsDelivery` selects how a Who-Is is sent: to one address, to a segment, or through a BBMD. */
type WhoIsDelivery = 'unicast' | 'broadcast' | 'bbmd'

const deliveryCodes: Readonly<Record<WhoIsDelivery, number>> = {
  unicast: bvlc.originalUnicast,
  broadcast: bvlc.originalBroadcast,
  bbmd: bvlc.distributeBroadcast,
}

export type WhoIsOptions = {
  instances: InstanceRange
  /** Whether routers forward the message to their other networks. */
  isRouted: boolean
  delivery: WhoIsDelivery
}

export function encodeWhoIs({ instances: { low, high }, isRouted, delivery }: WhoIsOptions): Buffer {
  const isLimited = low > 0 || high < highestInstance
  const limits = isLimited ? [contextTag(0, unsigned(low)), contextTag(1, unsigned(high))] : []
  const to = isRouted ? { network: allNetworks, mac: Buffer.alloc(0) } : undefined
  const request = Buffer.of(pdu.unconfirmed << 4, services.whoIs)
  return bvlcMessage(deliveryCodes[delivery], npduHeader({ to, expectsReply: false }), request, ...limits)
}

/** `ReadTarget` is the device object that a request reads. `station` is set for a device behind a router. */
export type ReadTarget = { instance: number; station?: Station | undefined }

function confirmedRequest({ station }: ReadTarget, [invokeId, service]: [number, number], ...content: Buffer[]) {
  const header = Buffer.of(pdu.request << 4, acceptedAnswers, invokeId, service)
  return bvlcMessage(bvlc.originalUnicast, npduHeader({ to: station, expectsReply: true }), header, ...content)
}

export function encodeReadProperty(target: ReadTarget, property: number, invokeId: number): Buffer {
  const object = contextTag(0, deviceIdentifier(target.instance))
  return confirmedRequest(target, [invokeId, services.readProperty], object, contextTag(1, unsigned(property)))
}

export function encodeReadPropertyMultiple(target: ReadTarget, properties: readonly number[], invokeId: number) {
  return confirmedRequest(
    target,
    [invokeId, services.readPropertyMultiple],
    contextTag(0, deviceIdentifier(target.instance)),
    openingTag(1),
    ...properties.map((property) => contextTag(0, unsigned(property))),
    closingTag(1),
  )
}

export function encodeRegisterForeignDevice(seconds: number): Buffer {
  const time = Buffer.alloc(2)
  time.writeUInt16BE(seconds)
  return bvlcMessage(bvlc.registerForeignDevice, time)
}

export function encodeDeleteForeignDevice({ address, port }: IpPlace): Buffer {
  const place = Buffer.from([...address.split('.').map(Number), 0, 0])
  place.writeUInt16BE(port, 4)
  return bvlcMessage(bvlc.deleteForeignDevice, place)
}

/* Decoding */

/** `ByteReader` reads bytes in their order. It throws instead of reading after the end. */
class ByteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  number(bytes: 1 | 2 | 4): number {
    return this.take(bytes).readUIntBE(0, bytes)
  }

  take(bytes: number): Buffer {
    if (bytes > this.#bytes.length - this.#at) throw faulty('its message is truncated')
    this.#at += bytes
    return this.#bytes.subarray(this.#at - bytes, this.#at)
  }

  rest(): Buffer {
    return this.take(this.#bytes.length - this.#at)
  }
}

function faulty(reason: string): BacnetError {
  return new BacnetError('faulty', reason)
}

/** Decodes a datagram. Throws a `BacnetError` for bytes that are not a BACnet/IP message. */
export function decodeDatagram(bytes: Buffer): Received {
  const reader = new ByteReader(bytes)
  if (reader.number(1) !== bacnetIp) throw faulty('its message has no BACnet/IP header')
  const code = reader.number(1)
  if (reader.number(2) !== bytes.length) throw faulty('the length of its message is wrong')
  if (code === bvlc.result) return { type: 'result', code: reader.number(2) }
  if (code === bvlc.forwardedNpdu) {
    const address = [...reader.take(4)].join('.')
    return decodeNpdu(reader, { address, port: reader.number(2) })
  }
  return code === bvlc.originalUnicast || code === bvlc.originalBroadcast
    ? decodeNpdu(reader, undefined)
    : { type: 'other' }
}

function decodeNpdu(reader: ByteReader, origin: IpPlace | undefined): Received {
  if (reader.number(1) !== npduVersion) throw faulty('the version of its network layer is not 1')
  const flags = reader.number(1)
  const destination = flags & npduFlags.destination ? decodeStation(reader) : undefined
  const source = flags & npduFlags.source ? decodeStation(reader) : undefined
  if (destination !== undefined) reader.number(1)
  if (source !== undefined && (source.mac.length === 0 || source.network === 0 || source.network === allNetworks))
    throw faulty('the source address of its message is wrong')
  if ((flags & npduFlags.networkMessage) === 0)
    return { type: 'apdu', origin, source, apdu: decodeApdu(new ByteReader(reader.rest())) }
  if (reader.number(1) !== rejectMessageToNetwork) return { type: 'other' }
  const reason = reader.number(1)
  return { type: 'unreachableNetwork', reason, network: reader.number(2) }
}

/** The longest MAC address: that of a station on a LonTalk network. */
const mostMacBytes = 7

function decodeStation(reader: ByteReader): Station {
  const network = reader.number(2)
  const length = reader.number(1)
  if (length > mostMacBytes) throw faulty('the address of a station is too long')
  return { network, mac: Buffer.from(reader.take(length)) }
}

function decodeApdu(reader: ByteReader): Apdu {
  const first = reader.number(1)
  const type = first >> 4
  if (type === pdu.unconfirmed) return reader.number(1) === services.iAm ? decodeIAm(reader.rest()) : { type: 'other' }
  if (type === pdu.request || type === pdu.segmentAck || type > pdu.abort) return { type: 'other' }
  const invokeId = reader.number(1)
  if (type === pdu.complexAck) {
    if (first & segmentedFlag) return { type: 'segment', invokeId }
    return { type: 'answer', invokeId, service: reader.number(1), data: Buffer.from(reader.rest()) }
  }
  if (type === pdu.error) {
    reader.number(1)
    return { type: 'refusal', invokeId, reason: errorText(new TagReader(reader.rest())), isSegmentation: false }
  }
  if (type === pdu.simpleAck) return { type: 'other' }
  const reason = reader.number(1)
  return type === pdu.reject
    ? { type: 'refusal', invokeId, reason: `reject reason ${reasonText(reason, rejectReasons)}`, isSegmentation: false }
    : {
        type: 'refusal',
        invokeId,
        reason: `abort reason ${reasonText(reason, abortReasons)}`,
        isSegmentation: segmentationAborts.includes(reason),
      }
}

const abortReasons: Readonly<Record<number, string>> = {
  1: 'buffer overflow',
  2: 'invalid message in this state',
  4: 'segmentation not supported',
  5: 'security error',
  9: 'out of resources',
  11: 'answer too long',
}
/** The abort reasons of a device whose answer does not fit into one message. */
const segmentationAborts: readonly number[] = [1, 4, 11]

const rejectReasons: Readonly<Record<number, string>> = {
  1: 'buffer overflow',
  4: 'invalid tag',
  5: 'missing parameter',
  6: 'parameter out of range',
  7: 'too many arguments',
  9: 'service not supported',
}

const errorCodes: Readonly<Record<number, string>> = {
  0: 'other',
  25: 'operational problem',
  27: 'read access denied',
  29: 'service request denied',
  31: 'unknown object',
  32: 'unknown property',
  42: 'invalid array index',
  45: 'missing parameter',
  50: 'property is not an array',
}

function reasonText(reason: number, names: Readonly<Record<number, string>>): string {
  const name = names[reason]
  return name === undefined ? String(reason) : `${reason} (${name})`
}

function errorText(tags: TagReader): string {
  const [, code] = [tags.value(), tags.value()]
  return `error ${reasonText(typeof code === 'number' ? code : 0, errorCodes)}`
}

function decodeIAm(data: Buffer): Apdu {
  const tags = new TagReader(data)
  const object = tags.next()
  if (object.tag !== applicationTags.objectIdentifier || object.isContext) throw faulty('its I-Am has no device')
  const instance = instanceOf(object.content)
  const [maxApdu, segmentation, vendorId] = [tags.value(), tags.value(), tags.value()]
  if (typeof maxApdu !== 'number' || typeof segmentation !== 'number' || typeof vendorId !== 'number')
    throw faulty('its I-Am is incomplete')
  return { type: 'iAm', iAm: { instance, maxApdu, segmentation, vendorId } }
}

function instanceOf(content: Buffer): number {
  if (content.length !== 4) throw faulty('the length of an object identifier is wrong')
  const number = content.readUInt32BE()
  if (number >>> 22 !== deviceObject) throw faulty('an object identifier is not that of a device')
  return number & highestInstance
}

type Tag = { kind: 'value' | 'opening' | 'closing'; tag: number; isContext: boolean; content: Buffer }

const nothing = Buffer.alloc(0)

/** `TagReader` reads the tagged values of an APDU. */
class TagReader {
  readonly #reader: ByteReader

  constructor(bytes: Buffer) {
    this.#reader = new ByteReader(bytes)
  }

  next(): Tag {
    const first = this.#reader.number(1)
    const tag = first >> 4 === 15 ? this.#reader.number(1) : first >> 4
    const isContext = (first & 0x08) !== 0
    const length = first & 0x07
    if (isContext && length > 5) return { kind: length === 6 ? 'opening' : 'closing', tag, isContext, content: nothing }
    // The value of an application-tagged boolean is in its tag.
    const content = !isContext && tag === 1 ? nothing : this.#reader.take(this.#length(length))
    return { kind: 'value', tag, isContext, content }
  }

  #length(length: number): number {
    if (length < 5) return length
    if (length > 5) throw faulty('the length of a value is wrong')
    const extended = this.#reader.number(1)
    if (extended < 254) return extended
    return this.#reader.number(extended === 254 ? 2 : 4)
  }

  /** Reads an application-tagged value. */
  value(): PropertyValue {
    return decodedValue(this.next())
  }

  /** Reads the tag that opens a value. An array index before it is skipped. */
  opened(indexTag: number): Tag {
    const next = this.next()
    const isIndex = next.isContext && next.kind === 'value' && next.tag === indexTag
    const opened = isIndex ? this.next() : next
    if (opened.kind !== 'opening') throw faulty('its answer has no value for a property')
    return opened
  }

  /** Reads up to the closing tag of an opened value. Returns its first value. */
  untilClosed(opened: Tag): PropertyValue {
    const open = [opened.tag]
    let first: PropertyValue
    for (let count = 0; open.length > 0; count += 1) {
      const next = this.next()
      if (next.kind === 'opening') open.push(next.tag)
      else if (next.kind === 'closing' && open.pop() !== next.tag) throw faulty('a closing tag of its answer is wrong')
      if (count === 0) first = decodedValue(next)
    }
    return first
  }
}

/** Requires a context tag of a kind and number. */
function requireTag(next: Tag, { kind, tag }: Pick<Tag, 'kind' | 'tag'>): Tag {
  if (next.isContext && next.kind === kind && next.tag === tag) return next
  throw faulty(`its answer has tag ${next.tag} in the place of tag ${tag}`)
}

function numberOf({ content }: Tag): number {
  if (content.length < 1 || content.length > 4) throw faulty('the length of a number is wrong')
  return content.readUIntBE(0, content.length)
}

function decodedValue({ kind, isContext, tag, content }: Tag): PropertyValue {
  if (kind !== 'value' || isContext) return undefined
  if (tag === applicationTags.characterString) return textOf(content)
  if (tag === applicationTags.objectIdentifier) return instanceOf(content)
  const isNumber = tag === applicationTags.unsigned || tag === applicationTags.enumerated
  if (!isNumber || content.length < 1 || content.length > 4) return undefined
  return content.readUIntBE(0, content.length)
}

const longestText = 256
/** The most bytes that are decoded for a text. */
const mostTextBytes = 4 * longestText

/**
 * Decodes a character string. Its first byte is the character set: 0 is UTF-8, 3 is UCS-4, 4 is UCS-2, and 5 is ISO
 * 8859-1. Devices of earlier revisions send other 8-bit characters as set 0, so text that is not UTF-8 is read as ISO
 * 8859-1. Texts in other sets are undefined.
 */
function textOf(content: Buffer): string | undefined {
  const [set] = content
  const bytes = content.subarray(1, 1 + mostTextBytes)
  const text = decoders[set ?? -1]?.(bytes)
  const printable = text
    ?.replaceAll(/\p{C}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return printable === undefined || printable === '' ? undefined : [...printable].slice(0, longestText).join('')
}

const decoders: Readonly<Record<number, (bytes: Buffer) => string>> = {
  0: (bytes) => (isUtf8(bytes) ? bytes.toString('utf8') : bytes.toString('latin1')),
  3: (bytes) => charactersOf(bytes, 4),
  4: (bytes) => charactersOf(bytes, 2),
  5: (bytes) => bytes.toString('latin1'),
}

function charactersOf(bytes: Buffer, width: 2 | 4): string {
  const count = Math.floor(bytes.length / width)
  const units = Array.from({ length: count }, (_, index) => bytes.readUIntBE(index * width, width))
  if (width === 2) return String.fromCharCode(...units).toWellFormed()
  const isCharacter = (unit: number) => unit <= 0x10_ffff && (unit < 0xd800 || unit > 0xdfff)
  return units.map((unit) => String.fromCodePoint(isCharacter(unit) ? unit : 0xfffd)).join('')
}

/** Decodes the answer to ReadProperty. */
export function decodeReadProperty(data: Buffer): { instance: number; property: number; value: PropertyValue } {
  const tags = new TagReader(data)
  const instance = instanceOf(requireTag(tags.next(), { kind: 'value', tag: 0 }).content)
  const property = numberOf(requireTag(tags.next(), { kind: 'value', tag: 1 }))
  const opened = requireTag(tags.opened(2), { kind: 'opening', tag: 3 })
  return { instance, property, value: tags.untilClosed(opened) }
}

const resultTags = { property: 2, index: 3, value: 4, error: 5 } as const

/** Decodes the answer to ReadPropertyMultiple of one object. Properties that the device refuses are not in the result. */
export function decodeReadPropertyMultiple(data: Buffer): { instance: number; values: Map<number, PropertyValue> } {
  const tags = new TagReader(data)
  const instance = instanceOf(requireTag(tags.next(), { kind: 'value', tag: 0 }).content)
  const values = new Map<number, PropertyValue>()
  requireTag(tags.next(), { kind: 'opening', tag: 1 })
  for (let next = tags.next(); next.kind !== 'closing'; next = tags.next()) {
    const property = numberOf(requireTag(next, { kind: 'value', tag: resultTags.property }))
    const opened = tags.opened(resultTags.index)
    const value = tags.untilClosed(opened)
    if (opened.tag === resultTags.value) values.set(property, value)
    else requireTag(opened, { kind: 'opening', tag: resultTags.error })
  }
  return { instance, values }
}
