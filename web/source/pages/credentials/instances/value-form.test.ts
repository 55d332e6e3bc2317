import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secretPlaceholder as placeholderOfTheApi } from '@millwright/api/credentials-shapes.ts'
import { changesOf, errorsIn, fieldsOf, formValuesOf, rangesIn, secretPlaceholder, valuesOf } from './value-form.ts'

const schema = {
  type: 'object',
  required: ['username', 'password'],
  properties: {
    username: { type: 'string', title: 'User name' },
    password: { type: 'string', format: 'password' },
    port: { type: 'integer' },
    mode: { enum: ['plain', 'tls'] },
    options: { type: 'object' },
    check: { type: 'boolean' },
  },
}
const fields = fieldsOf(schema)

test('creates form fields in schema order, and marks secret fields', () => {
  assert.deepEqual(
    fields.map(({ label, kind, isSecret }) => [label, kind, isSecret]),
    [
      ['User name', 'text', false],
      ['password', 'text', true],
      ['port', 'number', false],
      ['mode', 'choice', false],
      ['options', 'json', false],
      ['check', 'boolean', false],
    ],
  )
})

test('reports missing values, invalid numbers and invalid JSON', () => {
  assert.deepEqual(errorsIn(fields, { username: 'a', port: 'b', options: '{' }), {
    password: 'required',
    port: 'notNumber',
    options: 'notJson',
  })
})

test('converts form values to their types, and keeps spaces in a password', () => {
  const typed = { username: 'a', password: ' b ', port: '22', options: '{"a":1}', check: 'false' }
  assert.deepEqual(valuesOf(fields, typed), {
    username: 'a',
    password: ' b ',
    port: 22,
    options: { a: 1 },
    check: false,
  })
})

test('uses the same secret placeholder as the API', () => {
  assert.equal(secretPlaceholder, placeholderOfTheApi)
})

test('keeps an unchanged secret and removes a cleared value', () => {
  const before = { username: 'a', password: secretPlaceholder, port: 22 }
  const typed = { ...formValuesOf(before), port: '' }
  assert.deepEqual(changesOf(fields, before, typed), { username: 'a', password: secretPlaceholder, port: null })
})

test('creates an empty form from an invalid schema', () => {
  for (const odd of [{}, { properties: 7 }, { properties: { a: null }, required: 'a' }]) fieldsOf(odd)
  assert.deepEqual(fieldsOf({ properties: [] }), [])
})

test('splits address ranges at line breaks and commas', () => {
  assert.deepEqual(rangesIn(' 10.0.0.0/24\n\n10.0.1.5-10.0.1.9, ::1\n'), ['10.0.0.0/24', '10.0.1.5-10.0.1.9', '::1'])
})
