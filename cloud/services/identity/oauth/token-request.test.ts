import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readClient } from './token-request.ts'

function basic(id: string, secret: string): string {
  const encoded = [id, secret].map((part) => new URLSearchParams({ x: part }).toString().slice(2)).join(':')
  return `Basic ${Buffer.from(encoded).toString('base64')}`
}

test('parses client credentials with any characters from the form or the Authorization header', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, unit: 'grapheme' }),
      fc.string({ minLength: 1, unit: 'grapheme' }),
      (id, secret) => {
        const expected = { clientId: id, clientSecret: secret }
        assert.deepEqual(readClient({ client_id: id, client_secret: secret }, undefined), {
          ...expected,
        })
        assert.deepEqual(readClient({}, basic(id, secret)), expected)
        assert.deepEqual(readClient({ client_id: id, client_secret: secret }, basic(id, secret)), expected)
      },
    ),
  )
})

test('refuses client credentials that differ between the form and the Authorization header', () => {
  assert.throws(() => readClient({ client_id: 'other' }, basic('id', 'secret')), { error: 'invalid_request' })
  assert.throws(() => readClient({ client_secret: 'other' }, basic('id', 'secret')), { error: 'invalid_request' })
})

const unreadable = [
  'Bearer abc',
  'Basic',
  'Basic !!!',
  `Basic ${Buffer.from('nocolon').toString('base64')}`,
  `Basic ${Buffer.from('%zz:x').toString('base64')}`,
]

for (const header of unreadable) {
  test(`refuses the Authorization header "${header}"`, () => {
    assert.throws(() => readClient({}, header), { error: 'invalid_client' })
  })
}

test('treats an empty client credential field as absent', () => {
  assert.deepEqual(readClient({ client_id: '', client_secret: '' }, undefined), {
    clientId: undefined,
    clientSecret: undefined,
  })
})
