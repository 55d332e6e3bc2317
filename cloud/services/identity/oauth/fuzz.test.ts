import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomCases } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { testHub } from '../../../platform/testing/hub.ts'
import { createServerUser } from '../accounts/accounts.ts'
import { authorizePath, Browser, person, signedIn } from '../testing.ts'

const formType = 'application/x-www-form-urlencoded'
const strange = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('\u0000', '%', '%00', '\ud800', 'a'.repeat(5000)),
)

function query(pairs: (readonly [string, string])[]): string {
  return pairs.map((pair) => pair.map((part) => encodeURIComponent(part.toWellFormed())).join('=')).join('&')
}

test('returns no 5xx status for random token requests', async () => {
  await using hub = await testHub()
  const { clientId, clientSecret } = await createServerUser(hub.context, hub.tenant, { name: 'program' })
  const jane = await person(hub, 'jane.doe')
  const { exchange, refreshToken } = await signedIn(hub, jane.signInName)
  const names = [...Object.keys(exchange), 'client_secret', 'scope', 'refresh_token', '__proto__', 'constructor']
  const values = [
    ...Object.values(exchange),
    clientId,
    clientSecret,
    refreshToken,
    'client_credentials',
    'refresh_token',
    'cli',
  ]
  const pair = fc.tuple(fc.oneof(fc.constantFrom(...names), strange), fc.oneof(fc.constantFrom(...values), strange))
  const header = fc.option(
    strange.map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
    { nil: undefined },
  )
  const body = fc.oneof(fc.array(pair, { maxLength: 8 }).map(query), fc.string({ unit: 'binary' }))
  const property = fc.asyncProperty(body, header, async (text, authorization) => {
    const answer = await hub.request({
      method: 'POST',
      path: '/oauth/token',
      headers: { 'content-type': formType, ...(authorization === undefined ? {} : { authorization }) },
      body: text,
    })
    assert.ok(answer.status < 500, `${answer.status} ${text}`)
    if (answer.status !== 200) assert.ok(!answer.text.includes(clientSecret))
  })
  await fc.assert(property, { numRuns: randomCases(100) })
})

test('returns no 5xx status and no unregistered redirect for random authorization requests', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { browser } = await signedIn(hub, jane.signInName)
  const good = [...new URLSearchParams(authorizePath(hub).split('?')[1])]
  const hosts = fc.constantFrom(
    'https://evil.example/',
    '//evil.example',
    `${hub.context.settings.baseUrl}@evil.example/`,
  )
  const names = [...good.map(([name]) => name), 'prompt', 'scope', '__proto__']
  const pair = fc.tuple(fc.oneof(fc.constantFrom(...names), strange), fc.oneof(strange, hosts))
  const property = fc.asyncProperty(fc.array(pair, { maxLength: 5 }), fc.boolean(), async (pairs, replaced) => {
    const kept = good.filter(([name]) => !replaced || !pairs.some(([other]) => other === name))
    const answer = await browser.open(`/oauth/authorize?${query([...(kept as [string, string][]), ...pairs])}`)
    assert.ok(answer.status < 500, String(answer.status))
    const location = answer.headers.get('location')
    if (location !== null) assert.equal(new URL(location).origin, hub.context.settings.baseUrl)
    assert.ok(!answer.text.includes('<script'))
  })
  await fc.assert(property, { numRuns: randomCases(100) })
})

test('returns no 5xx status for random sign-in forms, cookies and sign-outs', async () => {
  await using hub = await testHub()
  const cookie = fc
    .oneof(fc.constant('millwright_session='), fc.constant('millwright_form='))
    .chain((name) => fc.string({ unit: 'grapheme-ascii', maxLength: 90 }).map((value) => name + value))
  const fields = fc.dictionary(
    fc.constantFrom('name', 'proof', 'pending', 'code', 'passkey', 'refresh_token', 'post_logout_redirect_uri', 'x'),
    strange,
  )
  const path = authorizePath(hub)
  const property = fc.asyncProperty(fields, cookie, async (form, header) => {
    const body = query(Object.entries(form))
    for (const place of [path, '/oauth/second-factor', '/oauth/logout']) {
      const headers = { 'content-type': formType, cookie: header }
      const answer = await hub.request({ method: 'POST', path: place, headers, body })
      assert.ok(answer.status < 500, `${answer.status} ${place}`)
    }
  })
  await fc.assert(property, { numRuns: randomCases(50) })
  assert.equal((await new Browser(hub).open(path)).status, 200)
})
