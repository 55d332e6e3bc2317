import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { VariantSchema, VariantType } from './proto/generated/variant_pb.js'
import { dataTypeOf, type JsonValue, jsonOf, VariantFile, variantOf, variantOfType, variantTypeOf } from './variant.ts'

test('returns the same JSON value after protobuf encoding and decoding', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      const json = JSON.parse(JSON.stringify(value)) as JsonValue
      const wire = toBinary(VariantSchema, variantOf(json))
      assert.deepEqual(jsonOf(fromBinary(VariantSchema, wire)), json)
    }),
    { numRuns: 80 },
  )
})

test('converts 64-bit integers, infinity, bytes, dates and files to JSON', () => {
  assert.equal(jsonOf(variantOf(2n ** 63n)), '9223372036854775808')
  assert.equal(variantOf(2n ** 63n).value.case, 'uint64Value')
  assert.equal(jsonOf(variantOf(12n)), 12)
  assert.equal(jsonOf(variantOf(Uint8Array.of(1, 2))), 'AQI=')
  assert.equal(jsonOf(variantOf(Number.POSITIVE_INFINITY)), 'Infinity')
  assert.equal(jsonOf(variantOf(new Date(0))), '1970-01-01T00:00:00.000Z')
  const file = new VariantFile({ data: Uint8Array.of(1), contentType: 'text/plain', fileName: 'a' })
  assert.deepEqual(jsonOf(variantOf(file)), { content_type: 'text/plain', file_name: 'a', data: 'AQ==' })
  assert.deepEqual(jsonOf(variantOf({ a: undefined, b: [null] })), { b: [null] })
})

const { VT_BOOL, VT_INT64, VT_UINT64, VT_DOUBLE, VT_STRING, VT_BYTES, VT_STRUCT, VT_ARRAY, VT_NULL, VT_FILE } =
  VariantType

test('converts a JSON value to the type that a link declares, or returns undefined if it does not fit', () => {
  const cases: [VariantType, JsonValue, string | undefined, unknown?][] = [
    [VT_BOOL, 'true', 'boolValue', true],
    [VT_BOOL, false, 'boolValue', false],
    [VT_BOOL, 'yes', undefined],
    [VT_INT64, '-12', 'int64Value', -12n],
    [VT_INT64, 12, 'int64Value', 12n],
    [VT_INT64, '9223372036854775808', undefined],
    [VT_INT64, 1.5, undefined],
    [VT_INT64, '', undefined],
    [VT_UINT64, '18446744073709551615', 'uint64Value', 18446744073709551615n],
    [VT_UINT64, -1, undefined],
    [VT_DOUBLE, '1.5', 'float64Value', 1.5],
    [VT_DOUBLE, ' ', undefined],
    [VT_DOUBLE, 'x', undefined],
    [VT_STRING, 5, 'text', '5'],
    [VT_STRING, null, undefined],
    [VT_BYTES, '/wAB', 'rawData', Uint8Array.of(255, 0, 1)],
    [VT_BYTES, '', 'rawData', Uint8Array.of()],
    [VT_STRUCT, '{"a":1}', 'structValue'],
    [VT_STRUCT, '[1]', undefined],
    [VT_STRUCT, 'no JSON', undefined],
    [VT_ARRAY, [1], 'arrayValue'],
    [VT_NULL, 'anything', 'nullValue', 0],
    [VT_FILE, 'x', undefined],
  ]
  for (const [type, given, expected, value] of cases) {
    const held = variantOfType(type, given)?.value
    assert.equal(held?.case, expected, `${VariantType[type]} of ${JSON.stringify(given)}`)
    if (value !== undefined) assert.deepEqual(held?.value, value)
  }
})

test('maps every variant type to a data type name and back', () => {
  for (const type of Object.values(VariantType).filter((value) => typeof value === 'number')) {
    assert.equal(variantTypeOf(dataTypeOf(type)), type)
  }
  assert.equal(dataTypeOf(VT_UINT64), 'unsigned')
  assert.equal(dataTypeOf(99 as VariantType), 'unspecified')
})
