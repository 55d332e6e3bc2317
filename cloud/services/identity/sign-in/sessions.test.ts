import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, Browser, person, refresh, signInWith } from '../testing.ts'
import { sessionLimits } from './session-limits.ts'

const firefox = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0' }
const cli = { client_id: 'cli', redirect_uri: 'http://127.0.0.1:8123/callback' }
const office = '192.0.2.10'
const elsewhere = '203.0.113.77'

type Place = { headers?: Record<string, string>; from?: string; parameters?: Record<string, string> }

/** Signs a user in with a new browser. */
async function signInFrom(hub: TestHub, signInName: string, place: Place = {}) {
  const browser = new Browser(hub)
  const tokens = await signInWith(hub, browser, { signInName, headers: firefox, from: office, ...place })
  return { ...tokens, browser, caller: hub.withToken(tokens.accessToken) }
}

/** Changes the sessions of the tenant in the database, as if time had passed. */
/** Changes one session, or all sessions of the tenant. */
async function setSessions(hub: TestHub, change: string, sid: string | null = null): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query(`update sessions set ${change} where tenant_id = $1 and ($2::uuid is null or id = $2)`, [
      hub.tenant.tenantId,
      sid,
    ]),
  )
}

async function setPolicy(hub: TestHub, data: { idleMinutes?: number; absoluteHours?: number }): Promise<void> {
  const admin = await hub.as('administrator')
  await admin.identity.updateSignInPolicy({ body: { data } })
}

const statusOf = async (hub: TestHub, token: string) =>
  (await hub.request({ method: 'GET', path: '/iam/v1/sessions', headers: { authorization: `Bearer ${token}` } })).status

test('lists the sessions of the caller with program, device, address and times', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const joe = await person(hub, 'joe', 'viewer')
  const first = await signInFrom(hub, jane.signInName)
  const second = await signInFrom(hub, jane.signInName, { parameters: cli })
  await signInFrom(hub, joe.signInName)

  const { data, meta } = await first.caller.identity.listSessions({})
  assert.equal(meta.totalElements, 2)
  const byClient = new Map(data.map((session) => [session.client, session]))
  const current = byClient.get('console')
  assert.equal(current?.id, decodeJwt(first.accessToken).sid)
  assert.equal(byClient.get('cli')?.id, decodeJwt(second.accessToken).sid)
  assert.deepEqual(
    [current?.device, current?.address, current?.provider, current?.methods, current?.isCurrent],
    ['Firefox on Windows', office, null, ['pwd'], true],
  )
  assert.deepEqual(
    [byClient.get('cli')?.device, byClient.get('cli')?.isCurrent],
    ['millwright command line on Windows', false],
  )
  const lifetime = Date.parse(current?.expiresTimestamp ?? '') - Date.parse(current?.createdTimestamp ?? '')
  assert.equal(lifetime, 720 * 3_600_000)
  const paged = await first.caller.identity.listSessions({ query: { limit: 1, offset: 1 } })
  assert.deepEqual([paged.data.length, paged.meta.totalElements], [1, 2])
})

test('ends one session, and refuses its access token and refresh token at once', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const laptop = await signInFrom(hub, jane.signInName)
  const tablet = await signInFrom(hub, jane.signInName)
  const id = String(decodeJwt(tablet.accessToken).sid)
  await laptop.caller.identity.deleteSession({ params: { id } })

  assert.equal(await statusOf(hub, tablet.accessToken), 401)
  assert.equal((await refresh(hub, tablet.refreshToken)).body.error, 'invalid_grant')
  assert.equal((await tablet.browser.open(authorizePath(hub))).status, 200, 'the form is shown')
  assert.equal(await statusOf(hub, laptop.accessToken), 200)
  await assert.rejects(laptop.caller.identity.deleteSession({ params: { id } }), { code: 'not_found' })
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.deleteSession' } })
  assert.deepEqual(
    data.map(({ target, detail }) => [target, detail.session, detail.device]),
    [[`user/${jane.id}`, id, 'Firefox on Windows']],
  )
})

test('ends a session in every process within a second', async () => {
  await using hub = await testHub()
  await using other = await hub.sibling()
  const jane = await person(hub, 'jane', 'viewer')
  const [laptop, tablet] = [await signInFrom(hub, jane.signInName), await signInFrom(hub, jane.signInName)]
  assert.equal(await statusOf(other, tablet.accessToken), 200)
  await laptop.caller.identity.deleteSession({ params: { id: String(decodeJwt(tablet.accessToken).sid) } })
  const deadline = performance.now() + 120_000
  while ((await statusOf(other, tablet.accessToken)) !== 401) {
    assert.ok(performance.now() < deadline, 'the other process still accepts the token')
    await delay(5)
  }
})

test('does not show or end sessions of other users', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const joe = await person(hub, 'joe', 'viewer')
  const hers = await signInFrom(hub, jane.signInName)
  const his = await signInFrom(hub, joe.signInName)
  const id = String(decodeJwt(hers.accessToken).sid)
  await assert.rejects(his.caller.identity.deleteSession({ params: { id } }), { code: 'not_found' })
  await assert.rejects(his.caller.identity.confirmSession({ params: { id } }), { code: 'not_found' })
  await assert.rejects(his.caller.identity.listUserSessions({ params: { id: jane.id } }), { code: 'forbidden' })
  await assert.rejects(his.caller.identity.deleteUserSessions({ params: { id: jane.id } }), { code: 'forbidden' })
  await his.caller.identity.deleteSessions({})
  assert.equal(await statusOf(hub, hers.accessToken), 200)
})

test('signs out everywhere, with or without the current session', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const [one, two, three] = [
    await signInFrom(hub, jane.signInName),
    await signInFrom(hub, jane.signInName),
    await signInFrom(hub, jane.signInName, { parameters: cli }),
  ]
  const statuses = () => Promise.all([one, two, three].map(({ accessToken }) => statusOf(hub, accessToken)))
  await one.caller.identity.deleteSessions({ query: { keepCurrent: true } })
  assert.deepEqual(await statuses(), [200, 401, 401])
  assert.equal((await refresh(hub, three.refreshToken, { client_id: 'cli' })).body.error, 'invalid_grant')
  await one.caller.identity.deleteSessions({})
  assert.deepEqual(await statuses(), [401, 401, 401])
  assert.equal((await refresh(hub, one.refreshToken)).body.error, 'invalid_grant')
})

test('lets an administrator list and end the sessions of a user with fewer permissions only', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const boss = await person(hub, 'boss', 'administrator')
  const hers = await signInFrom(hub, jane.signInName)
  const theirs = await signInFrom(hub, boss.signInName)
  const admin = await hub.as('administrator')
  await admin.authorization.createRole({ body: { data: { name: 'helpdesk', permissions: ['glb_access_manage'] } } })
  const helpdesk = await hub.as('helpdesk')

  const { data } = await admin.identity.listUserSessions({ params: { id: jane.id } })
  assert.deepEqual(
    data.map(({ id, isCurrent }) => [id, isCurrent]),
    [[decodeJwt(hers.accessToken).sid, false]],
  )
  await assert.rejects(helpdesk.identity.deleteUserSessions({ params: { id: boss.id } }), { code: 'would_escalate' })
  assert.equal(await statusOf(hub, theirs.accessToken), 200)
  await admin.identity.deleteUserSessions({ params: { id: jane.id } })
  assert.equal(await statusOf(hub, hers.accessToken), 401)
  const missing = { params: { id: '00000000-0000-7000-8000-000000000000' } }
  await assert.rejects(admin.identity.listUserSessions(missing), { code: 'not_found' })
  await assert.rejects(admin.identity.deleteUserSessions(missing), { code: 'not_found' })
})

test('ends a session that was not used for the idle limit', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  await setPolicy(hub, { idleMinutes: 30 })
  const { accessToken, refreshToken, browser, caller } = await signInFrom(hub, jane.signInName)
  const { exp = 0, iat = 0 } = decodeJwt(accessToken)
  assert.ok(exp - iat <= 30 * 60, 'the access token lives at most as long as the idle limit')

  await setSessions(hub, `last_used_at = now() - interval '29 minutes'`)
  const next = await refresh(hub, refreshToken)
  assert.equal(next.status, 200)
  // Without the use of the session, the token would end after one minute. Seconds can pass while the token is created.
  const expiresIn = Number(next.body.expires_in)
  assert.ok(expiresIn > 28 * 60 && expiresIn <= 30 * 60, `${expiresIn} s`)
  await setSessions(hub, `last_used_at = now() - interval '31 minutes'`)
  assert.equal((await refresh(hub, next.body.refresh_token ?? '')).body.error, 'invalid_grant')
  assert.equal((await browser.open(authorizePath(hub))).status, 200, 'the form is shown')
  assert.deepEqual((await caller.identity.listSessions({})).data, [])
})

test('ends a session at the absolute limit even if it is used', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  await setPolicy(hub, { absoluteHours: 8 })
  const { refreshToken, browser } = await signInFrom(hub, jane.signInName)
  await setSessions(
    hub,
    `created_at = now() - interval '7 hours 50 minutes', expires_at = now() + interval '10 minutes'`,
  )
  const next = await refresh(hub, refreshToken)
  assert.ok(Number(next.body.expires_in) <= 600, 'the access token ends with the session')
  await setSessions(hub, `created_at = now() - interval '8 hours 1 minute'`)
  assert.equal((await refresh(hub, next.body.refresh_token ?? '')).body.error, 'invalid_grant')
  assert.equal((await browser.open(authorizePath(hub))).status, 200, 'the form is shown')
})

test('applies a shorter policy to existing sessions at once', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const [old, recent] = [await signInFrom(hub, jane.signInName), await signInFrom(hub, jane.signInName)]
  const sid = String(decodeJwt(old.accessToken).sid)
  await setSessions(hub, `last_used_at = now() - interval '2 hours'`, sid)
  assert.equal(await statusOf(hub, old.accessToken), 200)
  await setPolicy(hub, { idleMinutes: 60 })
  assert.equal(await statusOf(hub, old.accessToken), 401)
  assert.equal((await refresh(hub, old.refreshToken)).body.error, 'invalid_grant')
  assert.equal(await statusOf(hub, recent.accessToken), 200)
})

test('stores the use of a session at most once a minute, with the last address', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const { caller, refreshToken } = await signInFrom(hub, jane.signInName)
  const current = async () => (await caller.identity.listSessions({})).data[0]
  const before = await current()
  const first = await refresh(hub, refreshToken)
  assert.equal((await current())?.lastUseTimestamp, before?.lastUseTimestamp)
  await setSessions(hub, `last_used_at = now() - interval '2 minutes'`)
  await refresh(hub, first.body.refresh_token ?? '')
  const after = await current()
  assert.ok(Date.parse(after?.lastUseTimestamp ?? '') >= Date.parse(before?.lastUseTimestamp ?? ''))
  assert.notEqual(after?.address, office)
})

test('marks a sign-in with a new device and network until the user confirms it from a known device', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const home = await signInFrom(hub, jane.signInName)
  const same = await signInFrom(hub, jane.signInName)
  const foreign = await signInFrom(hub, jane.signInName, { from: elsewhere })
  const unfamiliar = async () =>
    (await home.caller.identity.listSessions({})).data.filter(({ isUnfamiliar }) => isUnfamiliar).map(({ id }) => id)
  const id = String(decodeJwt(foreign.accessToken).sid)
  assert.deepEqual(await unfamiliar(), [id])
  assert.notEqual(decodeJwt(same.accessToken).sid, id)

  // The new session must not hide itself.
  await assert.rejects(foreign.caller.identity.confirmSession({ params: { id } }), { code: 'conflict' })
  const again = await signInFrom(hub, jane.signInName, { from: elsewhere })
  assert.equal((await unfamiliar()).length, 2, 'an unconfirmed device stays unknown')

  await home.caller.identity.confirmSession({ params: { id } })
  await home.caller.identity.confirmSession({ params: { id: String(decodeJwt(again.accessToken).sid) } })
  await signInFrom(hub, jane.signInName, { from: elsewhere })
  assert.deepEqual(await unfamiliar(), [])
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.signIn' } })
  assert.deepEqual(
    data.map(({ detail }) => detail.unfamiliar === true),
    [false, true, true, false, false],
  )
})

test('marks a sign-in with another browser in a known network', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const { caller } = await signInFrom(hub, jane.signInName)
  const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
  await signInFrom(hub, jane.signInName, { headers: { 'user-agent': chrome } })
  const newerFirefox = { 'user-agent': firefox['user-agent'].replaceAll('132', '133') }
  await signInFrom(hub, jane.signInName, { headers: newerFirefox })
  const { data } = await caller.identity.listSessions({})
  assert.deepEqual(
    data.filter(({ isUnfamiliar }) => isUnfamiliar).map(({ device }) => device),
    ['Chrome on Linux'],
  )
})

test('lets the user confirm the only session', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const home = await signInFrom(hub, jane.signInName)
  await home.caller.identity.deleteSessions({})
  const { caller } = await signInFrom(hub, jane.signInName, { from: elsewhere })
  const [session] = (await caller.identity.listSessions({})).data
  assert.equal(session?.isUnfamiliar, true)
  await caller.identity.confirmSession({ params: { id: session?.id ?? '' } })
  assert.equal((await caller.identity.listSessions({})).data[0]?.isUnfamiliar, false)
})

test('ends the sessions that were not used for the longest time when a user has too many', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const first = await signInFrom(hub, jane.signInName)
  await hub.asOwner((owner) =>
    owner.query(
      `insert into sessions (tenant_id, id, hash, principal_id, expires_at, last_used_at)
       select tenant_id, gen_random_uuid(), sha256(n::text::bytea), principal_id, expires_at, now() + interval '1 second'
       from sessions, generate_series(1, $2) as n where tenant_id = $1`,
      [hub.tenant.tenantId, sessionLimits.perUser - 1],
    ),
  )
  assert.equal(await statusOf(hub, first.accessToken), 200)
  await setSessions(hub, `last_used_at = now() - interval '1 hour'`, String(decodeJwt(first.accessToken).sid))
  const last = await signInFrom(hub, jane.signInName)
  assert.equal(await statusOf(hub, first.accessToken), 401)
  const { meta } = await last.caller.identity.listSessions({})
  assert.equal(meta.totalElements, sessionLimits.perUser)
})

test('stores the start of a long User-Agent header', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const { caller } = await signInFrom(hub, jane.signInName, { headers: { 'user-agent': `${'é'.repeat(2_000)}` } })
  const [session] = (await caller.identity.listSessions({})).data
  assert.equal(session?.device.length, 60)
})

test('returns 404 for the sessions of a service account', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const { data: robot } = await admin.identity.createServerUser({ body: { data: { name: 'robot' } } })
  await assert.rejects(admin.identity.listUserSessions({ params: { id: robot.id } }), { code: 'not_found' })
})
