import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonText, plainBody } from './service.ts'

test('sends JSON text that consists of several parts as the same bytes as the joined text', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'ü', '€', '😀', 'a'.repeat(2_000)))
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (parts) => {
      const body = new JsonText(...parts)
      assert.equal(Buffer.from(body.sent as string).toString(), Buffer.from(body.text).toString())
      assert.equal(body.text, parts.join(''))
    }),
  )
})

test('parses JSON text that consists of several parts', () => {
  assert.deepEqual(plainBody(new JsonText('{"a":', '[1', ',2]', '}')), { a: [1, 2] })
})
