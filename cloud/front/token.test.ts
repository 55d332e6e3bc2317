import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import type { TokenClaims } from '@millwright/api/token.ts'
import fc from 'fast-check'
import { exportSPKI, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import { changeAccess, deletePrincipal, updatePrincipal } from '../platform/access/store.ts'
import { limits } from '../platform/limits.ts'
import { resumeTenant, suspendTenant } from '../platform/tenants/tenants.ts'
import { type TestCaller, type TestHub, testHub } from '../platform/testing/hub.ts'
import { claimsFor } from '../services/identity/oauth/access-token.ts'

describe('access token', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('accepts a valid access token', async () => {
    assert.equal((await ask(await signed({}))).status, 200)
    assert.equal((await ask(admin.token)).status, 200)
  })

  const hour = 3600
  const now = () => Math.floor(Date.now() / 1000)
  const refusals: Record<string, () => Promise<string> | string> = {
    'that has expired': () => signed({ iat: now() - 2 * hour, exp: now() - hour }),
    'that is not valid yet': () => signed({ nbf: now() + hour } as Partial<TokenClaims>),
    'for another audience': () => signed({ aud: 'somebody-else' as TokenClaims['aud'] }),
    'of another issuer': () => signed({ iss: 'https://elsewhere.example' }),
    'without an expiry': () => signed({ exp: undefined as never }),
    'without a tenant': () => signed({ tenant: undefined as never }),
    'of a tenant that does not exist': () => signed({ tenant: '01980000-0000-7000-8000-00000000ffff' }),
    'of a principal that does not exist': () => signed({ sub: '01980000-0000-7000-8000-00000000ffff' }),
    'whose tenant is not a UUID': () => signed({ tenant: "' or true --" }),
    'whose principal is not a UUID': () => signed({ sub: "' or true --" }),
    'without a signature (alg none)': () => new UnsecuredJWT(claims({})).encode(),
    'signed with HMAC and the public key of the platform': hmacWithPublicKey,
    'signed with an unknown key': () => signedByStranger('no-such-key'),
    'with the key id of the platform but signed with another key': () => signedByStranger(),
    'of another type, signed with the key of the platform': () => signed({}, { typ: 'JWT' }),
    'without a key id': () => signed({}, { kid: undefined }),
    'that is truncated': async () => (await signed({})).slice(0, -20),
    'without its signature part': async () => (await signed({})).split('.').slice(0, 2).join('.'),
    'whose claims were changed': changedClaims,
    'that is empty': () => '',
    'that is not a JWT': () => 'hello',
    'of 100 kB': () => `${'a'.repeat(50_000)}.${'b'.repeat(50_000)}.c`,
    'that is one byte longer than the limit': () => 'a'.repeat(limits.tokenBytes + 1),
  }

  for (const [what, make] of Object.entries(refusals)) {
    test(`returns 401 for a token ${what}`, async () => {
      const answer = await ask(await make())
      assert.equal(answer.status, 401)
      const problem = answer.body as ProblemDocument
      assert.equal(problem.code, 'unauthenticated')
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
      assert.match(problem.detail, /\S/)
    })
  }

  test('returns 401 for a token with an Authorization scheme other than Bearer', async () => {
    for (const scheme of ['Basic', 'Peer', 'peer', 'Token', '']) {
      const answer = await hub.request({
        method: 'GET',
        path: '/authorization/v1/rights',
        headers: { authorization: `${scheme} ${admin.token}`.trim() },
      })
      assert.equal(answer.status, 401, scheme)
    }
  })

  test('returns 401, never 5xx, for random text as a token', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ maxLength: 200, unit: fc.mapToConstant({ num: 94, build: (v) => String.fromCharCode(33 + v) }) }),
        async (text) => {
          assert.equal((await ask(text)).status, 401)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('refuses an access token as soon as its principal is disabled', async () => {
    const victim = await hub.as('viewer')
    assert.equal((await ask(victim.token)).status, 200)
    await hub.context.database.transaction(hub.tenant, async (tx) => {
      await changeAccess(tx)
      await updatePrincipal(tx, victim.principalId, { disabled: true })
    })
    await refusedSoon(victim.token)
  })

  test('refuses an access token once its principal is deleted', async () => {
    const victim = await hub.as('viewer')
    assert.equal((await ask(victim.token)).status, 200)
    await hub.context.database.transaction(hub.tenant, async (tx) => {
      await changeAccess(tx)
      await deletePrincipal(tx, victim.principalId)
    })
    await refusedSoon(victim.token)
  })

  test('refuses an access token while its tenant is suspended, and accepts it afterwards', async () => {
    const tenant = await hub.anotherTenant()
    const caller = await hub.as('administrator', { tenant })
    assert.equal((await ask(caller.token)).status, 200)
    await hub.asOwner((owner) => suspendTenant(owner, tenant.name))
    await eventually(async () => ((await ask(caller.token)).body as ProblemDocument).code === 'tenant_suspended')
    await hub.asOwner((owner) => resumeTenant(owner, tenant.name))
    await eventually(async () => (await ask(caller.token)).status === 200)
  })

  test('limits an access token to the permissions that both its roles and the current grants contain', async () => {
    const both = await hub.as('administrator')
    const narrowed = await hub.tokenFor(both.principalId, { roles: ['viewer'] })
    const answer = await hub.request({
      method: 'GET',
      path: '/iam/v1/users',
      headers: { authorization: `Bearer ${narrowed}` },
    })
    assert.equal(answer.status, 403)
  })

  function ask(token: string) {
    return hub.request({
      method: 'GET',
      path: '/authorization/v1/rights',
      headers: { authorization: `Bearer ${token}` },
    })
  }

  async function refusedSoon(token: string): Promise<void> {
    await eventually(async () => (await ask(token)).status === 401)
  }

  function claims(changed: Partial<TokenClaims>): Record<string, unknown> {
    const bearer = {
      tenant: { id: hub.tenant.tenantId, name: hub.tenant.name },
      principal: { id: admin.principalId, kind: 'user' as const },
      clientId: 'console',
      roles: ['administrator'],
    }
    return JSON.parse(JSON.stringify({ ...claimsFor(bearer, hub.context.settings, new Date()), ...changed }))
  }

  async function signed(
    changed: Partial<TokenClaims>,
    header: { typ?: string; kid?: string | undefined } = {},
  ): Promise<string> {
    const { kid, privateKey } = await hub.keys.signing()
    const given = JSON.parse(
      JSON.stringify({
        alg: 'ES256',
        typ: 'at+jwt',
        kid,
        ...header,
        ...('kid' in header ? { kid: header.kid ?? null } : {}),
      }),
    )
    if (given.kid === null) delete given.kid
    return new SignJWT(claims(changed)).setProtectedHeader(given).sign(privateKey)
  }

  async function signedByStranger(name?: string): Promise<string> {
    const { privateKey } = await generateKeyPair('ES256')
    const kid = name ?? (await hub.keys.signing()).kid
    return new SignJWT(claims({})).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid }).sign(privateKey)
  }

  /**
   * Creates an access token for a known attack. The attacker signs it with the public key as a shared secret. A library
   * that lets the token choose the algorithm accepts it.
   */
  async function hmacWithPublicKey(): Promise<string> {
    const [jwk] = await hub.keys.published()
    assert.ok(jwk !== undefined)
    const { d: _, ...publicJwk } = jwk
    const key = createPublicKey({ key: publicJwk as never, format: 'jwk' })
    const pem = key.export({ type: 'spki', format: 'pem' }).toString()
    assert.equal(
      pem.trim(),
      (await exportSPKI((await importJWK(publicJwk, 'ES256', { extractable: true })) as CryptoKey)).trim(),
    )
    return new SignJWT(claims({}))
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: jwk.kid ?? '' })
      .sign(Buffer.from(pem))
  }

  async function changedClaims(): Promise<string> {
    const [header, , signature] = (await signed({})).split('.')
    const payload = Buffer.from(JSON.stringify(claims({ roles: ['administrator', 'everything'] }))).toString(
      'base64url',
    )
    return `${header}.${payload}.${signature}`
  }
})

/** Polls until the condition is true. It does not measure the time, because other tests do. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000
  while (!(await holds())) assert.ok(performance.now() < deadline, 'it never came')
}
