import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { decodeJwt, generateKeyPair } from 'jose'
import { rotateDataKey } from '../../../platform/secrets/data-rotation.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, postForm, refresh } from '../testing.ts'
import { sealedProviderValues } from './provider-store.ts'
import { clientId, configure, type FakeProvider, ProviderBrowser, startFakeProvider } from './testing.ts'

const event = { 'http://schemas.openid.net/event/backchannel-logout': {} }

describe('sign-out with an identity provider', () => {
  let hub: TestHub
  let admin: TestCaller
  let provider: FakeProvider
  let id: string

  before(async () => {
    provider = await startFakeProvider()
    hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
    id = (await configure(admin, provider.issuer)).id
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await provider.stop()
  })

  const signIn = async (claims: Record<string, unknown>) => {
    const browser = new ProviderBrowser(hub)
    const tokens = await browser.tokens(await browser.signInWith(provider, id, claims))
    return { browser, ...tokens }
  }
  const isActive = async ({ accessToken, refreshToken }: { accessToken: string; refreshToken: string }) => {
    const headers = { authorization: `Bearer ${accessToken}` }
    const { status } = await hub.request({ method: 'GET', path: '/oauth/userinfo', headers })
    const renewed = status === 200 ? await refresh(hub, refreshToken) : undefined
    return renewed?.status === 200
  }
  const logoutToken = (claims: Record<string, unknown>, header = {}, key?: CryptoKey) => {
    const now = Math.floor(Date.now() / 1000)
    const all = { iss: provider.issuer, aud: clientId, iat: now, exp: now + 120, jti: randomUUID(), events: event }
    return provider.sign({ ...all, ...claims }, { typ: 'logout+jwt', ...header }, key)
  }
  const logout = (token: string) => postForm(hub, `/oauth/backchannel-logout/${id}`, { form: { logout_token: token } })

  test('returns the address for the sign-out at the provider, and ends the session', async () => {
    const { browser, accessToken, refreshToken } = await signIn({ sub: 'jane', sid: 's1' })
    const answer = await browser.post('/oauth/logout', { refresh_token: refreshToken })
    assert.equal(answer.status, 200)
    const url = new URL((answer.body as { endSessionUrl: string }).endSessionUrl)
    assert.equal(url.origin + url.pathname, `${provider.issuer}/logout`)
    const hint = decodeJwt(url.searchParams.get('id_token_hint') ?? '')
    assert.deepEqual([hint.sub, hint.sid], ['jane', 's1'])
    assert.equal(url.searchParams.get('post_logout_redirect_uri'), `${hub.context.settings.baseUrl}/`)
    assert.equal(await isActive({ accessToken, refreshToken }), false)
  })

  test('redirects the sign-out of a form to the provider', async () => {
    const { browser } = await signIn({ sub: 'jane', sid: 's2' })
    const to = `${hub.context.settings.baseUrl}/`
    const answer = await browser.post('/oauth/logout', { post_logout_redirect_uri: to })
    assert.equal(answer.status, 303)
    assert.ok(answer.headers.get('location')?.startsWith(`${provider.issuer}/logout?`))
  })

  test('signs in and out with values that were stored before a rotation of the data key', async () => {
    const { browser, refreshToken } = await signIn({ sub: 'rotation', sid: 'r1' })
    const pending = new ProviderBrowser(hub)
    const started = provider.authorize(await pending.start(id), { sub: 'rotation' })
    const { tenantId } = hub.tenant
    const { safe } = hub.contextOf('identity')
    const rotation = await hub.asOwner((owner) =>
      rotateDataKey(owner, { tenantId, safe, columns: sealedProviderValues }),
    )
    assert.ok(rotation.resealed >= 3)
    assert.equal((await pending.return(started.redirectUri, started.parameters)).status, 303)
    assert.equal((await browser.post('/oauth/logout', { refresh_token: refreshToken })).status, 200)
  })

  test('does not store an ID token that is too long for a URL', async () => {
    const { browser, refreshToken } = await signIn({ sub: 'long', more: 'x'.repeat(20_000) })
    assert.equal((await browser.post('/oauth/logout', { refresh_token: refreshToken })).status, 204)
  })

  test('ends the session of a logout token with sid, and no other session of the user', async () => {
    const [one, two] = [await signIn({ sub: 'omar', sid: 'a' }), await signIn({ sub: 'omar', sid: 'b' })]
    assert.equal((await logout(await logoutToken({ sid: 'a' }))).status, 200)
    assert.deepEqual([await isActive(one), await isActive(two)], [false, true])
    const { data } = await admin.audit.listEntries({ query: { action: 'identity.backchannelLogout' } })
    assert.equal(data[0]?.target, `principal/${decodeJwt(one.accessToken).sub}`)
  })

  test('ends all sessions of the user of a logout token with sub, and no session of another user', async () => {
    const [one, two] = [await signIn({ sub: 'eva', sid: 'e1' }), await signIn({ sub: 'eva' })]
    const other = await signIn({ sub: 'ivo', sid: 'i1' })
    assert.equal((await logout(await logoutToken({ sub: 'eva' }))).status, 200)
    assert.deepEqual([await isActive(one), await isActive(two), await isActive(other)], [false, false, true])
  })

  test('ends no session if sub and sid of a logout token belong to different users', async () => {
    const victim = await signIn({ sub: 'ada', sid: 'ada-1' })
    assert.equal((await logout(await logoutToken({ sub: 'bob', sid: 'ada-1' }))).status, 200)
    assert.equal(await isActive(victim), true)
  })

  test('refuses invalid logout tokens', async () => {
    const session = await signIn({ sub: 'kim', sid: 'k1' })
    const target = { sub: 'kim', sid: 'k1' }
    const now = Math.floor(Date.now() / 1000)
    const { privateKey } = await generateKeyPair('ES256')
    const tokens = [
      '',
      'not a token',
      await logoutToken({ ...target, aud: 'another-client' }),
      await logoutToken({ ...target, iss: 'https://login.example.com' }),
      await logoutToken({ ...target, events: undefined }),
      await logoutToken({ ...target, events: { 'http://schemas.openid.net/event/backchannel-logout': true } }),
      await logoutToken({ ...target, nonce: 'x' }),
      await logoutToken({ ...target, jti: undefined }),
      await logoutToken({ ...target, iat: undefined }),
      await logoutToken({ ...target, exp: now - 100 }),
      await logoutToken({ ...target, iat: now - 3_600 }),
      await logoutToken({ ...target, iat: now + 3_600 }),
      await logoutToken({}),
      await logoutToken(target, { typ: 'at+jwt' }),
      await logoutToken(target, {}, privateKey),
    ]
    for (const token of tokens) {
      const answer = await logout(token)
      assert.deepEqual([answer.status, (answer.body as { error: string }).error], [400, 'invalid_request'], token)
    }
    assert.equal(await isActive(session), true)
    const unknown = '/oauth/backchannel-logout/0197a4f2-0000-7000-8000-000000000001'
    const form = { logout_token: await logoutToken(target) }
    assert.equal((await postForm(hub, unknown, { form })).status, 400)
  })

  test('accepts a logout token once', async () => {
    const token = await logoutToken({ sub: 'twice' })
    assert.equal((await logout(token)).status, 200)
    assert.equal((await logout(token)).status, 400)
  })

  test('ends the sessions of the users when the provider is disabled or deleted', async () => {
    const first = await signIn({ sub: 'last', sid: 'l1' })
    await admin.identity.updateIdentityProvider({ params: { id }, body: { data: { disabled: true } } })
    assert.equal(await isActive(first), false)
    const page = await new ProviderBrowser(hub).open(authorizePath(hub, { tenant: hub.tenant.name }))
    assert.doesNotMatch(page.text, /Sign in with/)
    await admin.identity.updateIdentityProvider({ params: { id }, body: { data: { disabled: false } } })
    const second = await signIn({ sub: 'last', sid: 'l2' })
    const third = new ProviderBrowser(hub)
    const started = provider.authorize(await third.start(id), { sub: 'last' })
    await admin.identity.deleteIdentityProvider({ params: { id } })
    assert.equal(await isActive(second), false)
    assert.equal((await third.return(started.redirectUri, started.parameters)).status, 400)
    assert.equal((await second.browser.post('/oauth/logout', {})).status, 204)
  })
})
