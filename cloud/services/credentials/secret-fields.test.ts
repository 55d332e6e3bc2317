import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SecretFields } from './secret-fields.ts'

const text = { type: 'string' }
const secret = { type: 'string', writeOnly: true }

type Case = [what: string, schema: Record<string, unknown>, values: Record<string, unknown>, shown: unknown]

const cases: Case[] = [
  [
    'what is writeOnly',
    { properties: { user: text, pin: secret } },
    { user: 'u', pin: '1' },
    { user: 'u', pin: '***' },
  ],
  ['what has the format of a password', { properties: { pin: { format: 'password' } } }, { pin: '1' }, { pin: '***' }],
  [
    'numbers, lists and objects as a whole',
    { properties: { a: { writeOnly: true }, b: { writeOnly: true }, c: { format: 'password' } } },
    { a: 7, b: ['x'], c: { d: 'x' } },
    { a: '***', b: '***', c: '***' },
  ],
  [
    'what is deep inside',
    { properties: { a: { properties: { b: { items: { properties: { pin: secret, user: text } } } } } } },
    { a: { b: [{ pin: 'x', user: 'u' }, { user: 'v' }] } },
    { a: { b: [{ pin: '***', user: 'u' }, { user: 'v' }] } },
  ],
  [
    'what a reference marks',
    {
      properties: { pin: { $ref: '#/$defs/pin' } },
      $defs: { pin: { $ref: '#secret' }, s: { $anchor: 'secret', ...secret } },
    },
    { pin: 'x' },
    { pin: '***' },
  ],
  [
    'what a recursive schema marks',
    { properties: { pin: secret, next: { $ref: '#' } } },
    { pin: 'x', next: { next: { pin: 'x' } } },
    { pin: '***', next: { next: { pin: '***' } } },
  ],
  [
    'what any choice marks, whichever was taken',
    { properties: { user: text }, oneOf: [{ properties: { key: text } }, { properties: { key: secret } }] },
    { user: 'u', key: 'x' },
    { user: 'u', key: '***' },
  ],
  [
    'what a condition marks',
    { properties: { kind: text, key: text }, if: {}, else: { properties: { key: secret } } },
    { kind: 'k', key: 'x' },
    { kind: 'k', key: '***' },
  ],
  [
    'what depends on something else',
    { properties: { a: text, b: text }, dependentSchemas: { a: { properties: { b: secret } } } },
    { a: 'x', b: 'y' },
    { a: 'x', b: '***' },
  ],
  [
    'what a pattern of names marks, and what is left over',
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
    'entries by their place',
    { properties: { pair: { prefixItems: [text, secret], items: text } } },
    { pair: ['u', 'x', 'n'] },
    { pair: ['u', '***', 'n'] },
  ],
  [
    'what is left over unless it is described for sure',
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
    'an entry of a list that only has to contain something',
    { properties: { keys: { contains: text }, marked: { items: text, contains: secret } } },
    { keys: ['x'], marked: ['y'] },
    { keys: ['***'], marked: ['***'] },
  ],
  [
    'everything when the whole schema is secret',
    { writeOnly: true, properties: { user: text } },
    { user: 'u' },
    { user: '***' },
  ],
  [
    'what the schema does not describe',
    { properties: { user: {} } },
    { user: { x: 'y' }, z: 1 },
    { user: { x: '***' }, z: '***' },
  ],
  ['everything of a schema that says nothing', { type: 'object' }, { user: 'u' }, { user: '***' }],
  ['what is allowed to be anything by name', { properties: { user: true } }, { user: 'u' }, { user: 'u' }],
]

describe('secret is', () => {
  for (const [what, schema, values, shown] of cases) {
    test(what, () => assert.deepEqual(new SecretFields(schema).shown(values), shown))
  }

  test('a marked field wherever it is put, through any of the ways to put it there', () => {
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
