import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, beforeEach, describe, test } from 'node:test'
import { exportJWK, exportSPKI, generateKeyPair, importJWK } from 'jose'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, person as localPerson, postForm, rightPassword } from '../testing.ts'
import { clientId, configure, type FakeProvider, ProviderBrowser, startFakeProvider } from './testing.ts'

const person = { sub: 'victim', groups: ['viewers'] }

describe('attacks on the sign-in with an identity provider', () => {
  let hub: TestHub
  let admin: TestCaller
  let provider: FakeProvider
  let evil: FakeProvider
  let id: string
  let evilId: string

  before(async () => {
    provider = await startFakeProvider()
    evil = await startFakeProvider()
    hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
    const mappings = [{ value: 'viewers', role: 'viewer' }]
    id = (await configure(admin, provider.issuer, { mappings })).id
    evilId = (await configure(admin, evil.issuer, { title: 'Evil', mappings })).id
  })

  beforeEach(() => {
    for (const each of [provider, evil])
      Object.assign(each, { claims: {}, answerToken: undefined, intercept: undefined, keys: [each.jwk] })
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await provider.stop()
    await evil.stop()
  })

  const refuses = async (claims: object = {}, code = 'invalid_response') => {
    const browser = new ProviderBrowser(hub)
    const back = await browser.signInWith(provider, id, { ...person, ...claims })
    assert.deepEqual([back.status, back.text.includes(code)], [400, true], back.text)
    assert.equal(browser.cookies.has('millwright_session'), false)
  }

  const now = () => Math.floor(Date.now() / 1000)
  const wrongClaims: [string, () => object][] = [
    ['a wrong issuer', () => ({ iss: 'https://login.example.com' })],
    ['the issuer with a trailing slash', () => ({ iss: `${provider.issuer}/` })],
    ['the issuer of another configured provider', () => ({ iss: evil.issuer })],
    ['the audience of another client', () => ({ aud: 'another-client' })],
    ['several audiences without azp', () => ({ aud: [clientId, 'another-client'] })],
    ['the azp of another client', () => ({ aud: [clientId, 'another-client'], azp: 'another-client' })],
    ['a wrong nonce', () => ({ nonce: 'of another sign-in' })],
    ['no nonce', () => ({ nonce: undefined })],
    ['an expiry in the past', () => ({ exp: now() - 61 })],
    ['no expiry', () => ({ exp: undefined })],
    ['no issue time', () => ({ iat: undefined })],
    ['an issue time in the future', () => ({ iat: now() + 600, exp: now() + 900 })],
    ['a time before which it is not valid', () => ({ nbf: now() + 600 })],
    ['no subject', () => ({ sub: undefined })],
    ['an empty subject', () => ({ sub: '' })],
    ['a subject that is not a text', () => ({ sub: 7 })],
  ]
  for (const [what, claims] of wrongClaims) {
    test(`refuses an ID token with ${what}`, async () => {
      provider.claims = claims() as Record<string, unknown>
      const code = /subject/.test(what) ? '' : 'invalid_response'
      await refuses({}, code)
    })
  }

  test('refuses an ID token without a signature (alg none)', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const alg of ['none', 'None', 'NONE']) {
      provider.answerToken = (_, claims) => ({
        access_token: 'x',
        token_type: 'Bearer',
        id_token: `${part({ alg, kid: 'first' })}.${part(claims)}.`,
      })
      await refuses()
    }
  })

  test('refuses an ID token that is signed with HS256 and the public key or the client secret as its key', async () => {
    const spki = await exportSPKI((await importJWK({ ...provider.jwk }, 'ES256')) as CryptoKey)
    for (const secret of [spki, JSON.stringify(provider.jwk), 'client planted-secret of the provider']) {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      provider.answerToken = (_, claims) => {
        const signed = `${part({ alg: 'HS256', kid: 'first' })}.${part(claims)}`
        const signature = createHmac('sha256', secret).update(signed).digest('base64url')
        return { access_token: 'x', token_type: 'Bearer', id_token: `${signed}.${signature}` }
      }
      await refuses()
    }
  })

  test('refuses an ID token that is signed with another key, or whose header contains its own key', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const jwk = await exportJWK(publicKey)
    for (const header of [{}, { kid: 'unknown' }, { jwk }, { jku: `${evil.issuer}/keys` }]) {
      provider.answerToken = async (_, claims) => ({
        access_token: 'x',
        token_type: 'Bearer',
        id_token: await provider.sign(claims, header, privateKey),
      })
      await refuses()
    }
    assert.equal(evil.received.filter(({ path }) => path === '/keys').length <= 1, true)
  })

  test('refuses an ID token of another configured provider (mix-up)', async () => {
    provider.answerToken = async (_, claims) => ({
      access_token: 'x',
      token_type: 'Bearer',
      id_token: await evil.sign({ ...claims, iss: provider.issuer }),
    })
    await refuses()
  })

  test('refuses a response without an ID token, with a wrong token type or with content that is not JSON', async () => {
    for (const body of [{ access_token: 'x', token_type: 'Bearer' }, { id_token: 'x' }, 'text', null, [], 7]) {
      provider.answerToken = () => body
      await refuses()
    }
  })

  test('refuses the code and state of one provider at the redirect address of another (mix-up)', async () => {
    const browser = new ProviderBrowser(hub)
    const { redirectUri, parameters } = provider.authorize(await browser.start(id), person)
    const count = evil.received.length
    const back = await browser.return(redirectUri.replace(id, evilId), parameters)
    assert.equal(back.status, 400)
    assert.deepEqual(
      evil.received.slice(count).filter(({ path }) => path === '/token'),
      [],
    )
    assert.equal((await browser.return(redirectUri, parameters)).status, 400)
  })

  test('refuses a response with the iss parameter of another provider, or without the promised iss parameter', async () => {
    for (const iss of [evil.issuer, '', undefined]) {
      const browser = new ProviderBrowser(hub)
      const { redirectUri, parameters } = provider.authorize(await browser.start(id), person)
      const { iss: _iss, ...rest } = parameters
      const back = await browser.return(redirectUri, iss === undefined ? rest : { ...rest, iss })
      assert.deepEqual([back.status, back.text.includes('invalid_response')], [400, true])
    }
  })

  test('refuses a code of another sign-in (code injection)', async () => {
    const attacker = new ProviderBrowser(hub)
    const stolen = provider.authorize(await attacker.start(id), { sub: 'attacker' })
    const victim = new ProviderBrowser(hub)
    const own = provider.authorize(await victim.start(id), person)
    const back = await victim.return(own.redirectUri, { ...own.parameters, code: stolen.parameters.code ?? '' })
    assert.deepEqual([back.status, back.text.includes('provider_refused')], [400, true])
  })

  test('refuses a callback of another browser, and without the cookie (login CSRF)', async () => {
    const attacker = new ProviderBrowser(hub)
    const { redirectUri, parameters } = provider.authorize(await attacker.start(id), { sub: 'attacker' })
    const victim = new ProviderBrowser(hub)
    await victim.start(id)
    assert.equal((await victim.return(redirectUri, parameters)).status, 400)
    assert.equal(victim.cookies.has('millwright_session'), false)
    assert.equal((await new ProviderBrowser(hub).return(redirectUri, parameters)).status, 400)
    assert.equal((await attacker.return(redirectUri, parameters)).status, 303)
  })

  test('accepts a state once', async () => {
    const browser = new ProviderBrowser(hub)
    const { redirectUri, parameters } = provider.authorize(await browser.start(id), person)
    assert.equal((await browser.return(redirectUri, parameters)).status, 303)
    const again = await browser.return(redirectUri, parameters)
    assert.deepEqual([again.status, again.text.includes('sign_in_expired')], [400, true])
  })

  test('refuses an expired state', async () => {
    const browser = new ProviderBrowser(hub)
    const { redirectUri, parameters } = provider.authorize(await browser.start(id), person)
    await hub.asOwner((owner) =>
      owner.query(`update provider_sign_ins set expires_at = now() - interval '1 second' where tenant_id = $1`, [
        hub.tenant.tenantId,
      ]),
    )
    assert.equal((await browser.return(redirectUri, parameters)).status, 400)
  })

  test('refuses a callback with repeated, missing or forged parameters', async () => {
    for (const query of ['', 'state=x&code=y', `state=${'0'.repeat(32)}.${'A'.repeat(43)}&code=y`]) {
      const back = await new ProviderBrowser(hub).open(`/oauth/callback/${id}?${query}`)
      assert.equal(back.status, 400)
    }
    const browser = new ProviderBrowser(hub)
    const { redirectUri, parameters } = provider.authorize(await browser.start(id), person)
    const path = `${new URL(redirectUri).pathname}?${new URLSearchParams(parameters)}`
    assert.equal((await browser.open(`${path}&code=another`)).status, 400)
    assert.equal((await new ProviderBrowser(hub).open('/oauth/callback/not-an-id?state=x')).status, 400)
  })

  test('shows an error of the provider as a code without its text', async () => {
    const browser = new ProviderBrowser(hub)
    const { redirectUri, parameters } = provider.authorize(await browser.start(id), person)
    const error = { error: 'access_denied', error_description: '<script>alert(1)</script> call +49 123' }
    const back = await browser.return(redirectUri, { state: parameters.state ?? '', iss: provider.issuer, ...error })
    assert.deepEqual([back.status, back.text.includes('provider_refused')], [400, true])
    assert.doesNotMatch(back.text, /alert\(1|\+49/)
  })

  test('does not start a sign-in from a form of another site or without the proof (CSRF)', async () => {
    const browser = new ProviderBrowser(hub)
    const shown = await browser.open(authorizePath(hub, { tenant: hub.tenant.name }))
    const action = (/action="(\/oauth\/provider[^"]*)"/.exec(shown.text)?.[1] ?? '').replaceAll('&amp;', '&')
    const proof = /name="proof" value="([^"]*)"/.exec(shown.text)?.[1] ?? ''
    const origin = hub.context.settings.baseUrl
    const attempts = [
      browser.post(action, { provider: id, proof }, { origin: 'https://evil.example' }),
      browser.post(action, { provider: id, proof: '' }, { origin }),
      browser.post(action.replace('state=xyz', 'state=other'), { provider: id, proof }, { origin }),
      postForm(hub, action, { form: { provider: id, proof }, headers: { origin } }),
    ]
    for (const answer of await Promise.all(attempts)) assert.equal(answer.status, 400)
    const good = await browser.post(action, { provider: id, proof }, { origin })
    assert.equal(good.status, 200)
  })

  test('does not start a sign-in with a provider of another tenant, a disabled or an unknown provider', async () => {
    const other = await hub.anotherTenant()
    const browser = new ProviderBrowser(hub)
    for (const chosen of ['0197a4f2-0000-7000-8000-000000000001', 'x', ''])
      assert.equal((await browser.choose(chosen)).status, 400)
    const shown = await browser.open(authorizePath(hub, { tenant: hub.tenant.name }))
    assert.match(shown.text, /Sign in with/)
    const otherPage = await browser.open(authorizePath(hub, { tenant: other.name }))
    assert.doesNotMatch(otherPage.text, /Sign in with/)
  })

  test('redirects only to the address of the program in the stored request', async () => {
    const browser = new ProviderBrowser(hub)
    const { redirectUri, parameters } = provider.authorize(await browser.start(id), person)
    const tricks = {
      redirect_uri: 'https://evil.example',
      client_id: 'cli',
      post_logout_redirect_uri: 'https://evil.example',
    }
    const back = await browser.return(redirectUri, { ...parameters, ...tricks })
    assert.equal(new URL(back.headers.get('location') ?? '').origin, hub.context.settings.baseUrl)
  })

  test('limits the size and the time of documents of a provider', async () => {
    const slow = await startFakeProvider()
    slow.intercept = (request, response) => {
      if (request.url !== '/.well-known/openid-configuration') return false
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"issuer":"')
      const more = setInterval(() => response.write('x'.repeat(64 * 1024)), 1)
      response.on('close', () => clearInterval(more))
      return true
    }
    await assert.rejects(configure(admin, slow.issuer), { code: 'provider_unusable', message: /larger than/ })
    await slow.stop()
  })

  test('accepts local sign-ins while a provider does not respond', async () => {
    const local = await localPerson(hub, 'patient', 'viewer')
    const silent = await startFakeProvider()
    const silentId = (await configure(admin, silent.issuer, { title: 'Silent' })).id
    const checked = Promise.withResolvers<void>()
    silent.intercept = () => {
      checked.resolve()
      return true
    }
    const check = admin.identity.checkIdentityProvider({ params: { id: silentId } })
    await checked.promise
    const waiting = new ProviderBrowser(hub).choose(silentId)
    const browser = new ProviderBrowser(hub)
    const back = await browser.signIn(authorizePath(hub), { name: local.signInName, password: rightPassword })
    assert.equal(back.status, 303)
    await silent.stop()
    assert.equal((await waiting).status, 503)
    assert.equal((await check).data.isUsable, false)
    await admin.identity.deleteIdentityProvider({ params: { id: silentId } })
  })

  test('does not follow redirects of a provider', async () => {
    const moved = await startFakeProvider()
    moved.intercept = (_request, response) => {
      response.writeHead(302, { location: `${provider.issuer}/.well-known/openid-configuration` }).end()
      return true
    }
    await assert.rejects(configure(admin, moved.issuer), { code: 'provider_unusable' })
    await moved.stop()
  })

  test('refuses a discovery document with another issuer, or with endpoints that are not web addresses', async () => {
    const bad = await startFakeProvider()
    const changes = [
      { issuer: provider.issuer },
      { issuer: `${bad.issuer}/` },
      { authorization_endpoint: 'javascript:alert(1)' },
      { authorization_endpoint: undefined },
      { token_endpoint: 'file:///etc/passwd' },
      { token_endpoint: 'http://169.254.169.254/token' },
      { token_endpoint: 'http://10.0.0.1/token' },
      { jwks_uri: 'http://[::1]:1/keys' },
      { jwks_uri: undefined },
      { id_token_signing_alg_values_supported: ['none', 'HS256'] },
      { code_challenge_methods_supported: ['plain'] },
    ]
    for (const metadata of changes) {
      bad.metadata = metadata
      await assert.rejects(configure(admin, bad.issuer), { code: 'provider_unusable' }, JSON.stringify(metadata))
    }
    await bad.stop()
  })

  test('limits the number of sign-ins that one address can start', async () => {
    const browser = new ProviderBrowser(hub)
    const shown = await browser.open(authorizePath(hub, { tenant: hub.tenant.name }))
    const action = (/action="(\/oauth\/provider[^"]*)"/.exec(shown.text)?.[1] ?? '').replaceAll('&amp;', '&')
    const proof = /name="proof" value="([^"]*)"/.exec(shown.text)?.[1] ?? ''
    const cookie = [...browser.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
    const headers = { origin: hub.context.settings.baseUrl, cookie }
    const statuses = new Set<number>()
    for (let attempt = 0; attempt < 70; attempt++) {
      const form = { provider: id, proof }
      statuses.add((await postForm(hub, action, { form, headers, from: '192.0.2.7' })).status)
    }
    assert.deepEqual([...statuses], [200, 429])
  })
})
