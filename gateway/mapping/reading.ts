import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader, type WireType } from '@bufbuild/protobuf/wire'
import {
  type ConnectionParameterSet,
  ConnectionParameterSetSchema,
} from '@millwright/api/proto/generated/address_pb.js'
import { type DiscoverError, DiscoverErrorSchema } from '@millwright/api/proto/generated/discover_pb.js'
import { DeviceIdentifierSchema } from '@millwright/api/proto/generated/identifiers_pb.js'
import { exactNumber } from '@millwright/api/variant.ts'
import { LruMap } from 'toad-cache'
import { type Place, placeOf } from './path.ts'

/**
 * This file decodes devices directly from the bytes of a `DiscoverResponse`. The generated messages would take more
 * time than all other work for a device, because they decode the schema addresses again for each device. These
 * addresses are most of the text, and are the same for every device.
 */

export type Scalar = string | number | boolean

/** `Reading` is a value with its path, or a container with its children. */
export type Reading = { place: Place | undefined; content: Scalar | Reading[] | undefined }

/** `DeviceReadings` contains the values of one device, and the connection through which the link reaches the device. */
export type DeviceReadings = { readings: Reading[]; connectionParameterSet: ConnectionParameterSet | undefined }

/** The maximum nesting depth of a device. */
const maxDepth = 64

const wire = { varint: 0, fixed64: 1, bytes: 2 } as const
const tag = (field: number, type: number) => (field << 3) | type

const tags = {
  response: { devices: tag(1, wire.bytes), errors: tag(2, wire.bytes), progress: tag(100, wire.varint) },
  device: { identifiers: tag(1, wire.bytes), connection: tag(2, wire.bytes) },
  list: { value: tag(1, wire.bytes) },
  identifier: {
    int64: tag(2, wire.varint),
    uint64: tag(3, wire.varint),
    float64: tag(4, wire.fixed64),
    text: tag(5, wire.bytes),
    raw: tag(6, wire.bytes),
    children: tag(7, wire.bytes),
    classifiers: tag(8, wire.bytes),
  },
} as const

type Discovered = { devices: DeviceReadings[]; errors: DiscoverError[]; progress?: number }

export function readDiscovered(bytes: Buffer): Discovered {
  const reader = new BinaryReader(bytes)
  const devices: DeviceReadings[] = []
  const errors: DiscoverError[] = []
  let progress = 0
  while (reader.pos < reader.len) {
    const at = reader.uint32()
    if (at === tags.response.devices) devices.push(readDevice({ reader, bytes }, endOf(reader)))
    else if (at === tags.response.errors) errors.push(fromBinary(DiscoverErrorSchema, reader.bytes()))
    else if (at === tags.response.progress) progress = reader.uint32()
    else skip(reader, at)
  }
  return { devices, errors, ...(progress === 0 ? {} : { progress }) }
}

/**
 * Returns the values of a `GetIdentifiersResponse`. They have the same field number there as in a discovered device.
 */
export function readIdentifiers(bytes: Buffer): Reading[] {
  return readDevice({ reader: new BinaryReader(bytes), bytes }, bytes.length).readings
}

type Source = { reader: BinaryReader; bytes: Buffer }

function readDevice(source: Source, end: number): DeviceReadings {
  const { reader } = source
  const readings: Reading[] = []
  let connectionParameterSet: ConnectionParameterSet | undefined
  while (reader.pos < end) {
    const at = reader.uint32()
    if (at === tags.device.identifiers) readings.push(readIdentifier(source, endOf(reader), 0))
    else if (at === tags.device.connection) {
      connectionParameterSet = fromBinary(ConnectionParameterSetSchema, reader.bytes())
    } else skip(reader, at)
  }
  return { readings, connectionParameterSet }
}

/** Reads the children of a container and skips other fields. */
function readChildren(source: Source, end: number, depth: number): Reading[] {
  const { reader } = source
  const readings: Reading[] = []
  while (reader.pos < end) {
    const at = reader.uint32()
    if (at === tags.list.value) readings.push(readIdentifier(source, endOf(reader), depth))
    else skip(reader, at)
  }
  return readings
}

function readIdentifier(source: Source, end: number, depth: number): Reading {
  if (depth > maxDepth) throw new RangeError(`A device is nested deeper than ${maxDepth} levels`)
  const { reader, bytes } = source
  let content: Reading['content']
  let classifiers = ''
  while (reader.pos < end) {
    const from = reader.pos
    const at = reader.uint32()
    switch (at) {
      case tags.identifier.classifiers: {
        reader.pos = endOf(reader)
        classifiers += bytes.toString('latin1', from, reader.pos)
        break
      }
      case tags.identifier.text:
        content = readText(source, endOf(reader))
        break
      case tags.identifier.children: {
        const children = readChildren(source, endOf(reader), depth + 1)
        content = Array.isArray(content) ? [...content, ...children] : children
        break
      }
      case tags.identifier.int64:
        content = exactNumber(BigInt(reader.int64()))
        break
      case tags.identifier.uint64:
        content = exactNumber(BigInt(reader.uint64()))
        break
      case tags.identifier.float64: {
        const number = reader.double()
        content = Number.isFinite(number) ? number : undefined
        break
      }
      case tags.identifier.raw: {
        const raw = reader.bytes()
        content = raw.length === 0 ? undefined : Buffer.from(raw).toString('base64')
        break
      }
      default:
        skip(reader, at)
    }
  }
  return { place: placeOfBytes(classifiers), content }
}

/** Reads a text and removes its null characters. Returns undefined when the remaining text is empty. */
function readText({ reader, bytes }: Source, end: number): string | undefined {
  const whole = bytes.toString('utf8', reader.pos, end)
  reader.pos = end
  const text = (whole.includes('\u0000') ? whole.replaceAll('\u0000', '') : whole).trim()
  return text === '' ? undefined : text
}

function endOf(reader: BinaryReader): number {
  const length = reader.uint32()
  const end = reader.pos + length
  if (end > reader.len) throw new RangeError('A message ends in the middle of a value')
  return end
}

function skip(reader: BinaryReader, at: number): void {
  reader.skip((at & 7) as WireType, at >>> 3)
}

/**
 * The limits of the cache for places. The devices of one scan have the same classifiers, so the place of each
 * classifier is computed only once.
 */
const remembered = { places: 5_000, characters: 1_000 } as const
/** The cached places by encoded classifiers. The value is `null` for classifiers without a place. */
const known = new LruMap<Place | null>(remembered.places)

/**
 * Returns the place for encoded classifiers. Their concatenation is decoded as a `DeviceIdentifier`, because it is the
 * encoding of an identifier that has no other fields.
 */
function placeOfBytes(classifiers: string): Place | undefined {
  const before = known.get(classifiers)
  if (before !== undefined) return before ?? undefined
  const place = placeOf(fromBinary(DeviceIdentifierSchema, Buffer.from(classifiers, 'latin1')).classifiers)
  if (classifiers.length <= remembered.characters) known.set(classifiers, place ?? null)
  return place
}
