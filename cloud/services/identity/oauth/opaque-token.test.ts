import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createClientId, createClientSecret, isClientId } from '../accounts/server-user.ts'
import { readSignInName } from '../accounts/sign-in-name.ts'
import { createOpaqueToken, readOpaqueToken } from './opaque-token.ts'

test('reads the tenant id and the hash of an opaque token from its text', () => {
  fc.assert(
    fc.property(fc.uuid(), (tenantId) => {
      const { text, hash } = createOpaqueToken(tenantId)
      assert.deepEqual(readOpaqueToken(text), { tenantId, hash })
    }),
  )
})

test('refuses text that is not an opaque token', () => {
  fc.assert(fc.property(fc.string(), (text) => assert.equal(readOpaqueToken(text), undefined)))
  const { text } = createOpaqueToken('0198f0c2-7b1e-7c3a-9d55-0242ac120002')
  for (const wrong of [text.toUpperCase(), `${text}=`, text.slice(1), ` ${text}`, `${text}\n`, undefined]) {
    assert.equal(readOpaqueToken(wrong), undefined)
  }
})

test('creates readable client ids and recognisable client secrets that are unique', () => {
  const ids = new Set(Array.from({ length: 1000 }, createClientId))
  assert.equal(ids.size, 1000)
  for (const id of ids) assert.ok(isClientId(id))
  assert.match(createClientSecret(), /^mws_[\w-]{43}$/)
  assert.notEqual(createClientSecret(), createClientSecret())
})

const names = [
  ['jane', { name: 'jane', tenant: 'default' }],
  ['  Jane.Doe@Plant-1 ', { name: 'jane.doe', tenant: 'plant-1' }],
  ['jane@', undefined],
  ['@plant', undefined],
  ['jane@a@b', undefined],
  ['jane doe', undefined],
  ['jane\u0000', undefined],
  ['', undefined],
] as const

for (const [text, expected] of names) {
  test(`reads ${JSON.stringify(text)} as ${expected === undefined ? 'an invalid name' : `${expected.name} of ${expected.tenant}`}`, () => {
    assert.deepEqual(readSignInName(text), expected)
  })
}
