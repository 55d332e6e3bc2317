import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import {
  authorizePath,
  freezeClock,
  person,
  proofKey,
  refresh,
  requestToken,
  rightPassword,
  signedIn,
  signInWith,
} from '../testing.ts'

test('accepts an authorization code once, and revokes its tokens when it is used again', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { exchange, refreshToken, status } = await signedIn(hub, jane.signInName)
  assert.equal(status, 200)

  const second = await requestToken(hub, exchange)
  assert.deepEqual([second.status, second.body.error], [400, 'invalid_grant'])
  assert.equal((await refresh(hub, refreshToken)).body.error, 'invalid_grant')
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.token', outcome: 'denied' } })
  assert.deepEqual(
    data.map(({ target, detail }) => [target, detail.reason]),
    [[`user/${jane.id}`, 'used_twice']],
  )
})

test('issues tokens to only one of many concurrent requests with the same authorization code', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { exchange } = await unusedCode(hub, jane.signInName)
  const answers = await Promise.all(Array.from({ length: 8 }, () => requestToken(hub, exchange)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
})

/** Returns an unused authorization code of a browser that is signed in. */
async function unusedCode(hub: TestHub, signInName: string) {
  const { browser, exchange } = await signedIn(hub, signInName)
  const { verifier, challenge } = proofKey()
  const back = await browser.open(authorizePath(hub, { code_challenge: challenge }))
  const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''
  return { browser, exchange: { ...exchange, code, code_verifier: verifier } }
}

test('refuses an authorization code for another client or redirect address without invalidating it', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { exchange } = await unusedCode(hub, jane.signInName)
  const wrong = [
    { client_id: 'cli' },
    { redirect_uri: `${hub.context.settings.baseUrl}/` },
    { code: `${exchange.code.slice(0, -1)}${exchange.code.endsWith('A') ? 'B' : 'A'}` },
    { code: `${'0'.repeat(32)}.${exchange.code.slice(33)}` },
    { code: 'nonsense' },
  ]
  for (const change of wrong) {
    const refused = await requestToken(hub, { ...exchange, ...change })
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant'], JSON.stringify(Object.keys(change)))
  }
  for (const missing of ['redirect_uri', 'code_verifier', 'code', 'client_id']) {
    const refused = await requestToken(hub, { ...exchange, [missing]: '' })
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_request'], missing)
  }
  assert.equal((await requestToken(hub, exchange)).status, 200)
})

test('refuses an authorization code after one minute', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { exchange } = await unusedCode(hub, jane.signInName)
  const seconds = await hub.asOwner(async (owner) => {
    const values = [hub.tenant.tenantId]
    const { rows } = await owner.query<{ seconds: number }>(
      `select extract(epoch from expires_at - now())::float8 as seconds from authorization_codes
       where tenant_id = $1 and used_at is null`,
      values,
    )
    await owner.query('update authorization_codes set expires_at = now() where tenant_id = $1', values)
    return rows[0]?.seconds ?? 0
  })
  assert.ok(seconds > 50 && seconds <= 60)
  assert.equal((await requestToken(hub, exchange)).body.error, 'invalid_grant')
})

test('accepts a refresh token once, and revokes its token family when it is used again', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe', 'viewer')
  const { refreshToken: first } = await signedIn(hub, jane.signInName)
  const second = (await refresh(hub, first)).body.refresh_token ?? ''
  const third = (await refresh(hub, second)).body.refresh_token ?? ''
  assert.equal(new Set([first, second, third]).size, 3)

  assert.equal((await refresh(hub, first)).body.error, 'invalid_grant')
  assert.equal((await refresh(hub, third)).body.error, 'invalid_grant')
})

test('revokes only the token family of a stolen refresh token', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const one = await signedIn(hub, jane.signInName)
  const other = await signInWith(hub, one.browser, { signInName: jane.signInName })
  await refresh(hub, one.refreshToken)
  await refresh(hub, one.refreshToken)
  assert.equal((await refresh(hub, other.refreshToken)).status, 200)
})

test('refuses a refresh token of another client', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { refreshToken } = await signedIn(hub, jane.signInName)
  assert.equal((await refresh(hub, refreshToken, { client_id: 'cli' })).body.error, 'invalid_grant')
  assert.equal((await refresh(hub, refreshToken, { client_secret: 'x' })).body.error, 'invalid_client')
  assert.equal((await refresh(hub, refreshToken)).status, 200)
})

test('issues refreshed tokens with the currently granted roles, within the requested scope', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe', 'viewer')
  const admin = await hub.as('administrator')
  await admin.authorization.createGrant({ body: { data: { principal: jane.id, role: 'operator' } } })
  const rolesOf = (token: string | undefined) => decodeJwt(token ?? '').roles

  const narrow = await signedIn(hub, jane.signInName, { scope: 'viewer operator' })
  const wide = await signedIn(hub, jane.signInName)
  assert.deepEqual(rolesOf(narrow.accessToken), ['viewer', 'operator'])
  const less = await refresh(hub, narrow.refreshToken, { scope: 'viewer' })
  assert.deepEqual([rolesOf(less.body.access_token), less.body.scope], [['viewer'], 'viewer'])

  await admin.authorization.createGrant({ body: { data: { principal: jane.id, role: 'supervisor' } } })
  const { data: grants } = await admin.authorization.listGrants({ query: { principal: jane.id, role: 'operator' } })
  await admin.authorization.deleteGrant({ params: { id: grants[0]?.id ?? '' } })
  const refused = await refresh(hub, less.body.refresh_token ?? '', { scope: 'supervisor' })
  assert.equal(refused.body.error, 'invalid_scope')
  const narrowAgain = await refresh(hub, less.body.refresh_token ?? '')
  assert.deepEqual(rolesOf(narrowAgain.body.access_token), ['viewer'], 'refusing a scope has not used the token up')
  const wideAgain = await refresh(hub, wide.refreshToken)
  assert.deepEqual(rolesOf(wideAgain.body.access_token), ['supervisor', 'viewer'])
})

test('expires a refresh token twelve hours after its last use, and its family after thirty days', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { refreshToken } = await signedIn(hub, jane.signInName)
  const lifetimes = async () =>
    hub.asOwner(async (owner) => {
      const { rows } = await owner.query<{ idle: number; family: number }>(
        `select extract(epoch from expires_at - now())::float8 / 3600 as idle,
                extract(epoch from family_expires_at - now())::float8 / 86400 as family
         from refresh_tokens where tenant_id = $1 and used_at is null`,
        [hub.tenant.tenantId],
      )
      return rows.map(({ idle, family }) => [Math.round(idle), Math.round(family)])
    })
  assert.deepEqual(await lifetimes(), [[12, 30]])

  await setRefreshTokens(hub, `family_expires_at = now() + interval '2 hours'`)
  const next = (await refresh(hub, refreshToken)).body.refresh_token ?? ''
  assert.deepEqual(await lifetimes(), [[2, 0]], 'never longer than its family')
  await setRefreshTokens(hub, 'expires_at = now()')
  assert.equal((await refresh(hub, next)).body.error, 'invalid_grant')
})

async function setRefreshTokens(hub: TestHub, change: string): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query(`update refresh_tokens set ${change} where tenant_id = $1`, [hub.tenant.tenantId]),
  )
}

test('prunes only expired authorization codes and refresh tokens', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { refreshToken } = await signedIn(hub, jane.signInName)
  await signedIn(hub, jane.signInName)
  const count = () =>
    hub.asOwner(async (owner) => {
      const { rows } = await owner.query<{ counts: number[] }>(
        `select array[(select count(*) from sessions where tenant_id = $1),
                      (select count(*) from authorization_codes where tenant_id = $1),
                      (select count(*) from refresh_tokens where tenant_id = $1)]::int[] as counts`,
        [hub.tenant.tenantId],
      )
      return rows[0]?.counts
    })
  const before = await refresh(hub, refreshToken)
  assert.deepEqual(await count(), [2, 2, 3])
  await hub.asOwner(async (owner) => {
    const values = [hub.tenant.tenantId]
    await owner.query('update authorization_codes set expires_at = now() where tenant_id = $1', values)
    await owner.query(
      'update refresh_tokens set expires_at = now() where tenant_id = $1 and used_at is not null',
      values,
    )
  })
  await hub.settle()
  assert.deepEqual(await count(), [2, 0, 2])
  assert.equal((await refresh(hub, before.body.refresh_token ?? '')).status, 200)
})

test("changes the caller's password only with the current password, and ends all other sessions", async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const here = await signedIn(hub, jane.signInName)
  const there = await signedIn(hub, jane.signInName)
  const self = hub.withToken(here.accessToken)
  const newPassword = `another ${rightPassword}`
  const change = (data: { currentPassword: string; newPassword: string }) =>
    self.identity.changePassword({ body: { data } })

  await assert.rejects(change({ currentPassword: 'wrong', newPassword }), { code: 'wrong_password' })
  await assert.rejects(change({ currentPassword: rightPassword, newPassword: 'short' }), { code: 'weak_password' })
  await assert.rejects(change({ currentPassword: rightPassword, newPassword: rightPassword }), {
    code: 'weak_password',
  })
  await assert.rejects(change({ currentPassword: rightPassword, newPassword: `${jane.name} and more` }), {
    code: 'weak_password',
  })
  assert.equal((await refresh(hub, there.refreshToken)).status, 200, 'nothing has happened yet')

  await change({ currentPassword: rightPassword, newPassword })
  assert.equal((await there.browser.open(authorizePath(hub))).status, 200, 'the other browser is signed out')
  assert.equal((await here.browser.open(authorizePath(hub))).status, 302, 'this browser is not')
  assert.equal((await refresh(hub, here.refreshToken)).status, 200)
  await change({ currentPassword: newPassword, newPassword: rightPassword })
})

test('delays password changes after wrong guesses of the current password', async (t) => {
  freezeClock(t)
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { accessToken } = await signedIn(hub, jane.signInName)
  const self = hub.withToken(accessToken)
  const guess = (currentPassword: string) =>
    self.identity.changePassword({ body: { data: { currentPassword, newPassword: `another ${rightPassword}` } } })
  for (let i = 0; i < 6; i++) await assert.rejects(guess(`wrong ${i}`), { code: 'wrong_password' })
  await assert.rejects(guess(rightPassword), { code: 'too_many_requests' })
})

test('ends all sessions of a user when an administrator sets the password or disables the user', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  for (const change of [{ password: `another ${rightPassword}` }, { disabled: true }]) {
    const name = `p-${Object.keys(change)[0]}`
    const user = await person(hub, name, 'viewer')
    const { browser, refreshToken } = await signedIn(hub, user.signInName)
    await admin.identity.updateUser({ params: { id: user.id }, body: { data: change } })
    assert.equal((await browser.open(authorizePath(hub))).status, 200, name)
    assert.equal((await refresh(hub, refreshToken)).body.error, 'invalid_grant', name)
  }
})
