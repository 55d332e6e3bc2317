import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeJwt, generateKeyPair } from 'jose'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { clientId, configure, type FakeProvider, ProviderBrowser, startFakeProvider } from './testing.ts'

const apiAudience = 'millwright-api'

describe('access tokens of an identity provider', () => {
  let hub: TestHub
  let sibling: TestHub
  let admin: TestCaller
  let provider: FakeProvider
  let id: string
  let groups: Record<string, string>

  before(async () => {
    provider = await startFakeProvider()
    hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    sibling = await hub.sibling({ outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
    const create = async (name: string) =>
      (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    groups = { 'line-1': await create('line-1'), 'line-2': await create('line-2') }
    const created = await configure(admin, provider.issuer, {
      apiAudience,
      mayGrantAdministrator: true,
      mappings: [
        { value: 'admins', role: 'administrator' },
        ...Object.entries(groups).map(([value, accessGroup]) => ({ value, role: 'operator', accessGroup })),
      ],
    })
    id = created.id
  })

  after(async () => {
    await sibling[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
    await provider.stop()
  })

  const call = (token: string, at = hub) =>
    at.request({ method: 'GET', path: '/authorization/v1/rights', headers: { authorization: `Bearer ${token}` } })
  const rights = async (claims: Record<string, unknown>, options = {}) =>
    call(await provider.accessToken({ sub: 'jane', ...claims }, options))

  test('gives a token the roles to which its claims are mapped', async () => {
    const answer = await rights({ preferred_username: 'jane', groups: ['admins', 'canteen'] })
    assert.equal(answer.status, 200)
    const { data } = answer.body as { data: { name: string; tenant: string; roles: string[] } }
    assert.deepEqual([data.name, data.tenant, data.roles], ['jane', hub.tenant.name, ['administrator']])
  })

  test('uses the same account for a sign-in with the browser and for API tokens', async () => {
    const browser = new ProviderBrowser(hub)
    const back = await browser.signInWith(provider, id, { sub: 'both', groups: ['line-1'] })
    const { accessToken } = await browser.tokens(back)
    const answer = await rights({ sub: 'both', groups: ['line-1'] })
    assert.equal((answer.body as { data: { principal: string } }).data.principal, decodeJwt(accessToken).sub)
  })

  test('limits a token to the access groups of its claims', async () => {
    const writable = async (claims: string[], iat: number) => {
      const answer = await rights({ sub: 'omar', groups: claims, iat })
      const { data } = answer.body as { data: { permissions: { permission: string; accessGroups: string[] }[] } }
      return data.permissions.find(({ permission }) => permission === 'inventory_write_asset_data')?.accessGroups ?? []
    }
    const now = Math.floor(Date.now() / 1000)
    assert.deepEqual((await writable(['line-1', 'line-2'], now - 20)).toSorted(), Object.values(groups).toSorted())
    assert.deepEqual(await writable(['line-2'], now - 10), [groups['line-2']])
    // An older token changes no grants. Its roles count only as far as the principal still has them.
    assert.deepEqual(await writable(['line-1'], now - 15), [])
  })

  test('returns 403 when only an earlier token of the user had the required role', async () => {
    await rights({ sub: 'former', groups: ['admins'] })
    const token = await provider.accessToken({ sub: 'former', groups: [] })
    const path = '/iam/v1/users'
    const answer = await hub.request({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } })
    assert.equal(answer.status, 403)
  })

  test('creates one principal for concurrent first requests of a user', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => rights({ sub: 'race', groups: ['line-1'] })))
    const ids = new Set(answers.map(({ body }) => (body as { data: { principal: string } }).data.principal))
    assert.deepEqual([answers.map(({ status }) => status).join(), ids.size], [Array(8).fill(200).join(), 1])
  })

  test('refuses a token whose audiences belong to providers of two tenants', async () => {
    const other = await hub.anotherTenant()
    const mallory = await hub.as('administrator', { tenant: other })
    // Keycloak adds the audience "account" to the tokens of most clients.
    await configure(mallory, provider.issuer, {
      apiAudience: 'account',
      mappings: [{ value: 'admins', role: 'operator' }],
    })
    const answer = await rights({ aud: ['account', apiAudience], groups: ['admins'] })
    assert.equal(answer.status, 401)
    assert.match(answer.text, /several identity providers/)
    assert.equal((await rights({ aud: ['elsewhere', apiAudience], groups: ['admins'] })).status, 200)
  })

  const now = () => Math.floor(Date.now() / 1000)
  const refused: [string, () => object, object?][] = [
    ['for another audience', () => ({ aud: 'another' })],
    ['for the client of the sign-in', () => ({ aud: clientId })],
    ['for the API and the client of the sign-in', () => ({ aud: [apiAudience, clientId], azp: clientId })],
    ['of an unknown issuer', () => ({ iss: 'https://login.example.com' })],
    ['that has expired', () => ({ exp: now() - 3_600 })],
    ['without an expiry', () => ({ exp: undefined })],
    ['without an issue time', () => ({ iat: undefined })],
    ['that was issued in the future', () => ({ iat: now() + 600 })],
    ['without a subject', () => ({ sub: undefined })],
    ['that is an ID token with a nonce', () => ({ nonce: 'x' })],
    ['that is an ID token of Keycloak', () => ({ typ: 'ID' }), { header: { typ: 'JWT' } }],
    ['that is a logout token', () => ({ events: {} }), { header: { typ: 'logout+jwt' } }],
    ['with the type of a proof', () => ({}), { header: { typ: 'dpop+jwt' } }],
  ]
  for (const [what, claims, options] of refused) {
    test(`refuses a token ${what}`, async () => {
      const answer = await rights({ groups: ['admins'], ...claims() }, options)
      assert.equal(answer.status, 401)
    })
  }

  test('refuses an ID token of the sign-in', async () => {
    const browser = new ProviderBrowser(hub)
    let idToken = ''
    provider.answerToken = (token) => {
      idToken = token
      return { access_token: 'x', token_type: 'Bearer', id_token: token }
    }
    const back = await browser.signInWith(provider, id, { sub: 'jane', groups: ['admins'] })
    provider.answerToken = undefined
    assert.equal(back.status, 303)
    assert.equal((await call(idToken)).status, 401)
  })

  test('refuses a token that is signed with another key or without a signature', async () => {
    const { privateKey } = await generateKeyPair('ES256')
    assert.equal((await rights({ groups: ['admins'] }, { key: privateKey })).status, 401)
    const [, payload] = (await provider.accessToken({ sub: 'jane', groups: ['admins'] })).split('.')
    const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt', kid: 'first' })).toString('base64url')
    for (const signature of ['', 'AAAA']) assert.equal((await call(`${header}.${payload}.${signature}`)).status, 401)
  })

  test('does not let a token select another tenant with a claim', async () => {
    const other = await hub.anotherTenant()
    const answer = await rights({ groups: ['admins'], tenant: other.tenantId, tenant_name: other.name })
    assert.equal((answer.body as { data: { tenant: string } }).data.tenant, hub.tenant.name)
  })

  test('does not let another tenant claim the same issuer and audience', async () => {
    const other = await hub.anotherTenant()
    const otherAdmin = await hub.as('administrator', { tenant: other })
    await assert.rejects(configure(otherAdmin, provider.issuer, { apiAudience }), { code: 'already_exists' })
    const own = await configure(otherAdmin, provider.issuer, { apiAudience: 'other-api' })
    const token = await provider.accessToken({ sub: 'jane', aud: 'other-api', groups: ['admins'] })
    const answer = await call(token)
    const { data } = answer.body as { data: { tenant: string; roles: string[] } }
    assert.deepEqual([data.tenant, data.roles], [other.name, []])
    await otherAdmin.identity.deleteIdentityProvider({ params: { id: own.id } })
    assert.equal((await call(token)).status, 401)
  })

  test('refuses tokens in every process within a second after the provider is disabled', async () => {
    const token = await provider.accessToken({ sub: 'jane', groups: ['admins'] })
    assert.deepEqual([(await call(token)).status, (await call(token, sibling)).status], [200, 200])
    await admin.identity.updateIdentityProvider({ params: { id }, body: { data: { disabled: true } } })
    assert.equal((await call(token)).status, 401)
    const deadline = performance.now() + 120_000
    while ((await call(token, sibling)).status !== 401) assert.ok(performance.now() < deadline)
    await admin.identity.updateIdentityProvider({ params: { id }, body: { data: { disabled: false } } })
    assert.equal((await call(token)).status, 200)
  })

  test('refuses tokens of a disabled user', async () => {
    const token = await provider.accessToken({ sub: 'gone', groups: ['line-1'] })
    const { principal } = ((await call(token)).body as { data: { principal: string } }).data
    await admin.identity.updateUser({ params: { id: principal }, body: { data: { disabled: true } } })
    assert.equal((await call(token)).status, 401)
  })
})
