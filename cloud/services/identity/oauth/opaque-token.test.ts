import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createClientId, createClientSecret, isClientId } from '../accounts/server-user.ts'
import { readSignInName } from '../accounts/sign-in-name.ts'
import { createOpaqueToken, readOpaqueToken } from './opaque-token.ts'

test('an opaque token says its tenant and nothing else, and is found by its hash', () => {
  fc.assert(
    fc.property(fc.uuid(), (tenantId) => {
      const { text, hash } = createOpaqueToken(tenantId)
      assert.deepEqual(readOpaqueToken(text), { tenantId, hash })
    }),
  )
})

test('what is not an opaque token is not read as one', () => {
  fc.assert(fc.property(fc.string(), (text) => assert.equal(readOpaqueToken(text), undefined)))
  const { text } = createOpaqueToken('0198f0c2-7b1e-7c3a-9d55-0242ac120002')
  for (const wrong of [text.toUpperCase(), `${text}=`, text.slice(1), ` ${text}`, `${text}\n`, undefined]) {
    assert.equal(readOpaqueToken(wrong), undefined)
  }
})

test('client ids are readable, client secrets are recognisable, and no two are the same', () => {
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

for (const [text, wanted] of names) {
  test(`${JSON.stringify(text)} signs in as ${wanted === undefined ? 'nobody' : `${wanted.name} of ${wanted.tenant}`}`, () => {
    assert.deepEqual(readSignInName(text), wanted)
  })
}
