import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { queryOf, readAuthorizationRequest } from './authorization-request.ts'

const baseUrl = 'http://127.0.0.1:8080'
const good = {
  response_type: 'code',
  client_id: 'console',
  redirect_uri: `${baseUrl}/auth/callback`,
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
  state: 'a state',
}

test('parses a valid authorization request, and parses its printed query as the same request', () => {
  const reading = readAuthorizationRequest(
    { ...good, scope: 'viewer operator', prompt: 'login', max_age: '900' },
    baseUrl,
  )
  assert.equal(reading.outcome, 'accepted')
  if (reading.outcome !== 'accepted') return
  const again = readAuthorizationRequest(Object.fromEntries(new URLSearchParams(queryOf(reading.request))), baseUrl)
  assert.deepEqual(again, reading)
  assert.deepEqual(reading.request.scope, ['viewer', 'operator'])
})

const refused = [
  ['no response type', { response_type: undefined }, 'invalid_request'],
  ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
  ['no code challenge', { code_challenge: undefined }, 'invalid_request'],
  ['a plain code challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['a code challenge without a method, which means plain', { code_challenge_method: undefined }, 'invalid_request'],
  ['a code challenge that is not a hash', { code_challenge: 'too-short' }, 'invalid_request'],
  ['a repeated code challenge', { code_challenge: [good.code_challenge, good.code_challenge] }, 'invalid_request'],
  ['response_mode fragment', { response_mode: 'fragment' }, 'invalid_request'],
  ['prompt none together with another prompt', { prompt: 'none login' }, 'invalid_request'],
  ['a negative max_age', { max_age: '-1' }, 'invalid_request'],
  ['a max_age that is not a number', { max_age: 'soon' }, 'invalid_request'],
  ['a scope with invalid characters', { scope: 'viewer "operator"' }, 'invalid_scope'],
  ['a scope with two consecutive spaces', { scope: 'viewer  operator' }, 'invalid_scope'],
] as const

for (const [what, change, error] of refused) {
  test(`redirects with ${error} for ${what}`, () => {
    const reading = readAuthorizationRequest({ ...good, ...change }, baseUrl)
    assert.equal(reading.outcome, 'refused')
    const location = new URL(reading.outcome === 'refused' ? reading.location : '')
    assert.equal(location.origin + location.pathname, good.redirect_uri)
    assert.equal(location.searchParams.get('error'), error)
    assert.equal(location.searchParams.get('state'), good.state)
    assert.equal(location.searchParams.get('iss'), baseUrl)
  })
}

const unsafe = [
  ['no client', { client_id: undefined }],
  ['an unknown client', { client_id: 'other' }],
  ['two clients', { client_id: ['console', 'cli'] }],
  ['no redirect address', { redirect_uri: undefined }],
  ['two redirect addresses', { redirect_uri: [good.redirect_uri, 'https://evil.example/'] }],
  ['an unregistered redirect address', { redirect_uri: 'https://evil.example/' }],
  ['a redirect address of another client', { redirect_uri: 'http://127.0.0.1:8123/callback' }],
] as const

for (const [what, change] of unsafe) {
  test(`shows an error page without redirect for ${what}`, () => {
    assert.equal(readAuthorizationRequest({ ...good, ...change }, baseUrl).outcome, 'unsafe')
  })
}

test('never redirects a random authorization request to an unregistered address', () => {
  const value = fc.oneof(fc.string(), fc.webUrl(), fc.constantFrom(...Object.values(good)), fc.array(fc.string()))
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...Object.keys(good), 'prompt', 'scope'), value), (query) => {
      const reading = readAuthorizationRequest(query, baseUrl)
      if (reading.outcome === 'refused') assert.ok(reading.location.startsWith(`${baseUrl}/`))
    }),
  )
})
