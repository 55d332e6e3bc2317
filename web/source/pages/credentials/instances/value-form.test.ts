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

test('a schema becomes fields in its order, and says which are secret', () => {
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

test('what is needed, what is no number and what is no JSON is told before anything is sent', () => {
  assert.deepEqual(errorsIn(fields, { username: 'a', port: 'b', options: '{' }), {
    password: 'required',
    port: 'notNumber',
    options: 'notJson',
  })
})

test('values are sent in their types, and blanks of a password stay', () => {
  const typed = { username: 'a', password: ' b ', port: '22', options: '{"a":1}', check: 'false' }
  assert.deepEqual(valuesOf(fields, typed), {
    username: 'a',
    password: ' b ',
    port: 22,
    options: { a: 1 },
    check: false,
  })
})

test('what stands for a secret is what the API answers in its place', () => {
  assert.equal(secretPlaceholder, placeholderOfTheApi)
})

test('a change keeps a secret that was not touched, and takes away what was emptied', () => {
  const before = { username: 'a', password: secretPlaceholder, port: 22 }
  const typed = { ...formValuesOf(before), port: '' }
  assert.deepEqual(changesOf(fields, before, typed), { username: 'a', password: secretPlaceholder, port: null })
})

test('a schema of any shape makes a form, if an empty one', () => {
  for (const odd of [{}, { properties: 7 }, { properties: { a: null }, required: 'a' }]) fieldsOf(odd)
  assert.deepEqual(fieldsOf({ properties: [] }), [])
})

test('ranges are read one each line', () => {
  assert.deepEqual(rangesIn(' 10.0.0.0/24\n\n10.0.1.5-10.0.1.9, ::1\n'), ['10.0.0.0/24', '10.0.1.5-10.0.1.9', '::1'])
})
