import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ActiveFilterSchema } from '@millwright/api/proto/generated/filters_pb.js'
import { ComparisonOperator } from '@millwright/api/proto/generated/operators_pb.js'
import { type VariantValue, variantOf } from '@millwright/api/variant.ts'
import fc from 'fast-check'
import type { Parameter } from './manifest.ts'
import { type Filter, matches, type Operator, readFilters, readOptions } from './parameters.ts'

const declared: Parameter[] = [
  { key: 'range', type: 'text', description: 'Where' },
  { key: 'count', type: 'integer', description: 'How many', default: 5 },
  { key: 'deep', type: 'boolean', description: 'Whether' },
]
const activeFilter = (key: string, value: VariantValue, operator: Operator = 'EQUAL') =>
  create(ActiveFilterSchema, { key, operator: ComparisonOperator[operator], value: variantOf(value) })
const bytes = (text: string) => new TextEncoder().encode(text)

test('readFilters returns the sent values, and defaults for missing filters', () => {
  assert.deepEqual(readFilters([activeFilter('range', 'a'), activeFilter('range', 'b', 'STRING_PATTERN')], declared), [
    { key: 'range', operator: 'EQUAL', value: 'a' },
    { key: 'range', operator: 'STRING_PATTERN', value: 'b' },
    { key: 'count', operator: 'EQUAL', value: 5 },
  ])
  assert.deepEqual({ ...readOptions([], declared) }, { count: 5 })
})

test('readFilters accepts clients that send every value as bytes or text', () => {
  const sent = [
    activeFilter('range', bytes('10.0.0.1')),
    activeFilter('count', bytes('7')),
    activeFilter('deep', 'true'),
  ]
  assert.deepEqual({ ...readOptions(sent as never, declared) }, { range: '10.0.0.1', count: 7, deep: true })
})

test('readFilters rejects invalid filters with a reason', () => {
  const refused = (filter: Parameters<typeof readFilters>[0][number], reason: RegExp) =>
    assert.throws(
      () => readFilters([filter], declared),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'INVALID_ARGUMENT')
        assert.match(error.message, reason)
        return true
      },
    )
  refused(activeFilter('other', 'x'), /Unknown filter "other": the link supports range, count, deep/)
  refused(activeFilter('count', 'many'), /"count" must have the type integer/)
  refused(activeFilter('range', Uint8Array.of(0xff)), /"range" must have the type text/)
  refused(create(ActiveFilterSchema, { key: 'range' }), /has no value/)
  refused(
    activeFilter('count', 1, 'STRING_PATTERN'),
    /"count" has the type integer, so it cannot be compared with a pattern/,
  )
  refused(activeFilter('deep', true, 'LESS_THAN'), /cannot be compared with LESS_THAN/)
  refused(
    create(ActiveFilterSchema, { key: 'range', operator: 42 as ComparisonOperator, value: variantOf('x') }),
    /operator 42/,
  )
  assert.throws(
    () => readFilters([], [{ key: 'm', type: 'text', description: 'Needed.', mandatory: true }]),
    /mandatory/,
  )
})

const filter = (key: string, operator: Operator, value: Filter['value']): Filter => ({ key, operator, value })

test('matches() combines filters of the same key with "or", and filters of different keys with "and"', () => {
  const filters = [filter('vendor', 'EQUAL', 'A'), filter('vendor', 'EQUAL', 'B'), filter('slot', 'LESS_THAN', 3)]
  assert.equal(matches(filters, { vendor: 'B', slot: 2 }), true)
  assert.equal(matches(filters, { vendor: 'B', slot: 3 }), false)
  assert.equal(matches(filters, { vendor: 'b', slot: 2 }), false)
  assert.equal(matches(filters, { slot: 2, name: 'not asked for' }), true)
})

test('matches() treats * and ? in a pattern as wildcards, in bounded time', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '?', '*'), maxLength: 8 })
  fc.assert(
    fc.property(letters, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 }), (pattern, text) => {
      const expression = new RegExp(`^${pattern.replaceAll('?', '.').replaceAll(/\*+/g, '.*')}$`)
      assert.equal(matches([filter('k', 'STRING_PATTERN', pattern)], { k: text }), expression.test(text))
    }),
  )
  assert.equal(matches([filter('k', 'STRING_PATTERN', `${'*a'.repeat(50)}b`)], { k: 'a'.repeat(5_000) }), false)
})
