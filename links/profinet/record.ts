import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { readableText } from './dcp.ts'
import { macText } from './raw-ethernet.ts'

/*
 * This file encodes and decodes the reading of records from PROFINET devices (IEC 61158-6-10) over DCE/RPC 1.1 without a
 * connection. It contains one operation: Read Implicit, which reads a record without an application relation to the device.
 * It contains no operation that connects, writes or controls.
 *
 * A message contains the RPC header (80 bytes), the lengths of the arguments, and blocks. The header and the lengths have the
 * byte order that the header names. Blocks always have the byte order of the network.
 */

/** The UDP port of PROFINET RPC. */
export const recordPort = 34_964

const readImplicit = 5
const packetTypes = { request: 0, answer: 2 } as const
const idempotent = 0x20
const fragmented = 0x04
const littleEndian = 0x10

const headerBytes = 80
const argumentBytes = 20
const readBlockBytes = 64
const blockTypes = { readRequest: 0x0009, readAnswer: 0x8009, identification: 0x0020, portData: 0x020f } as const
/** The longest record that the link requests. */
const longestRecord = 1_024
/** The longest answer: one datagram of Ethernet. */
export const longestAnswer = 1_500

const interfaces = { device: 0xdea0_0001, controller: 0xdea0_0002 } as const
const objectStart = 0xdea0_0000
/** The second and third field of the ids of PROFINET. */
const idMiddle = [0x6c97, 0x11d1] as const
const objectNode = [0x82, 0x71]
const interfaceEnd = [0x82, 0x71, 0x00, 0xa0, 0x24, 0x42, 0xdf, 0x7d]

/** `RecordAddress` is the place of a record in a device. */
export type RecordAddress = { slot: number; subslot: number; index: number }

/** The record with the nameplate (I&M0) of the device itself. */
export const identificationRecord: RecordAddress = { slot: 0, subslot: 1, index: 0xaff0 }

/** Returns the record with the neighbours of a port (PDPortDataReal). The first port has the number 1. */
export function portRecord(port: number): RecordAddress {
  return { slot: 0, subslot: 0x8000 + port, index: 0x802a }
}

/** `RecordError` means that an answer is not correct. */
export class RecordError extends LinkError {
  constructor(description: string) {
    super(
      'PAYLOAD_DESERIALISATION_ISSUE',
      `The answer of the device to PROFINET RPC is incorrect: ${description}. Update its firmware, or scan without the option read_records.`,
    )
    this.name = 'RecordError'
  }
}

/** `RpcTarget` is the object of a device in RPC. Its id contains the ids of the device from DCP. */
export type RpcTarget = { vendorId: number; deviceId: number; instance: number; isController: boolean }

type ReadRequest = {
  target: RpcTarget
  /** 16 random bytes, which the answers contain. */
  activity: Buffer
  /** The number of the request in this activity. */
  sequence: number
  record: RecordAddress
}

/** Returns the datagram that reads a record. */
export function readRequest({ target, activity, sequence, record }: ReadRequest): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.writeUInt8(4, 0)
  header.writeUInt8(packetTypes.request, 1)
  header.writeUInt8(idempotent, 2)
  header.writeUInt8(littleEndian, 4)
  idBytes(objectStart, [...objectNode, ...objectEnd(target)]).copy(header, 8)
  idBytes(target.isController ? interfaces.controller : interfaces.device, interfaceEnd).copy(header, 24)
  activity.copy(header, 40, 0, 16)
  header.writeUInt32LE(1, 60)
  header.writeUInt32LE(sequence, 64)
  header.writeUInt16LE(readImplicit, 68)
  header.writeUInt16LE(0xffff, 70)
  header.writeUInt16LE(0xffff, 72)
  header.writeUInt16LE(argumentBytes + readBlockBytes, 74)
  const lengths = Buffer.alloc(argumentBytes)
  const most = readBlockBytes + longestRecord
  for (const [index, value] of [most, readBlockBytes, most, 0, readBlockBytes].entries())
    lengths.writeUInt32LE(value, index * 4)
  return Buffer.concat([header, lengths, readBlock(record, sequence)])
}

function objectEnd({ vendorId, deviceId, instance }: RpcTarget): number[] {
  return [instance, deviceId, vendorId].flatMap((value) => [value >> 8, value & 255])
}

function idBytes(start: number, end: readonly number[]): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt32LE(start, 0)
  bytes.writeUInt16LE(idMiddle[0], 4)
  bytes.writeUInt16LE(idMiddle[1], 6)
  Buffer.from(end).copy(bytes, 8)
  return bytes
}

function readBlock({ slot, subslot, index }: RecordAddress, sequence: number): Buffer {
  const block = Buffer.alloc(readBlockBytes)
  block.writeUInt16BE(blockTypes.readRequest, 0)
  block.writeUInt16BE(readBlockBytes - 4, 2)
  block.writeUInt8(1, 4)
  block.writeUInt16BE(sequence & 0xffff, 6)
  block.writeUInt16BE(slot, 28)
  block.writeUInt16BE(subslot, 30)
  block.writeUInt16BE(index, 34)
  block.writeUInt32BE(longestRecord, 36)
  return block
}

/** Returns whether a datagram is the answer to a request of this activity. */
export function isAnswerTo(
  datagram: Buffer,
  { activity, sequence }: Pick<ReadRequest, 'activity' | 'sequence'>,
): boolean {
  if (datagram.length < headerBytes || datagram.readUInt8(0) !== 4) return false
  // A device with the other byte order also changes the byte order of the id.
  const isLittle = (datagram.readUInt8(4) & littleEndian) !== 0
  const expected = isLittle ? activity : swappedId(activity)
  const number = isLittle ? datagram.readUInt32LE(64) : datagram.readUInt32BE(64)
  return datagram.subarray(40, 56).equals(expected) && number === sequence
}

function swappedId(id: Buffer): Buffer {
  const bytes = Buffer.from(id.subarray(0, 16))
  bytes.subarray(0, 4).reverse()
  bytes.subarray(4, 6).reverse()
  bytes.subarray(6, 8).reverse()
  return bytes
}

/**
 * Returns the record of an answer, or undefined if the device has no such record or refuses the request. Throws a
 * `RecordError` if the answer is not correct.
 */
export function decodeRecord(datagram: Buffer, record: RecordAddress): Buffer | undefined {
  if (datagram.length < headerBytes) throw new RecordError('it is too short')
  if (datagram.readUInt8(1) !== packetTypes.answer) return undefined
  if ((datagram.readUInt8(2) & fragmented) !== 0) throw new RecordError('it has several parts')
  const isLittle = (datagram.readUInt8(4) & littleEndian) !== 0
  const number = (at: number) => (isLittle ? datagram.readUInt32LE(at) : datagram.readUInt32BE(at))
  if (datagram.length < headerBytes + argumentBytes) throw new RecordError('its arguments are missing')
  if (number(headerBytes) !== 0) return undefined
  const block = datagram.subarray(headerBytes + argumentBytes)
  if (block.length < readBlockBytes || block.readUInt16BE(0) !== blockTypes.readAnswer)
    throw new RecordError('its first block is not the answer to a read')
  const isRequested =
    block.readUInt16BE(28) === record.slot &&
    block.readUInt16BE(30) === record.subslot &&
    block.readUInt16BE(34) === record.index
  if (!isRequested) throw new RecordError('it contains another record')
  const length = block.readUInt32BE(36)
  const data = block.subarray(readBlockBytes, readBlockBytes + length)
  if (data.length < length) throw new RecordError('its record is shorter than its length')
  return data.length === 0 ? undefined : data
}

/** `Identification` is the nameplate of a device (I&M0). */
export type Identification = {
  vendorId: number
  orderNumber?: string | undefined
  serialNumber?: string | undefined
  hardwareRevision: string
  /** The version of the firmware, such as `V2.9.4`. */
  firmwareVersion: string
}

const identificationBytes = 60

export function decodeIdentification(record: Buffer): Identification {
  if (record.length < identificationBytes || record.readUInt16BE(0) !== blockTypes.identification)
    throw new RecordError('its nameplate is incomplete')
  const prefix = readableText(record.subarray(46, 47)) ?? ''
  return {
    vendorId: record.readUInt16BE(6),
    orderNumber: readableText(record.subarray(8, 28)),
    // Siemens devices send the data identifier S before the serial number.
    serialNumber: readableText(record.subarray(28, 44))?.replace(/^S (?=\S+$)/, ''),
    hardwareRevision: String(record.readUInt16BE(44)),
    firmwareVersion: `${prefix}${[...record.subarray(47, 50)].join('.')}`,
  }
}

/** The number of neighbours at one port. A cable has one. */
const mostPeers = 8

/** Returns the MAC addresses of the devices at a port. */
export function decodePeers(record: Buffer): string[] {
  if (record.length < 14 || record.readUInt16BE(0) !== blockTypes.portData)
    throw new RecordError('its port data are incomplete')
  const byteAt = (at: number) => {
    const byte = record[at]
    if (byte === undefined) throw new RecordError('its port data are too short')
    return byte
  }
  let at = 13 + byteAt(12)
  const peers = Math.min(mostPeers, byteAt(at))
  at = aligned(at + 1)
  const addresses: string[] = []
  for (let count = 0; count < peers; count += 1) {
    at += 1 + byteAt(at)
    at = aligned(at + 1 + byteAt(at)) + 4
    const mac = record.subarray(at, at + 6)
    if (mac.length < 6) throw new RecordError('its port data are too short')
    if ((mac.readUInt8(0) & 1) === 0 && mac.some((byte) => byte !== 0)) addresses.push(macText(mac))
    at = aligned(at + 6)
  }
  return addresses
}

/** Fields of port data start at positions that are multiples of 4. */
function aligned(at: number): number {
  return (at + 3) & ~3
}
