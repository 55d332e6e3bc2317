import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { type DiscoverResponse, DiscoverResponseSchema } from '@millwright/api/proto/generated/discover_pb.js'
import type { DeviceIdentifier, DeviceIdentifierSchema } from '@millwright/api/proto/generated/identifiers_pb.js'
import { exactNumber } from '@millwright/api/variant.ts'
import fc from 'fast-check'
import { placeOf } from './path.ts'
import { type Reading, readDiscovered } from './reading.ts'

type Init = MessageInitShape<typeof DeviceIdentifierSchema>

const encoded = (response: MessageInitShape<typeof DiscoverResponseSchema>) =>
  Buffer.from(toBinary(DiscoverResponseSchema, create(DiscoverResponseSchema, response)))

/** Returns the same content, decoded with the generated messages. */
function readingOf({ classifiers, value }: DeviceIdentifier): Reading {
  return { place: placeOf(classifiers), content: contentOf(value) }
}

function contentOf(value: DeviceIdentifier['value']): Reading['content'] {
  switch (value.case) {
    case 'text':
      return value.value.replaceAll('\u0000', '').trim() || undefined
    case 'int64Value':
    case 'uint64Value':
      return exactNumber(value.value)
    case 'float64Value':
      return Number.isFinite(value.value) ? value.value : undefined
    case 'rawData':
      return Buffer.from(value.value).toString('base64') || undefined
    case 'children':
      return value.value.value.map(readingOf)
    default:
      return undefined
  }
}

const uri = fc.constantFrom('name', 'connection_points[1]/id', 'software_components/artifact/name', '', 'a/__proto__/b')
const classifier = fc.oneof(
  uri.map((path) => ({ type: 'URI', value: `https://industrial-assets.io/schemas/x/Device#${path}` })),
  fc.record({ type: fc.constantFrom('IRDI', 'uri', ''), value: fc.constantFrom('0173-1#02-AAM556#004', 'ä#b', '') }),
)
const value = fc.letrec<{ value: NonNullable<Init['value']> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.record({ case: fc.constant('text' as const), value: fc.string({ unit: 'grapheme' }) }),
    fc.record({
      case: fc.constant('int64Value' as const),
      value: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    }),
    fc.record({ case: fc.constant('uint64Value' as const), value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
    fc.record({ case: fc.constant('float64Value' as const), value: fc.double() }),
    fc.record({ case: fc.constant('rawData' as const), value: fc.uint8Array() }),
    fc
      .array(fc.record({ classifiers: fc.array(classifier, { maxLength: 2 }), value: tie('value') }), { maxLength: 3 })
      .map((children) => ({ case: 'children' as const, value: { value: children as Init[] } })),
  ),
})).value
const identifier: fc.Arbitrary<Init> = fc.record({ classifiers: fc.array(classifier, { maxLength: 2 }), value })

test('readDiscovered returns the same values as the generated protobuf decoder', () => {
  fc.assert(
    fc.property(fc.array(fc.array(identifier, { maxLength: 4 }), { maxLength: 3 }), (devices) => {
      const bytes = encoded({
        devices: devices.map((identifiers, index) => ({
          identifiers,
          timestamp: 7n,
          ...(index === 1 ? { connectionParameterSet: { parameterJson: '{"ip":"10.0.0.1"}' } } : {}),
        })),
        errors: [{ resultCode: 16, description: 'Who are you?' }],
      })
      const message: DiscoverResponse = fromBinary(DiscoverResponseSchema, bytes)
      const read = readDiscovered(bytes)
      assert.deepEqual(
        read.devices,
        message.devices.map(({ identifiers, connectionParameterSet }) => ({
          readings: identifiers.map(readingOf),
          connectionParameterSet,
        })),
      )
      assert.deepEqual(read.errors, message.errors)
    }),
    { numRuns: 200 },
  )
})

test('readDiscovered skips fields of a later protocol version', () => {
  const known = encoded({ devices: [{ identifiers: [{ value: { case: 'text', value: 'known' } }] }] })
  const added = new BinaryWriter().tag(99, WireType.LengthDelimited).string('new').tag(98, WireType.Varint).uint32(1)
  const identifierBytes = new BinaryWriter().tag(97, WireType.Bit64).fixed64(1n).tag(5, WireType.LengthDelimited)
  const device = new BinaryWriter()
    .raw(added.finish())
    .tag(1, WireType.LengthDelimited)
    .bytes(identifierBytes.string('too').finish())
  const response = new BinaryWriter().raw(known).tag(1, WireType.LengthDelimited).bytes(device.finish())
  assert.deepEqual(
    readDiscovered(Buffer.from(response.finish())).devices.map(({ readings }) => readings[0]?.content),
    ['known', 'too'],
  )
})

test('readDiscovered replaces invalid UTF-8 and continues', () => {
  const text = new BinaryWriter()
    .tag(5, WireType.LengthDelimited)
    .bytes(Uint8Array.of(0x41, 0xff, 0x42))
    .finish()
  const device = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(text).finish()
  const response = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(device).finish()
  assert.equal(readDiscovered(Buffer.from(response)).devices[0]?.readings[0]?.content, 'A\ufffdB')
})

test('readDiscovered rejects invalid bytes at any depth', () => {
  const bytes = encoded({ devices: [{ identifiers: [{ value: { case: 'text', value: 'whole' } }] }] })
  for (let length = 1; length < bytes.length; length++) {
    assert.throws(() => readDiscovered(bytes.subarray(0, length)), RangeError)
  }
  let deep: Init = { value: { case: 'text', value: 'ground' } }
  for (let depth = 0; depth < 80; depth++) deep = { value: { case: 'children', value: { value: [deep] } } }
  assert.throws(() => readDiscovered(encoded({ devices: [{ identifiers: [deep] }] })), /nested deeper/)
})
