import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, person, refresh, rightPassword } from '../testing.ts'
import { clientId, clientSecret, configure, type FakeProvider, ProviderBrowser, startFakeProvider } from './testing.ts'

describe('sign-in with an identity provider', () => {
  let hub: TestHub
  let admin: TestCaller
  let provider: FakeProvider
  let providerId: string
  let group: string

  before(async () => {
    provider = await startFakeProvider()
    hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
    group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'line-1' } } })).data.id
    const created = await configure(admin, provider.issuer, {
      mappings: [
        { value: 'operators', role: 'operator' },
        { value: 'line-1', role: 'operator', accessGroup: group },
        { value: 'viewers', role: 'viewer' },
      ],
    })
    providerId = created.id
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await provider.stop()
  })

  const signIn = async (claims: Record<string, unknown>) => {
    const browser = new ProviderBrowser(hub)
    const back = await browser.signInWith(provider, providerId, claims)
    assert.equal(back.status, 303, back.text)
    return { browser, ...(await browser.tokens(back)) }
  }

  test('signs in a user, creates the account and grants the roles of the groups claim', async () => {
    const { accessToken } = await signIn({ sub: 'jane-1', preferred_username: 'jane', groups: ['line-1', 'canteen'] })
    const claims = decodeJwt(accessToken)
    assert.deepEqual([claims.kind, claims.roles], ['external', ['operator']])
    const { data: grants } = await admin.authorization.listGrants({ query: { principal: String(claims.sub) } })
    assert.deepEqual(
      grants.map(({ role, accessGroup, provider: title, principalName }) => [role, accessGroup, title, principalName]),
      [['operator', group, 'Company', 'jane']],
    )
    const refused = await hub
      .withToken(accessToken)
      .identity.listUsers({})
      .catch((error) => error.code)
    assert.equal(refused, 'forbidden')
  })

  test('shows the buttons of the providers only in the tenant of the request, without connecting to a provider', async () => {
    const browser = new ProviderBrowser(hub)
    const count = provider.received.length
    const own = await browser.open(authorizePath(hub, { tenant: hub.tenant.name }))
    assert.match(own.text, /Sign in with Company/)
    const german = await browser.open(authorizePath(hub, { tenant: hub.tenant.name }), { 'accept-language': 'de' })
    assert.match(german.text, /Mit Company anmelden/)
    for (const tenant of [undefined, 'no-such-tenant'])
      assert.doesNotMatch((await browser.open(authorizePath(hub, { tenant }))).text, /Sign in with/)
    assert.equal(provider.received.length, count)
  })

  test('sends PKCE, state, nonce and its own redirect address, and authenticates with the client secret', async () => {
    const browser = new ProviderBrowser(hub)
    const url = new URL(await browser.start(providerId))
    const sent = Object.fromEntries(url.searchParams)
    assert.equal(sent.redirect_uri, `${hub.context.settings.baseUrl}/oauth/callback/${providerId}`)
    assert.deepEqual([sent.response_type, sent.code_challenge_method, sent.scope], ['code', 'S256', 'openid profile'])
    assert.ok((sent.nonce ?? '').length >= 32 && (sent.state ?? '').length >= 32)
    const { redirectUri, parameters } = provider.authorize(url.href, { sub: 'secret-1' })
    assert.equal((await browser.return(redirectUri, parameters)).status, 303)
    const authorization = provider.received.findLast(({ path }) => path === '/token')?.headers.authorization ?? ''
    const [id, secret] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':')
    const decoded = new URLSearchParams(`id=${id}&secret=${secret}`)
    assert.deepEqual([decoded.get('id'), decoded.get('secret')], [clientId, clientSecret])
  })

  test('replaces the grants of earlier claims at each sign-in, and keeps manual grants', async () => {
    const roles = (token: string) => decodeJwt(token).roles
    const person = { sub: 'omar', preferred_username: 'omar' }
    const first = await signIn({ ...person, groups: ['operators'] })
    const principal = String(decodeJwt(first.accessToken).sub)
    await admin.authorization.createGrant({ body: { data: { principal, role: 'viewer' } } })
    assert.deepEqual(roles((await signIn({ ...person, groups: ['viewers'] })).accessToken), ['viewer'])
    const { data: both } = await admin.authorization.listGrants({ query: { principal } })
    assert.deepEqual(both.map(({ provider: title }) => title).toSorted(), ['Company', null])
    assert.deepEqual(roles((await signIn({ ...person, groups: [] })).accessToken), ['viewer'])
    const { data: manual } = await admin.authorization.listGrants({ query: { principal } })
    assert.deepEqual(
      manual.map(({ provider: title }) => title),
      [null],
    )
  })

  test('ignores the groups of claims that are older than those of the last sign-in', async () => {
    const now = Math.floor(Date.now() / 1000)
    const { accessToken } = await signIn({ sub: 'old', groups: ['viewers'] })
    const older = await signIn({ sub: 'old', groups: ['operators'], iat: now - 30 })
    assert.deepEqual(decodeJwt(older.accessToken).roles, ['viewer'])
    assert.equal(decodeJwt(older.accessToken).sub, decodeJwt(accessToken).sub)
  })

  test('records a change of grants in the audit trail, and no entry without a change', async () => {
    const entries = async () => {
      const { data } = await admin.audit.listEntries({ query: { action: 'identity.externalSignIn', limit: 100 } })
      return data.filter(({ detail }) => detail.subject === 'audited')
    }
    await signIn({ sub: 'audited', groups: ['viewers'] })
    await signIn({ sub: 'audited', groups: ['viewers'] })
    assert.equal((await entries()).length, 1)
    await signIn({ sub: 'audited', groups: ['operators'] })
    const [latest] = await entries()
    assert.deepEqual(latest?.detail.granted, [{ role: 'operator', accessGroupId: null }])
    assert.deepEqual(latest?.detail.revoked, [{ role: 'viewer', accessGroupId: null }])
  })

  test('creates different accounts for different subjects with the same name and email', async () => {
    const person = { preferred_username: 'same', email: 'same@example.com', email_verified: true }
    const ids: unknown[] = []
    for (const sub of ['one', 'two', 'three']) ids.push(decodeJwt((await signIn({ ...person, sub })).accessToken).sub)
    assert.equal(new Set(ids).size, 3)
    const { data } = await admin.identity.listUsers({ query: { limit: 100 } })
    const accounts = data.filter(({ id }) => ids.includes(id))
    assert.deepEqual(
      accounts.map(({ name }) => name),
      ['same', `same (${provider.issuer})`, 'same (three)'],
    )
    assert.ok(accounts.every(({ provider: title }) => title === 'Company'))
  })

  test('does not sign in to a local account with the same name', async () => {
    const local = await person(hub, 'local-jane', 'administrator')
    const { accessToken } = await signIn({ sub: 'x', preferred_username: 'local-jane', email: 'local-jane@plant' })
    const { sub, roles } = decodeJwt(accessToken)
    assert.notEqual(sub, local.id)
    assert.deepEqual(roles, [])
    const { data } = await admin.identity.readUser({ params: { id: String(sub) } })
    assert.equal(data.name, `local-jane (${provider.issuer})`)
  })

  test('creates one account for concurrent first sign-ins of a user', async () => {
    const all = await Promise.all(
      Array.from({ length: 5 }, () => signIn({ sub: 'race', preferred_username: 'race', groups: ['viewers'] })),
    )
    assert.equal(new Set(all.map(({ accessToken }) => decodeJwt(accessToken).sub)).size, 1)
  })

  test('refreshes the tokens of an external user, and lists the session with its provider', async () => {
    const { accessToken, refreshToken } = await signIn({ sub: 'r', groups: ['viewers'] })
    const renewed = await refresh(hub, refreshToken)
    assert.equal(renewed.status, 200)
    assert.equal(decodeJwt(renewed.body.access_token ?? '').kind, 'external')
    const { data } = await hub.withToken(accessToken).identity.listSessions({})
    assert.deepEqual(
      data.map(({ provider: title, methods }) => [title, methods]),
      [['Company', ['fed']]],
    )
  })

  test('refuses a disabled user of a provider, and ends the sessions of the user', async () => {
    const { accessToken, refreshToken } = await signIn({ sub: 'gone', groups: ['viewers'] })
    const id = String(decodeJwt(accessToken).sub)
    await admin.identity.updateUser({ params: { id }, body: { data: { disabled: true } } })
    assert.equal((await refresh(hub, refreshToken)).status, 400)
    const back = await new ProviderBrowser(hub).signInWith(provider, providerId, { sub: 'gone', groups: ['viewers'] })
    assert.deepEqual([back.status, /user_disabled/.test(back.text)], [403, true])
  })

  test('does not set a password for an external user', async () => {
    const { accessToken } = await signIn({ sub: 'no-password' })
    const id = String(decodeJwt(accessToken).sub)
    const body = { data: { password: 'a pump, a motor and a belt' } }
    await assert.rejects(admin.identity.updateUser({ params: { id }, body }), { code: 'conflict' })
    const change = { data: { currentPassword: 'x', newPassword: 'a pump, a motor and a belt' } }
    await assert.rejects(hub.withToken(accessToken).identity.changePassword({ body: change }), { code: 'conflict' })
  })

  test('does not revoke a mapped grant by hand, and explains where to remove it', async () => {
    const { accessToken } = await signIn({ sub: 'mapped', groups: ['viewers'] })
    const principal = String(decodeJwt(accessToken).sub)
    const [grant] = (await admin.authorization.listGrants({ query: { principal } })).data
    await assert.rejects(admin.authorization.deleteGrant({ params: { id: grant?.id ?? '' } }), {
      code: 'conflict',
      message: /identity provider/,
    })
  })

  test('refuses a sign-in with a group overage, and explains the fix in the audit trail', async () => {
    const claims = { sub: 'many', _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'x' } } }
    const back = await new ProviderBrowser(hub).signInWith(provider, providerId, claims)
    assert.deepEqual([back.status, /group_overage/.test(back.text)], [403, true])
    const { data } = await admin.audit.listEntries({ query: { action: 'identity.signIn', limit: 100 } })
    const entry = data.find(({ detail }) => detail.reason === 'group_overage')
    assert.equal(entry?.outcome, 'denied')
    assert.equal(entry.detail.subject, 'many')
    assert.match(String(entry?.detail.message), /Groups assigned to the application/)
  })

  test('requests a new authentication for prompt=login, and checks its time', async () => {
    const now = Math.floor(Date.now() / 1000)
    const browser = new ProviderBrowser(hub)
    const url = new URL(await browser.start(providerId, { prompt: 'login' }))
    assert.deepEqual([url.searchParams.get('prompt'), url.searchParams.get('max_age')], ['login', '0'])
    const attempt = async (claims: object) => {
      const parameters = { prompt: 'login' }
      const back = new ProviderBrowser(hub).signInWith(provider, providerId, { sub: 's', ...claims, parameters })
      return (await back).status
    }
    assert.equal(await attempt({}), 400)
    assert.equal(await attempt({ auth_time: now - 3_600 }), 400)
    assert.equal(await attempt({ auth_time: now }), 303)
  })

  test('stores the time of the authentication at the provider, not the time of the sign-in', async () => {
    const authTime = Math.floor(Date.now() / 1000) - 3_600
    const old = await signIn({ sub: 'sso', auth_time: authTime })
    assert.equal(decodeJwt(old.accessToken).auth_time, authTime)
    const unknown = await signIn({ sub: 'sso' })
    assert.equal(decodeJwt(unknown.accessToken).auth_time, 0)
  })

  test('requires a confirmation for dangerous actions when the time of the authentication is not known', async () => {
    const principal = String(decodeJwt((await signIn({ sub: 'no-time' })).accessToken).sub)
    await admin.authorization.createGrant({ body: { data: { principal, role: 'administrator' } } })
    await admin.identity.updateSignInPolicy({ body: { data: { stepUp: ['access'] } } })
    try {
      const user = hub.withToken((await signIn({ sub: 'no-time' })).accessToken)
      const create = user.authorization.createAccessGroup({ body: { data: { name: 'dangerous' } } })
      await assert.rejects(create, {
        code: 'step_up_required',
        message: /The time of your last sign-in is not known\. /,
      })
    } finally {
      await admin.identity.updateSignInPolicy({ body: { data: { stepUp: [] } } })
    }
  })

  test('accepts local sign-ins while the provider is down, and explains the failure of the provider', async () => {
    const local = await person(hub, 'local', 'viewer')
    const down = await startFakeProvider()
    const other = await configure(admin, down.issuer, { title: 'Down' })
    await down.stop()
    const browser = new ProviderBrowser(hub)
    const page = await browser.open(authorizePath(hub, { tenant: hub.tenant.name }))
    assert.match(page.text, /Sign in with Down/)
    const back = await browser.submit(page, { name: local.signInName, password: rightPassword })
    assert.equal(back.status, 303)
    await admin.identity.checkIdentityProvider({ params: { id: other.id } })
    const failed = await new ProviderBrowser(hub).choose(other.id)
    assert.deepEqual([failed.status, /provider_unreachable/.test(failed.text)], [503, true])
    await admin.identity.deleteIdentityProvider({ params: { id: other.id } })
  })
})
