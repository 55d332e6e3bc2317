import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { unionErrors } from './union-errors.ts'
import { fieldErrors } from './validation.ts'

const ajv = new Ajv2020({ allErrors: true, verbose: true, strict: false })

function errorsOf(schema: object, value: unknown): string[] {
  const validate = ajv.compile(schema)
  assert.equal(validate(value), false)
  return fieldErrors(validate.errors ?? []).map(({ pointer, code, detail }) => `${pointer} ${code}: ${detail}`)
}

const text = { type: 'string', maxLength: 3 }
const nothing = { type: 'null' }

test('reports the types of all union branches in one error when the value has none of them', () => {
  assert.deepEqual(errorsOf({ anyOf: [text, nothing] }, 5), [' type: must be a string or null'])
  assert.deepEqual(errorsOf({ anyOf: [{ type: 'integer' }, nothing] }, 1.5), [' type: must be an integer or null'])
})

test('reports only the errors of the union branch that has the type of the value', () => {
  assert.deepEqual(errorsOf({ anyOf: [nothing, text] }, 'long text'), [
    ' maxLength: must NOT have more than 3 characters',
  ])
})

test('reports the constants of all union branches as one enumeration', () => {
  assert.deepEqual(errorsOf({ anyOf: [{ const: 'a' }, { const: 'b' }] }, 'c'), [' enum: must be one of a, b'])
})

test('reports the errors of the union branch that matches the fields of each list entry', () => {
  const branch = (kind: string, properties: object) => ({
    type: 'object',
    properties: { kind: { const: kind }, ...properties },
    required: ['kind'],
    additionalProperties: false,
  })
  const schema = {
    type: 'array',
    items: { oneOf: [branch('one', { size: { type: 'integer' } }), branch('two', { name: text })] },
  }
  const value = [
    { kind: 'one', size: 'x' },
    { kind: 'two', name: 7 },
    { kind: 'two', name: 'ok' },
  ]
  assert.deepEqual(errorsOf(schema, value), ['/0/size type: must be an integer', '/1/name type: must be a string'])
})

test('reports the errors of a union inside a union', () => {
  const inner = { type: 'object', properties: { at: { anyOf: [text, nothing] } }, required: ['at'] }
  const schema = { anyOf: [{ type: 'object', properties: { data: inner }, required: ['data'] }, inner] }
  assert.deepEqual(errorsOf(schema, { data: { at: 5 } }), ['/data/at type: must be a string or null'])
  assert.deepEqual(errorsOf(schema, { at: 5 }), ['/at type: must be a string or null'])
  assert.deepEqual(errorsOf(schema, {}), ['/data missing: is missing; send it or at'])
})

test('reports a oneOf error when several branches match', () => {
  const schema = {
    type: 'object',
    properties: { a: { oneOf: [{ type: 'number' }, { minimum: 1 }, nothing] }, b: text },
  }
  assert.deepEqual(errorsOf(schema, { a: 5, b: 5 }), [
    '/a oneOf: must match exactly one schema in oneOf',
    '/b type: must be a string',
  ])
})

test('reports the errors of union branches behind a reference', () => {
  const schema = { $defs: { short: text }, anyOf: [{ $ref: '#/$defs/short' }, nothing] }
  assert.ok(errorsOf(schema, 'long text').includes(' maxLength: must NOT have more than 3 characters'))
})

test('reports the errors of a long list of unions in linear time', () => {
  const validate = ajv.compile({ type: 'array', items: { anyOf: [text, { type: 'boolean' }] } })
  assert.equal(validate(Array(4_000).fill(5)), false)
  const errors = validate.errors ?? []
  assert.equal(errors.length, 12_000)
  const cpuOf = (work: () => unknown) => {
    const before = process.cpuUsage()
    const result = work()
    const { user, system } = process.cpuUsage(before)
    return { result, milliseconds: (user + system) / 1000 }
  }
  const all = cpuOf(() => unionErrors(errors))
  assert.equal((all.result as unknown[]).length, 4_000)
  assert.ok(all.milliseconds < 2_000, `${all.milliseconds} ms for all errors`)
  const reported = cpuOf(() => fieldErrors(errors))
  assert.equal((reported.result as unknown[]).length, 50)
  assert.ok(reported.milliseconds < 1_000, `${reported.milliseconds} ms for the reported errors`)
})

test('truncates the details and the total length of validation errors', () => {
  const values = Array.from({ length: 4_000 }, (_, index) => `value ${index}`)
  const long = 'x'.repeat(5_000)
  const [ofEnum = '', ofConst = '', ofObject = '', ofName = ''] = [
    errorsOf({ enum: values }, 1),
    errorsOf({ const: long }, 1),
    errorsOf({ const: { long } }, 1),
    errorsOf(
      { properties: Object.fromEntries(values.map((name) => [name, {}])), additionalProperties: false },
      { [long]: 1 },
    ),
  ].flat()
  assert.match(ofEnum, /^ enum: must be one of value 0, .*value 19, …$/)
  for (const error of [ofConst, ofObject]) assert.match(error, /^ const: must be .{280,300}…$/)
  assert.match(ofName, /^\/x{999}… unknown: is unknown; allowed: value 0, .*…$/)
  const many = errorsOf({ items: { enum: values } }, Array(50).fill(1))
  assert.ok(many.length >= 20 && many.join('').length <= 8_192 + many.length * 3, `${many.join('').length} characters`)
})
