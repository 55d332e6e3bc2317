import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceIdentifier } from '@millwright/api/proto/generated/identifiers_pb.js'
import { type Asset, identifiersOf } from './device-identifiers.ts'

const base = 'https://industrial-assets.io/schemas/iah/base-schema/released/v1'
const device = (fields: Asset) => identifiersOf({ functional_object_type: 'Device', ...fields }).slice(1)
const uriOf = (identifier: DeviceIdentifier | undefined) => {
  const [classifier, ...others] = identifier?.classifiers ?? []
  assert.deepEqual([classifier?.type, others], ['URI', []])
  return classifier?.value
}
const plain = (identifiers: DeviceIdentifier[]): unknown[] =>
  identifiers.map((identifier) => [
    uriOf(identifier)?.replace(`${base}/Device#`, ''),
    identifier.value.case,
    identifier.value.case === 'children' ? plain(identifier.value.value.value) : identifier.value.value,
  ])

test('builds the URI from the folder of the asset schema and the type of the asset', () => {
  assert.equal(uriOf(identifiersOf({ name: 'x' })[0]), `${base}/Asset#name`)
  const own = {
    functional_object_schema_url: 'https://schema.example/sat/v0.8.2/sat.json',
    functional_object_type: 'Sat',
  }
  assert.equal(uriOf(identifiersOf(own)[0]), 'https://schema.example/sat/v0.8.2/Sat#functional_object_schema_url')
})

test('converts the fields of nested objects to values with a path', () => {
  assert.deepEqual(plain(device({ a: { b: { c: 'x' } }, d: 'y' })), [
    ['a/b/c', 'text', 'x'],
    ['d', 'text', 'y'],
  ])
})

test('converts each element of an array to a container with the path of the array', () => {
  assert.deepEqual(
    plain(
      device({
        list: [
          { id: 'a', inner: [{ x: 1 }] },
          { id: 'b', deep: { y: 2 } },
        ],
      }),
    ),
    [
      [
        'list',
        'children',
        [
          ['list/id', 'text', 'a'],
          ['list/inner', 'children', [['list/inner/x', 'int64Value', 1n]]],
        ],
      ],
      [
        'list',
        'children',
        [
          ['list/id', 'text', 'b'],
          ['list/deep/y', 'int64Value', 2n],
        ],
      ],
    ],
  )
  assert.deepEqual(plain(device({ tags: ['a', 'b'] })), [
    ['tags', 'text', 'a'],
    ['tags', 'text', 'b'],
  ])
})

test('encodes numbers and bytes in their own type, and booleans and dates as text', () => {
  const time = new Date(0)
  assert.deepEqual(plain(device({ a: true, b: false, c: -3, d: 3n, e: -3n, f: 1.5, g: Uint8Array.of(1), h: time })), [
    ['a', 'text', 'true'],
    ['b', 'text', 'false'],
    ['c', 'int64Value', -3n],
    ['d', 'uint64Value', 3n],
    ['e', 'int64Value', -3n],
    ['f', 'float64Value', 1.5],
    ['g', 'rawData', Uint8Array.of(1)],
    ['h', 'text', '1970-01-01T00:00:00.000Z'],
  ])
})

test('does not send empty values', () => {
  assert.deepEqual(device({ a: '', b: '  ', c: null, d: undefined, e: [], f: {}, g: [{}], h: [{ x: '' }] }), [])
})

test('throws an error for a field name with reserved characters', () => {
  for (const name of ['a/b', 'a[0]', 'a#b', 'a%b'])
    assert.throws(() => device({ [name]: 'x' }), /is not a valid field name/)
  assert.throws(() => device({ a: [['x']] }), /array of arrays/)
})
