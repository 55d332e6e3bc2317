import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { SignJWT } from 'jose'
import {
  requestToken as askWithAssertion,
  assertionOf,
  enrolledGateway,
  proofFor,
} from '../../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, type Browser, person, postForm, proofKey, refresh, requestToken, signedIn } from '../testing.ts'

describe('token revocation', () => {
  let hub: TestHub
  let elsewhere: TestHub
  let admin: TestCaller
  let names = 0

  before(async () => {
    hub = await testHub()
    elsewhere = await hub.sibling()
    admin = await hub.as('administrator')
  })

  after(async () => {
    await elsewhere[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  const statusIn = async (process: TestHub, token: string) =>
    (await process.request({ method: 'GET', path: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } }))
      .status

  /** Asserts that a revoked token is refused: immediately by the process that revoked it, and soon by the other process. */
  const assertEnds = async (token: string) => {
    assert.equal(await statusIn(hub, token), 401)
    const deadline = performance.now() + 120_000
    while ((await statusIn(elsewhere, token)) !== 401) assert.ok(performance.now() < deadline, 'the token stays valid')
  }

  const assertValid = async (token: string) =>
    assert.deepEqual([await statusIn(hub, token), await statusIn(elsewhere, token)], [200, 200])

  const serverUser = async (role?: 'administrator' | 'viewer') => {
    const { data } = await admin.identity.createServerUser({ body: { data: { name: `program ${++names}` } } })
    if (role !== undefined) await admin.authorization.createGrant({ body: { data: { principal: data.id, role } } })
    const client = { client_id: data.clientId, client_secret: data.clientSecret }
    return { id: data.id, client, token: await tokenOf(client) }
  }

  const tokenOf = async (client: Record<string, string>) =>
    (await requestToken(hub, { grant_type: 'client_credentials', ...client })).body.access_token ?? ''

  const signIn = async () => signedIn(hub, (await person(hub, `person-${++names}`)).signInName)

  const revoke = (form: Record<string, string>) => postForm(hub, '/oauth/revoke', { form })

  test('revokes the access tokens of a rotated client secret only when revokeTokens is set', async () => {
    const { id, client, token } = await serverUser()
    const { data: second } = await admin.identity.rotateServerUserSecret({ params: { id } })
    const later = await tokenOf({ ...client, client_secret: second.clientSecret })
    await assertValid(token)
    const body = { data: { revokeTokens: true } }
    const { data: third } = await admin.identity.rotateServerUserSecret({ params: { id }, body })
    await assertEnds(token)
    await assertEnds(later)
    await assertValid(await tokenOf({ ...client, client_secret: third.clientSecret }))
  })

  test('revokes the access tokens of an authorization code that is used again', async () => {
    const { exchange, accessToken, refreshToken } = await signIn()
    const renewed = await refresh(hub, refreshToken)
    await assertValid(accessToken)
    assert.equal((await requestToken(hub, exchange)).body.error, 'invalid_grant')
    await assertEnds(accessToken)
    await assertEnds(renewed.body.access_token ?? '')
  })

  test('invalidates an authorization code after a wrong PKCE verifier, and records it in the audit trail', async () => {
    const user = await person(hub, `person-${++names}`)
    const { browser, exchange } = await signedIn(hub, user.signInName)
    const unused = { ...exchange, ...(await silentCode(hub, browser)) }
    const wrong = await requestToken(hub, { ...unused, code_verifier: 'a'.repeat(43) })
    assert.equal(wrong.body.error, 'invalid_grant')
    assert.equal((await requestToken(hub, unused)).body.error, 'invalid_grant')
    const { data } = await admin.audit.listEntries({ query: { action: 'identity.token', outcome: 'denied' } })
    const reasons = data.filter(({ principal }) => principal === user.id).map(({ detail }) => detail.reason)
    assert.deepEqual(reasons.toSorted(), ['used_twice', 'wrong_verifier'])
  })

  test('changes and records nothing when a token revocation or a code replay is repeated', async () => {
    const { client, token, id } = await serverUser()
    const { exchange } = await signIn()
    const state = () =>
      hub.asOwner(async (owner) => {
        const { rows } = await owner.query(
          `select (select version from access_versions where tenant_id = $1) as version,
                  (select count(*) from audit_entries where tenant_id = $1)::int as entries`,
          [hub.tenant.tenantId],
        )
        return rows[0]
      })
    await revoke({ ...client, token })
    await requestToken(hub, exchange)
    const before = await state()
    await revoke({ ...client, token })
    assert.equal((await requestToken(hub, exchange)).body.error, 'invalid_grant')
    assert.deepEqual(await state(), before)
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number }
    const { rows } = await hub.asOwner((owner) =>
      owner.query('select expires_at from revoked_tokens where tenant_id = $1 and principal_id = $2', [
        hub.tenant.tenantId,
        id,
      ]),
    )
    assert.equal(new Date(rows[0].expires_at).getTime(), (exp + 60) * 1000)
  })

  test('revokes the access tokens of a session when the user signs out', async () => {
    const { accessToken, refreshToken } = await signIn()
    await assertValid(accessToken)
    await postForm(hub, '/oauth/logout', { form: { refresh_token: refreshToken } })
    await assertEnds(accessToken)
  })

  test('revokes a refresh token and its access tokens when its own client calls /oauth/revoke', async () => {
    const { accessToken, refreshToken } = await signIn()
    const { client } = await serverUser()
    for (const other of [client, { client_id: 'cli' }]) {
      const refused = await revoke({ ...other, token: refreshToken })
      assert.deepEqual([refused.status, (refused.body as { error: string }).error], [400, 'unauthorized_client'])
    }
    await assertValid(accessToken)
    assert.equal((await revoke({ client_id: 'console', token: refreshToken })).status, 200)
    await assertEnds(accessToken)
    assert.equal((await refresh(hub, refreshToken)).body.error, 'invalid_grant')
  })

  test('revokes one access token of a service account with /oauth/revoke, after client authentication', async () => {
    const { client, token } = await serverUser()
    const other = await tokenOf(client)
    assert.equal((await revoke({ client_id: client.client_id, token })).status, 401)
    assert.equal((await revoke({ ...client, client_secret: 'wrong', token })).status, 401)
    assert.equal((await revoke({ client_id: 'console', token })).status, 400)
    await assertValid(token)
    assert.equal((await revoke({ ...client, token })).status, 200)
    await assertEnds(token)
    await assertValid(other)
    for (const unknown of ['nonsense', token, `${'0'.repeat(32)}.${'a'.repeat(43)}`])
      assert.equal((await revoke({ ...client, token: unknown })).status, 200, 'a token that is not valid is no error')
    assert.equal((await revoke(client)).status, 400)
  })

  test('lets a service account introspect its own tokens, and all tokens of the tenant with glb_access_manage', async () => {
    const { client } = await serverUser('administrator')
    const { client: powerless, token, id } = await serverUser()
    const introspect = async (caller: Record<string, string>, about: string) => {
      const { status, body } = await postForm(hub, '/oauth/introspect', { form: { ...caller, token: about } })
      return { status, body: body as Record<string, unknown> }
    }
    const { status, body } = await introspect(client, token)
    assert.equal(status, 200)
    assert.deepEqual(
      [body.active, body.sub, body.client_id, body.token_type, body.tenant],
      [true, id, powerless.client_id, 'Bearer', hub.tenant.tenantId],
    )
    const { refreshToken, accessToken } = await signIn()
    assert.equal((await introspect(client, refreshToken)).body.active, true)
    const { auth_time: time, amr } = (await introspect(client, accessToken)).body
    assert.deepEqual([typeof time, amr], ['number', ['pwd']])

    assert.deepEqual((await introspect(powerless, token)).body, body, 'the own token needs no permission')
    const { token: another } = await serverUser()
    for (const hidden of [another, refreshToken, 'nonsense'])
      assert.deepEqual(await introspect(powerless, hidden), { status: 200, body: { active: false } })

    const other = await hub.anotherTenant()
    const foreign = await hub.as('administrator', { tenant: other })
    await revoke({ ...powerless, token })
    for (const inactive of ['nonsense', foreign.token, token])
      assert.deepEqual((await introspect(client, inactive)).body, { active: false })
    assert.deepEqual((await introspect(powerless, token)).body, { active: false }, 'the own token was revoked')
    assert.equal((await introspect({ client_id: 'console' }, token)).status, 401)
    assert.equal((await introspect({ ...client, client_secret: 'wrong' }, token)).status, 401)
  })

  test('ends an event stream when its token is revoked', async () => {
    const { client, token } = await serverUser('administrator')
    const headers = { authorization: `Bearer ${token}` }
    const stream = hub.request({ method: 'GET', path: '/events/v1/stream', headers })
    assert.equal((await revoke({ ...client, token })).status, 200)
    const { status, text } = await stream
    assert.ok(status === 401 || text.includes('revoked'), text)
  })

  test('lists the revocation and introspection endpoints in the metadata document', async () => {
    const { body } = await hub.request({ method: 'GET', path: '/.well-known/oauth-authorization-server' })
    const { revocation_endpoint, introspection_endpoint, issuer } = body as Record<string, string>
    assert.deepEqual(
      [revocation_endpoint, introspection_endpoint],
      [`${issuer}/oauth/revoke`, `${issuer}/oauth/introspect`],
    )
  })

  test('refuses a replayed assertion or proof of a gateway in every process, and an assertion valid for an hour', async () => {
    const { clientId, key, token } = await enrolledGateway(hub, admin, { name: `gateway ${++names}` })
    const assertion = await assertionOf(hub, { clientId, key })
    assert.equal((await askWithAssertion(hub, assertion)).status, 200)
    for (const process of [hub, elsewhere]) {
      const replayed = await askWithAssertion(process, assertion)
      assert.match((replayed.body as { error_description: string }).error_description, /already used/)
    }
    const long = await new SignJWT({})
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(hub.context.settings.baseUrl)
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key.privateKey)
    assert.equal((await askWithAssertion(elsewhere, long)).status, 401)

    const request = { method: 'GET', path: '/gatekeeper/v1/jobs?limit=1' }
    const dpop = await proofFor(hub, { ...request, token, key })
    const headers = { authorization: `Bearer ${token}`, dpop }
    assert.equal((await hub.request({ ...request, headers })).status, 200)
    for (const process of [hub, elsewhere]) {
      const replayed = await process.request({ ...request, headers })
      assert.equal(replayed.status, 401)
      assert.match(replayed.text, /already used/)
    }
  })

  test('records refused reads in the audit trail only for credentials and accounts', async () => {
    const caller = await hub.as(undefined)
    for (const path of ['/credentials/v2/instances', '/iam/v1/users', '/audit/v1/entries']) {
      const headers = { authorization: `Bearer ${caller.token}` }
      assert.equal((await hub.request({ method: 'GET', path, headers })).status, 403, path)
    }
    const actions = async () => {
      const { data } = await admin.audit.listEntries({ query: { principal: caller.principalId } })
      return data.filter(({ outcome }) => outcome === 'denied').map(({ action }) => action)
    }
    const deadline = performance.now() + 120_000
    while ((await actions()).length < 2) assert.ok(performance.now() < deadline, 'the entries do not appear')
    assert.deepEqual((await actions()).toSorted(), ['credentials.listInstances', 'identity.listUsers'])
  })
})

/** Returns a new authorization code of a browser that is signed in. */
async function silentCode(hub: TestHub, browser: Browser) {
  const { verifier, challenge } = proofKey()
  const back = await browser.open(authorizePath(hub, { code_challenge: challenge }))
  const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''
  return { code, code_verifier: verifier }
}
