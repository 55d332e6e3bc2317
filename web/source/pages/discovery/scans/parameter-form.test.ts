import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinkParameter } from '@millwright/api/gatekeeper.ts'
import fc from 'fast-check'
import { errorsOf, formValuesOf, parametersOf } from './parameter-form.ts'

const parameter = (values: Partial<LinkParameter>): LinkParameter => ({
  key: 'ip_range',
  dataType: 'text',
  mandatory: false,
  ...values,
})

test('omits empty scan parameters, and requires a value for mandatory ones without a default', () => {
  assert.deepEqual(errorsOf([parameter({})], {}), {})
  assert.deepEqual(errorsOf([parameter({ mandatory: true })], { ip_range: ' ' }), { ip_range: 'required' })
  assert.deepEqual(errorsOf([parameter({ mandatory: true, defaultValue: '10.0.0.0/8' })], {}), {})
  assert.deepEqual(parametersOf([parameter({})], { ip_range: '' }), [])
})

test('sends numbers and booleans in their own types, and rejects invalid numbers and invalid base64', () => {
  const count = parameter({ key: 'size', dataType: 'unsigned' })
  const flag = parameter({ key: 'reference', dataType: 'boolean' })
  assert.deepEqual(parametersOf([count, flag], { size: '12', reference: 'false' }), [
    { key: 'size', value: 12 },
    { key: 'reference', value: false },
  ])
  assert.deepEqual(errorsOf([count], { size: 'many' }), { size: 'notNumber' })
  const mask = { key: 'mask', dataType: 'bytes', mandatory: false } as const
  assert.deepEqual(errorsOf([mask], { mask: 'ÿ' }), { mask: 'notBase64' })
  assert.deepEqual(errorsOf([mask], { mask: '/wA=' }), {})
})

test('restores the same scan parameters from their form values', () => {
  const values = fc.record({ text: fc.stringMatching(/^\S+$/), size: fc.integer(), flag: fc.boolean() })
  const parameters = [
    parameter({ key: 'text' }),
    parameter({ key: 'size', dataType: 'integer' }),
    parameter({ key: 'flag', dataType: 'boolean' }),
  ]
  fc.assert(
    fc.property(values, (values) => {
      const sent = Object.entries(values).map(([key, value]) => ({ key, value }))
      assert.deepEqual(parametersOf(parameters, formValuesOf(sent)), sent)
    }),
  )
})
