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
    'secret numbers, lists and objects as a whole',
    { properties: { a: { writeOnly: true }, b: { writeOnly: true }, c: { format: 'password' } } },
    { a: 7, b: ['x'], c: { d: 'x' } },
    { a: '***', b: '***', c: '***' },
  ],
  [
    'a nested secret field',
    { properties: { a: { properties: { b: { items: { properties: { pin: secret, user: text } } } } } } },
    { a: { b: [{ pin: 'x', user: 'u' }, { user: 'v' }] } },
    { a: { b: [{ pin: '***', user: 'u' }, { user: 'v' }] } },
  ],
  [
    'a field that a referenced schema marks as secret',
    {
      properties: { pin: { $ref: '#/$defs/pin' } },
      $defs: { pin: { $ref: '#secret' }, s: { $anchor: 'secret', ...secret } },
    },
    { pin: 'x' },
    { pin: '***' },
  ],
  [
    'a field that a recursive schema marks as secret',
    { properties: { pin: secret, next: { $ref: '#' } } },
    { pin: 'x', next: { next: { pin: 'x' } } },
    { pin: '***', next: { next: { pin: '***' } } },
  ],
  [
    'a field that any oneOf branch marks as secret, even if another branch matches',
    { properties: { user: text }, oneOf: [{ properties: { key: text } }, { properties: { key: secret } }] },
    { user: 'u', key: 'x' },
    { user: 'u', key: '***' },
  ],
  [
    'a field that a conditional schema marks as secret',
    { properties: { kind: text, key: text }, if: {}, else: { properties: { key: secret } } },
    { kind: 'k', key: 'x' },
    { kind: 'k', key: '***' },
  ],
  [
    'a field that dependentSchemas marks as secret',
    { properties: { a: text, b: text }, dependentSchemas: { a: { properties: { b: secret } } } },
    { a: 'x', b: 'y' },
    { a: 'x', b: '***' },
  ],
  [
    'a field whose name matches a secret patternProperties entry',
    { properties: { user: text }, patternProperties: { '^key': secret }, additionalProperties: text },
    { user: 'u', key1: 'x', note: 'n' },
    { user: 'u', key1: '***', note: 'n' },
  ],
  [
    'additional fields that additionalProperties marks as secret, but no named fields',
    { properties: { user: text }, additionalProperties: secret },
    { user: 'u', other: 'x' },
    { user: 'u', other: '***' },
  ],
  [
    'list entries that prefixItems marks as secret',
    { properties: { pair: { prefixItems: [text, secret], items: text } } },
    { pair: ['u', 'x', 'n'] },
    { pair: ['u', '***', 'n'] },
  ],
  [
    'unevaluated fields, except fields that the schema always describes',
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
    'the entries of a list whose schema has contains',
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
  ['no value of a named field with an empty schema', { properties: { user: true } }, { user: 'u' }, { user: 'u' }],
]

describe('secret fields', () => {
  for (const [what, schema, values, shown] of cases) {
    test(`masks ${what}`, () => assert.deepEqual(new SecretFields(schema).shown(values), shown))
  }

  test('masks a field that is marked as secret inside any keyword that can contain a schema', () => {
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
