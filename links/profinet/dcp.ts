import { isUtf8 } from 'node:buffer'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { macBytes, macText } from './raw-ethernet.ts'

/*
 * This file encodes and decodes PROFINET DCP (discovery and basic configuration protocol, IEC 61158-6-10). It contains one
 * service: Identify, which reads. The services Get, Set and Hello are not in this file, so the link cannot configure a device.
 *
 * A frame contains the Ethernet header (destination, source, EtherType), the frame id, the service id, the service type,
 * the transaction id (xid, 4 bytes), the response delay factor of a request, the length of the data, and blocks. A block
 * contains an option, a suboption, a length and its value. A block of an answer starts with two bytes of block information.
 * Blocks have an even length: a padding byte follows a value with an odd length.
 */

/** The EtherType of PROFINET. */
export const profinetType = 0x8892
/** The multicast group of all DCP devices, as permits name it. */
export const identifyGroup = '01:0e:cf:00:00:00'

const frameIds = { request: 0xfefe, answer: 0xfeff } as const
export const answerFrameId = frameIds.answer
const identifyService = 5
const serviceTypes = { request: 0, success: 1 } as const
/** The block of a request that all devices answer. */
const allSelector = 0xffff

const ethernetBytes = 14
const vlanType = 0x8100
const vlanBytes = 4
/** The bytes of a DCP frame from the frame id to the length of the data. */
const headerBytes = 12
const blockHeaderBytes = 4
const blockInfoBytes = 2
const shortestFrame = 60
/** The number of blocks of one answer. Devices send about ten. */
const mostBlocks = 64
const longestText = 256
const longestStationName = 240

/** The response delay factor: devices answer within a random time of at most the factor × 10 ms. */
const delayUnitMs = 10
const delayFactors = { least: 1, most: 0x1900 } as const
export const longestSpreadMs = delayFactors.most * delayUnitMs

/** The blocks that are read, by option × 256 + suboption. */
const blocks = {
  ipParameters: 0x0102,
  fullIpSuite: 0x0103,
  stationType: 0x0201,
  stationName: 0x0202,
  deviceId: 0x0203,
  deviceRole: 0x0204,
  deviceOptions: 0x0205,
  aliasName: 0x0206,
  deviceInstance: 0x0207,
  oemDeviceId: 0x0208,
  standardGateway: 0x0209,
} as const

/** The bits of the role of a device. */
const roles = { 'IO device': 1, 'IO controller': 2, 'IO multidevice': 4, 'IO supervisor': 8 } as const
export type Role = keyof typeof roles

/** How a device got its IP address. */
export type IpState = 'not set' | 'set' | 'set by DHCP'

/** `Station` is the answer of a device to Identify. */
export type Station = {
  /** The MAC address from which the device answers. */
  macAddress: string
  /** The name of station. A new device has none. */
  name?: string
  /** The type of station, such as `S7-1200`. */
  type?: string
  vendorId?: number
  deviceId?: number
  oemVendorId?: number
  oemDeviceId?: number
  instance?: number
  roles?: readonly Role[]
  /** The alias: the names of the neighbour and its port. */
  alias?: string
  /** The IP address. It is absent for 0.0.0.0. */
  ipAddress?: string
  networkMask?: string
  router?: string
  ipState?: IpState
  /** Whether another device has the same IP address. */
  hasIpConflict?: boolean
  /** The options that the device supports, such as `2.2`. */
  options?: readonly string[]
}

/** `DcpError` means that a frame is an answer to Identify, but its content is not correct. */
export class DcpError extends LinkError {
  readonly macAddress: string

  constructor(macAddress: string, description: string) {
    super(
      'PAYLOAD_DESERIALISATION_ISSUE',
      `The device ${macAddress} sends an incorrect DCP answer: ${description}. Update its firmware, or read it with another link.`,
    )
    this.name = 'DcpError'
    this.macAddress = macAddress
  }
}

type IdentifyRequest = {
  /** The MAC address of the sender. */
  source: string
  xid: number
  /** The time over which the devices spread their answers. */
  spreadMs: number
  /** The name of the only station that answers. Without it, all stations answer. */
  stationName?: string | undefined
}

/** Returns the frame of an Identify request. */
export function identifyFrame({ source, xid, spreadMs, stationName }: IdentifyRequest): Buffer {
  const data = stationName === undefined ? selectorBlock() : nameBlock(stationName)
  const header = Buffer.alloc(headerBytes)
  header.writeUInt16BE(frameIds.request, 0)
  header.writeUInt8(identifyService, 2)
  header.writeUInt8(serviceTypes.request, 3)
  header.writeUInt32BE(xid, 4)
  header.writeUInt16BE(delayFactorOf(spreadMs), 8)
  header.writeUInt16BE(data.length, 10)
  const frame = Buffer.concat([macBytes(identifyGroup), macBytes(source), ethernetTypeBytes(), header, data])
  return Buffer.concat([frame, Buffer.alloc(Math.max(0, shortestFrame - frame.length))])
}

function ethernetTypeBytes(): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(profinetType)
  return bytes
}

function delayFactorOf(spreadMs: number): number {
  return Math.min(delayFactors.most, Math.max(delayFactors.least, Math.ceil(spreadMs / delayUnitMs)))
}

function selectorBlock(): Buffer {
  const block = Buffer.alloc(blockHeaderBytes)
  block.writeUInt16BE(allSelector, 0)
  return block
}

function nameBlock(stationName: string): Buffer {
  const name = Buffer.from(stationName, 'latin1').subarray(0, longestStationName)
  const block = Buffer.alloc(blockHeaderBytes + name.length + (name.length % 2))
  block.writeUInt16BE(blocks.stationName, 0)
  block.writeUInt16BE(name.length, 2)
  name.copy(block, blockHeaderBytes)
  return block
}

/** Returns whether a name can be the filter of a request: the characters of a DNS name, as the standard requires. */
export function isStationName(text: string): boolean {
  return text.length > 0 && text.length <= longestStationName && /^[a-z0-9.-]+$/i.test(text)
}

type ExpectedAnswer = {
  /** The MAC address to which answers are sent. */
  destination: string
  xid: number
}

/**
 * Decodes the answer of a device. Returns undefined for other frames, such as answers to other stations, and for answers
 * from the MAC address of the receiver. Throws a `DcpError` if the blocks of an answer are not correct.
 */
export function decodeAnswer(frame: Buffer, { destination, xid }: ExpectedAnswer): Station | undefined {
  const start = payloadStart(frame)
  if (start === undefined || frame.length < start + headerBytes) return undefined
  const header = frame.subarray(start, start + headerBytes)
  const isAnswer =
    header.readUInt16BE(0) === frameIds.answer &&
    header.readUInt8(2) === identifyService &&
    header.readUInt8(3) === serviceTypes.success &&
    header.readUInt32BE(4) === xid
  if (!isAnswer || macText(frame.subarray(0, 6)) !== destination) return undefined
  const macAddress = macText(frame.subarray(6, 12))
  if (!isUnicast(frame.subarray(6, 12)) || macAddress === destination) return undefined
  const length = header.readUInt16BE(10)
  const data = frame.subarray(start + headerBytes, start + headerBytes + length)
  if (data.length < length) throw new DcpError(macAddress, 'its data are shorter than their length')
  return readBlocks(data, macAddress)
}

/** Returns the position after the EtherType of PROFINET. A frame can have a VLAN tag. */
function payloadStart(frame: Buffer): number | undefined {
  if (frame.length < ethernetBytes + vlanBytes) return undefined
  const tagBytes = frame.readUInt16BE(ethernetBytes - 2) === vlanType ? vlanBytes : 0
  return frame.readUInt16BE(ethernetBytes - 2 + tagBytes) === profinetType ? ethernetBytes + tagBytes : undefined
}

function isUnicast(mac: Buffer): boolean {
  return (mac.readUInt8(0) & 1) === 0 && mac.some((byte) => byte !== 0)
}

function readBlocks(data: Buffer, macAddress: string): Station {
  let station: Station = { macAddress }
  let count = 0
  for (let at = 0; at + blockHeaderBytes <= data.length; ) {
    count += 1
    if (count > mostBlocks) throw new DcpError(macAddress, `it has more than ${mostBlocks} blocks`)
    const type = data.readUInt16BE(at)
    const length = data.readUInt16BE(at + 2)
    const end = at + blockHeaderBytes + length
    if (end > data.length) throw new DcpError(macAddress, 'a block is longer than the data')
    station = { ...station, ...readBlock(type, data.subarray(at + blockHeaderBytes, end)) }
    at = end + (length % 2)
  }
  return station
}

/** Returns what a block contains. A block that is too short for its type contains nothing. */
function readBlock(type: number, block: Buffer): Partial<Station> {
  const value = block.subarray(blockInfoBytes)
  switch (type) {
    case blocks.ipParameters:
    case blocks.fullIpSuite:
      return value.length < 12 ? {} : ipFacts(value, block.readUInt16BE(0))
    case blocks.stationType:
      return textFact('type', value)
    case blocks.stationName:
      return textFact('name', value)
    case blocks.aliasName:
      return textFact('alias', value)
    case blocks.deviceId:
      return value.length < 4 ? {} : { vendorId: value.readUInt16BE(0), deviceId: value.readUInt16BE(2) }
    case blocks.oemDeviceId:
      return value.length < 4 ? {} : { oemVendorId: value.readUInt16BE(0), oemDeviceId: value.readUInt16BE(2) }
    case blocks.deviceRole:
      return value.length < 1 ? {} : { roles: rolesOf(value.readUInt8(0)) }
    case blocks.deviceInstance:
      return value.length < 2 ? {} : { instance: value.readUInt16BE(0) }
    case blocks.standardGateway:
      return value.length < 4 ? {} : addressFact('router', value)
    case blocks.deviceOptions:
      return { options: optionsOf(value) }
    default:
      return {}
  }
}

function rolesOf(bits: number): Role[] {
  return (Object.keys(roles) as Role[]).filter((role) => (bits & roles[role]) !== 0)
}

function optionsOf(value: Buffer): string[] {
  const pairs = Array.from({ length: Math.min(mostBlocks, value.length >> 1) }, (_, index) => index * 2)
  return pairs.map((at) => `${value.readUInt8(at)}.${value.readUInt8(at + 1)}`)
}

const ipStates: readonly IpState[] = ['not set', 'set', 'set by DHCP']
const conflictBit = 0x80

function ipFacts(value: Buffer, info: number): Partial<Station> {
  return {
    ...addressFact('ipAddress', value),
    ...addressFact('networkMask', value.subarray(4)),
    ...addressFact('router', value.subarray(8)),
    ipState: ipStates[info & 0x03] ?? 'not set',
    ...((info & conflictBit) === 0 ? {} : { hasIpConflict: true }),
  }
}

/** Returns an address as text. 0.0.0.0 means that the device has no such address. */
function addressFact(field: 'ipAddress' | 'networkMask' | 'router', bytes: Buffer): Partial<Station> {
  const address = bytes.subarray(0, 4).join('.')
  return address === '0.0.0.0' ? {} : { [field]: address }
}

function textFact(field: 'name' | 'type' | 'alias', bytes: Buffer): Partial<Station> {
  const text = readableText(bytes)
  return text === undefined ? {} : { [field]: text }
}

/** Returns the readable text of a field. Devices fill unused bytes with spaces or 0x00. */
export function readableText(bytes: Buffer): string | undefined {
  const text = bytes
    .toString(isUtf8(bytes) ? 'utf8' : 'latin1')
    .replaceAll(/\p{C}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, longestText)
    .trim()
  return text === '' ? undefined : text
}
