import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { resumeTenant, suspendTenant, withdrawApplication } from '../../../platform/tenants/tenants.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { createServerUser } from '../accounts/accounts.ts'
import { fetchFrom, freezeClock, requestToken } from '../testing.ts'

async function program(hub: TestHub, role: string | undefined = 'operator') {
  const created = await createServerUser(hub.context, hub.tenant, { name: 'a program', role })
  const form = { grant_type: 'client_credentials', client_id: created.clientId, client_secret: created.clientSecret }
  return { ...created, form }
}

async function discovered(hub: TestHub) {
  const options = { [oauth.customFetch]: fetchFrom(hub), [oauth.allowInsecureRequests]: true }
  const issuer = new URL(hub.context.settings.baseUrl)
  const answer = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
  return { options, server: await oauth.processDiscoveryResponse(issuer, answer) }
}

for (const [how, authentication] of [
  ['in the form', oauth.ClientSecretPost],
  ['by HTTP Basic', oauth.ClientSecretBasic],
] as const) {
  test(`issues a token to an independent client that discovers the server and sends its credentials ${how}`, async () => {
    await using hub = await testHub()
    const { clientId, clientSecret } = await program(hub)
    const { server, options } = await discovered(hub)
    const client = { client_id: clientId }
    const answer = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      authentication(clientSecret),
      new URLSearchParams(),
      options,
    )
    const token = await oauth.processClientCredentialsResponse(server, client, answer)

    assert.equal(token.token_type, 'bearer')
    assert.equal(token.expires_in, 3600)
    const rights = await hub.withToken(token.access_token).authorization.readOwnRights({})
    assert.deepEqual(rights.data.roles, ['operator'])
  })
}

test('issues an RFC 9068 access token that the published keys verify', async () => {
  await using hub = await testHub()
  const { form, id, clientId } = await program(hub)
  const { body, headers } = await requestToken(hub, form)
  const published = await hub.request({ method: 'GET', path: '/.well-known/jwks.json' })
  const { payload, protectedHeader } = await jwtVerify(
    body.access_token ?? '',
    createLocalJWKSet(published.body as JSONWebKeySet),
    {
      issuer: hub.context.settings.baseUrl,
      audience: 'millwright',
      typ: 'at+jwt',
      algorithms: ['ES256'],
    },
  )

  assert.ok(protectedHeader.kid)
  assert.match(published.headers.get('cache-control') ?? '', /max-age=\d+/)
  assert.doesNotMatch(published.text, /"d"/)
  assert.equal(headers.get('cache-control'), 'no-store')
  const { iat = 0, exp = 0, jti } = payload
  assert.equal(exp - iat, 3600)
  assert.ok(jti)
  assert.deepEqual(
    {
      sub: payload.sub,
      client: payload.client_id,
      tenant: payload.tenant,
      name: payload.tenant_name,
      kind: payload.kind,
      roles: payload.roles,
    },
    {
      sub: id,
      client: clientId,
      tenant: hub.tenant.tenantId,
      name: hub.tenant.name,
      kind: 'server_user',
      roles: ['operator'],
    },
  )
})

test('lists only implemented features in the OAuth server metadata', async () => {
  await using hub = await testHub()
  const { server } = await discovered(hub)
  assert.equal(server.issuer, hub.context.settings.baseUrl)
  assert.deepEqual(server.code_challenge_methods_supported, ['S256'])
  assert.deepEqual(server.grant_types_supported, ['authorization_code', 'client_credentials', 'refresh_token'])
  assert.equal(server.authorization_response_iss_parameter_supported, true)
})

test('limits a token to the roles in its scope, and refuses a role that the client does not hold', async () => {
  await using hub = await testHub()
  const { form, id } = await program(hub)
  const admin = await hub.as('administrator')
  await admin.authorization.createGrant({ body: { data: { principal: id, role: 'credential_manager' } } })

  const narrow = await requestToken(hub, { ...form, scope: 'credential_manager' })
  assert.equal(narrow.body.scope, 'credential_manager')
  assert.deepEqual(decodeJwt(narrow.body.access_token ?? '').roles, ['credential_manager'])

  const whole = await requestToken(hub, form)
  assert.deepEqual(decodeJwt(whole.body.access_token ?? '').roles, ['credential_manager', 'operator'])

  for (const scope of ['administrator', 'operator administrator', 'no_such_role', '"', 'operator  operator']) {
    const refused = await requestToken(hub, { ...form, scope })
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_scope'], scope)
  }
})

test('returns the errors of RFC 6749 for invalid token requests', async () => {
  await using hub = await testHub()
  const { form, clientId, clientSecret } = await program(hub)
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  })
  const cases: [string, Record<string, string>, Record<string, string>, number, string][] = [
    ['no grant type', { client_id: clientId, client_secret: clientSecret }, {}, 400, 'invalid_request'],
    ['an unknown grant type', { ...form, grant_type: 'password' }, {}, 400, 'unsupported_grant_type'],
    ['a grant type of the prototype', { ...form, grant_type: 'constructor' }, {}, 400, 'unsupported_grant_type'],
    ['no client', { grant_type: 'client_credentials' }, {}, 401, 'invalid_client'],
    ['no secret', { grant_type: 'client_credentials', client_id: clientId }, {}, 401, 'invalid_client'],
    ['an unknown client', { ...form, client_id: 'su_aaaaaaaaaaaaaaaaaaaa' }, {}, 401, 'invalid_client'],
    ['a client id with a NUL', { ...form, client_id: 'su_\u0000' }, {}, 401, 'invalid_client'],
    ['a wrong secret', { ...form, client_secret: 'mws_wrong' }, {}, 401, 'invalid_client'],
    ['a wrong secret by Basic', { grant_type: 'client_credentials' }, basic(clientId, 'wrong'), 401, 'invalid_client'],
    ['a Bearer header', { grant_type: 'client_credentials' }, { authorization: 'Bearer x' }, 401, 'invalid_client'],
    ['form and header that differ', form, basic('su_bbbbbbbbbbbbbbbbbbbb', clientSecret), 400, 'invalid_request'],
    ['a client for people', { ...form, client_id: 'console' }, {}, 400, 'unauthorized_client'],
    [
      'a grant for people',
      { ...form, grant_type: 'refresh_token', refresh_token: 'x' },
      {},
      400,
      'unauthorized_client',
    ],
  ]
  for (const [what, body, headers, status, error] of cases) {
    const refused = await requestToken(hub, body, { headers, from: '10.9.0.1' })
    assert.deepEqual([refused.status, refused.body.error], [status, error], what)
    assert.equal(refused.headers.get('cache-control'), 'no-store', what)
    assert.match(refused.body.error_description ?? '', /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/, what)
    assert.equal(refused.headers.has('www-authenticate'), status === 401, what)
  }
  assert.equal((await requestToken(hub, form, { headers: basic(clientId, clientSecret) })).status, 200)
})

test('refuses a token request with a repeated parameter, known or unknown', async () => {
  await using hub = await testHub()
  const { form } = await program(hub)
  for (const twice of ['&scope=viewer&scope=viewer', '&client_id=x', '&other=1&other=2']) {
    const refused = await hub.request({
      method: 'POST',
      path: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString() + twice,
    })
    assert.deepEqual([refused.status, (refused.body as { error: string }).error], [400, 'invalid_request'], twice)
  }
})

test('refuses to issue a token, with the reason, when the tenant is suspended or lacks the application `api`', async () => {
  await using hub = await testHub()
  const { form } = await program(hub)
  await hub.asOwner((owner) => suspendTenant(owner, hub.tenant.name))
  const suspended = await requestToken(hub, form)
  assert.deepEqual([suspended.status, suspended.body.error], [400, 'unauthorized_client'])
  assert.match(suspended.body.error_description ?? '', /suspended/)

  await hub.asOwner((owner) => resumeTenant(owner, hub.tenant.name))
  await hub.asOwner((owner) => withdrawApplication(owner, hub.tenant.name, 'api'))
  const without = await requestToken(hub, form)
  assert.deepEqual([without.status, without.body.error], [400, 'unauthorized_client'])
  assert.match(without.body.error_description ?? '', /application api/)

  const wrong = await requestToken(hub, { ...form, client_secret: 'mws_wrong' })
  assert.equal(wrong.body.error, 'invalid_client', 'a wrong secret hides the reason')
})

test('delays a client after wrong secrets, even with the correct secret, and only from the same address', async (t) => {
  freezeClock(t)
  await using hub = await testHub()
  const { form, id } = await program(hub)
  for (let i = 0; i < 6; i++) {
    const refused = await requestToken(hub, { ...form, client_secret: `mws_${i}` }, { from: '10.9.0.1' })
    assert.equal(refused.status, 401)
  }
  const slowed = await requestToken(hub, form, { from: '10.9.0.1' })
  assert.deepEqual([slowed.status, slowed.body.error], [429, 'slow_down'])
  assert.ok(Number(slowed.headers.get('retry-after')) >= 1)
  assert.equal((await requestToken(hub, form, { from: '10.9.0.2' })).status, 200)

  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.token', outcome: 'denied' } })
  assert.deepEqual(
    data.map(({ principal, address, detail }) => [principal, address, detail.failures]).toReversed(),
    [1, 2, 3, 4, 5, 6].map((failures) => [id, '10.9.0.1', failures]),
  )
  assert.ok(hub.printed.some((line) => line.includes('sign-in refused')))
})

test('records the token requests of a client in the audit trail once per ten minutes', async () => {
  await using hub = await testHub()
  const { form, id } = await program(hub)
  for (let i = 0; i < 5; i++) await requestToken(hub, form)
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.token' } })
  assert.deepEqual(
    data.map(({ outcome, target }) => [outcome, target]),
    [['done', `server-user/${id}`]],
  )
})

test('issues tokens for many concurrent requests of one client', async () => {
  await using hub = await testHub()
  const { form } = await program(hub)
  const answers = await Promise.all(Array.from({ length: 40 }, () => requestToken(hub, form)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(new Set(answers.map(({ body }) => decodeJwt(body.access_token ?? '').jti)).size, 40)
  assert.equal(decodeProtectedHeader(answers[0]?.body.access_token ?? '').alg, 'ES256')
})
