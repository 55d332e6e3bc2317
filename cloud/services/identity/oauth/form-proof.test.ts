import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSecrets } from '../../../platform/secrets/secrets.ts'
import { createFormProof, isFormProof } from './form-proof.ts'

const secrets = createSecrets(randomBytes(32))

test('accepts a sign-in form only from the same browser, for the same request and within an hour', () => {
  const { browser, proof } = createFormProof(secrets, 'a=1', undefined)
  assert.equal(isFormProof(secrets, { browser, proof, query: 'a=1' }), true)
  assert.equal(isFormProof(secrets, { browser, proof, query: 'a=2' }), false)
  assert.equal(
    isFormProof(secrets, { browser: createFormProof(secrets, 'a=1', undefined).browser, proof, query: 'a=1' }),
    false,
  )
  assert.equal(isFormProof(secrets, { browser: undefined, proof, query: 'a=1' }), false)
  assert.equal(isFormProof(secrets, { browser, proof: undefined, query: 'a=1' }), false)
  assert.equal(isFormProof(createSecrets(randomBytes(32)), { browser, proof, query: 'a=1' }), false)
  assert.equal(isFormProof(secrets, { browser, proof, query: 'a=1' }, Date.now() + 3_700_000), false)
})

test('accepts the proof of a sign-in form after a second form was opened in the same browser', () => {
  const first = createFormProof(secrets, 'a=1', undefined)
  const second = createFormProof(secrets, 'b=2', first.browser)
  assert.equal(second.browser, first.browser)
  assert.equal(isFormProof(secrets, { ...first, query: 'a=1' }), true)
  assert.equal(isFormProof(secrets, { ...second, query: 'b=2' }), true)
})

test('replaces a browser cookie that the server did not create', () => {
  assert.notEqual(createFormProof(secrets, 'a=1', 'x; Path=/').browser, 'x; Path=/')
})
