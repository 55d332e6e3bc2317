import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinkParameter } from '@millwright/api/gatekeeper.ts'
import fc from 'fast-check'
import { addressCountOf, errorsOf, formValuesOf, parametersOf } from './parameter-form.ts'

const parameter = (values: Partial<LinkParameter>): LinkParameter => ({
  key: 'ip_range',
  dataType: 'text',
  mandatory: false,
  ...values,
})

const foreign = { assetLinkId: 'acme.scanner' }
const builtIn = { assetLinkId: 'millwright.links.snmp' }

test('omits empty scan parameters, and requires a value for mandatory ones without a default', () => {
  assert.deepEqual(errorsOf(foreign, [parameter({})], {}), {})
  assert.deepEqual(errorsOf(foreign, [parameter({ mandatory: true })], { ip_range: ' ' }), { ip_range: 'required' })
  assert.deepEqual(errorsOf(foreign, [parameter({ mandatory: true, defaultValue: '10.0.0.0/8' })], {}), {})
  assert.deepEqual(parametersOf([parameter({})], { ip_range: '' }), [])
})

test('sends numbers and booleans in their own types, and rejects invalid numbers and invalid base64', () => {
  const count = parameter({ key: 'size', dataType: 'unsigned' })
  const flag = parameter({ key: 'reference', dataType: 'boolean' })
  assert.deepEqual(parametersOf([count, flag], { size: '12', reference: 'false' }), [
    { key: 'size', value: 12 },
    { key: 'reference', value: false },
  ])
  assert.deepEqual(errorsOf(foreign, [count], { size: 'many' }), { size: 'notNumber' })
  const mask = { key: 'mask', dataType: 'bytes', mandatory: false } as const
  assert.deepEqual(errorsOf(foreign, [mask], { mask: 'ÿ' }), { mask: 'notBase64' })
  assert.deepEqual(errorsOf(foreign, [mask], { mask: '/wA=' }), {})
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

test('rejects invalid address ranges of built-in links, and leaves other forms of ranges to links of other vendors', () => {
  const filters = [parameter({ mandatory: true }), parameter({ key: 'exclude' })]
  const typed = { ip_range: '10.0.0.0/24, 10.0.1.1-10.0.1.9', exclude: '10.0.0.300' }
  assert.deepEqual(errorsOf(builtIn, filters, typed), { exclude: 'notRange' })
  assert.deepEqual(errorsOf(builtIn, filters, { ...typed, exclude: '10.0.0.3' }), {})
  assert.deepEqual(errorsOf(foreign, filters, typed), {})
})

test('counts the addresses of all ranges, each address once', () => {
  assert.equal(addressCountOf('10.0.0.0/24, 10.0.0.250-10.0.1.3'), 260)
  assert.equal(addressCountOf('10.0.0.7'), 1)
  assert.equal(addressCountOf('10.0.0.0/24,'), undefined)
  assert.equal(addressCountOf(''), undefined)
})
