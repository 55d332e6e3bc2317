import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SecretFields } from './secret-fields.ts'

const text = { type: 'string' }
const secret = { type: 'string', writeOnly: true }

type Case = [what: string, schema: Record<string, unknown>, values: Record<string, unknown>, shown: unknown]

const cases: Case[] = [
  [
    'a writeOnly field',
    { properties: { user: text, pin: secret } },
    { user: 'u', pin: '1' },
    { user: 'u', pin: '***' },
  ],
  ['a field with the format password', { properties: { pin: { format: 'password' } } }, { pin: '1' }, { pin: '***' }],
  [
    'numbers, lists and objects as a whole',
    { properties: { a: { writeOnly: true }, b: { writeOnly: true }, c: { format: 'password' } } },
    { a: 7, b: ['x'], c: { d: 'x' } },
    { a: '***', b: '***', c: '***' },
  ],
  [
    'a nested field',
    { properties: { a: { properties: { b: { items: { properties: { pin: secret, user: text } } } } } } },
    { a: { b: [{ pin: 'x', user: 'u' }, { user: 'v' }] } },
    { a: { b: [{ pin: '***', user: 'u' }, { user: 'v' }] } },
  ],
  [
    'a field that a reference marks',
    {
      properties: { pin: { $ref: '#/$defs/pin' } },
      $defs: { pin: { $ref: '#secret' }, s: { $anchor: 'secret', ...secret } },
    },
    { pin: 'x' },
    { pin: '***' },
  ],
  [
    'a field that a recursive schema marks',
    { properties: { pin: secret, next: { $ref: '#' } } },
    { pin: 'x', next: { next: { pin: 'x' } } },
    { pin: '***', next: { next: { pin: '***' } } },
  ],
  [
    'a field that any choice marks, independent of the matching one',
    { properties: { user: text }, oneOf: [{ properties: { key: text } }, { properties: { key: secret } }] },
    { user: 'u', key: 'x' },
    { user: 'u', key: '***' },
  ],
  [
    'a field that a condition marks',
    { properties: { kind: text, key: text }, if: {}, else: { properties: { key: secret } } },
    { kind: 'k', key: 'x' },
    { kind: 'k', key: '***' },
  ],
  [
    'a field that depends on another field',
    { properties: { a: text, b: text }, dependentSchemas: { a: { properties: { b: secret } } } },
    { a: 'x', b: 'y' },
    { a: 'x', b: '***' },
  ],
  [
    'a field that a name pattern or additionalProperties marks',
    { properties: { user: text }, patternProperties: { '^key': secret }, additionalProperties: text },
    { user: 'u', key1: 'x', note: 'n' },
    { user: 'u', key1: '***', note: 'n' },
  ],
  [
    'additional members by their schema, not the named ones',
    { properties: { user: text }, additionalProperties: secret },
    { user: 'u', other: 'x' },
    { user: 'u', other: '***' },
  ],
  [
    'entries by their position',
    { properties: { pair: { prefixItems: [text, secret], items: text } } },
    { pair: ['u', 'x', 'n'] },
    { pair: ['u', '***', 'n'] },
  ],
  [
    'unevaluated members, except those that a schema always describes',
    {
      properties: { user: text },
      allOf: [{ $ref: '#/$defs/place' }],
      oneOf: [{ properties: { kind: { const: 'a' }, key: text } }, { properties: { kind: { const: 'b' } } }],
      unevaluatedProperties: secret,
      $defs: { place: { properties: { port: { type: 'integer' } } } },
    },
    { user: 'u', port: 1, kind: 'b', key: 'x', other: 'y' },
    { user: 'u', port: 1, kind: '***', key: '***', other: '***' },
  ],
  [
    'an entry of a list with contains',
    { properties: { keys: { contains: text }, marked: { items: text, contains: secret } } },
    { keys: ['x'], marked: ['y'] },
    { keys: ['***'], marked: ['***'] },
  ],
  [
    'all fields when the whole schema is secret',
    { writeOnly: true, properties: { user: text } },
    { user: 'u' },
    { user: '***' },
  ],
  [
    'a field that the schema does not describe',
    { properties: { user: {} } },
    { user: { x: 'y' }, z: 1 },
    { user: { x: '***' }, z: '***' },
  ],
  ['all fields of an empty schema', { type: 'object' }, { user: 'u' }, { user: '***' }],
  ['a named field with an empty schema', { properties: { user: true } }, { user: 'u' }, { user: 'u' }],
]

describe('secret fields', () => {
  for (const [what, schema, values, shown] of cases) {
    test(`decides which values are secret: ${what}`, () =>
      assert.deepEqual(new SecretFields(schema).shown(values), shown))
  }

  test('finds a marked field in every keyword that can contain a schema', () => {
    const wrap = fc.constantFrom<(inner: Record<string, unknown>) => Record<string, unknown>>(
      (inner) => ({ allOf: [inner] }),
      (inner) => ({ anyOf: [{ type: 'string' }, inner] }),
      (inner) => ({ oneOf: [inner, {}] }),
      (inner) => ({ if: {}, else: inner }),
      (inner) => ({ not: inner }),
    )
    const mark = fc.constantFrom<Record<string, unknown>>({ writeOnly: true }, { format: 'password' })
    fc.assert(
      fc.property(fc.array(wrap, { maxLength: 6 }), mark, fc.nat(4), (wraps, marked, depth) => {
        let schema = wraps.reduce((inner, put) => put(inner), marked)
        let values: unknown = 'planted-secret'
        for (let level = 0; level <= depth; level++) {
          schema = { properties: { field: schema } }
          values = { field: values }
        }
        assert.ok(!JSON.stringify(new SecretFields(schema).shown(values as never)).includes('planted-secret'))
      }),
      { numRuns: 200 },
    )
  })
})
