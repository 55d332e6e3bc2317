import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { codeOf, TwoStepSignIn } from '../factors/testing.ts'
import { authorizePath, freezeClock, person, refresh, signedIn } from '../testing.ts'

const defaults = { secondFactor: 'nobody', stepUp: [], stepUpMinutes: 15, idleMinutes: 720, absoluteHours: 720 }

const statusOf = async (hub: TestHub, token: string) =>
  (await hub.request({ method: 'GET', path: '/iam/v1/sessions', headers: { authorization: `Bearer ${token}` } })).status

test('reads and changes the policy, and records the change', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const viewer = await hub.as('viewer')
  assert.deepEqual((await viewer.identity.readSignInPolicy({})).data, defaults)
  const change = { stepUp: ['credentials' as const, 'access' as const], idleMinutes: 60 }
  const { data } = await admin.identity.updateSignInPolicy({ body: { data: change } })
  assert.deepEqual(data, { ...defaults, ...change })
  assert.deepEqual((await viewer.identity.readSignInPolicy({})).data, data)

  const { data: entries } = await admin.audit.listEntries({ query: { action: 'identity.updateSignInPolicy' } })
  assert.deepEqual(
    entries.map(({ principalName, detail }) => [principalName, detail]),
    [[entries[0]?.principalName, { before: defaults, after: data }]],
  )
  await assert.rejects(viewer.identity.updateSignInPolicy({ body: { data: { idleMinutes: 5 } } }), {
    code: 'forbidden',
  })
})

test('changes the policy only when If-Match has its current version', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const headers = { authorization: `Bearer ${admin.token}` }
  const read = async () =>
    (await hub.request({ method: 'GET', path: '/iam/v1/sign-in-policy', headers })).headers.get('etag') ?? ''
  const first = await read()
  const update = (etag: string, idleMinutes: number) =>
    admin.identity.updateSignInPolicy({ headers: { 'if-match': etag }, body: { data: { idleMinutes } } })
  await update(first, 60)
  await assert.rejects(update(first, 70), { code: 'precondition_failed' })
  await update(await read(), 80)
  assert.equal((await admin.identity.readSignInPolicy({})).data.idleMinutes, 80)
})

test('refuses values outside the limits, unknown actions and an empty change', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const wrong = [
    {},
    { idleMinutes: 4 },
    { absoluteHours: 8_761 },
    { stepUpMinutes: 0 },
    { stepUp: ['everything'] },
    { stepUp: ['access', 'access'] },
    { secondFactor: 'some' },
    { unknown: 1 },
  ]
  for (const data of wrong)
    await assert.rejects(
      admin.identity.updateSignInPolicy({ body: { data } } as never),
      { code: 'invalid_body' },
      JSON.stringify(data),
    )
  assert.deepEqual((await admin.identity.readSignInPolicy({})).data, defaults)
})

test('keeps the policies of two tenants separate', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  const admin = await hub.as('administrator')
  const stranger = await hub.as('administrator', { tenant: other })
  await admin.identity.updateSignInPolicy({ body: { data: { idleMinutes: 60 } } })
  assert.deepEqual((await stranger.identity.readSignInPolicy({})).data, defaults)
})

/** Adds an authenticator app to the account of the caller, and returns its secret. */
async function addApp(caller: ReturnType<TestHub['withToken']>): Promise<string> {
  const { data } = await caller.identity.startTotp({})
  await caller.identity.confirmTotp({ body: { data: { code: codeOf(data.secret, -1) } } })
  return data.secret
}

test('requires that the administrator has a second factor and used it before the policy requires it', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const boss = await person(hub, 'boss', 'administrator')
  const jane = await person(hub, 'jane', 'viewer')
  const { accessToken, refreshToken } = await signedIn(hub, boss.signInName)
  const hers = await signedIn(hub, jane.signInName)
  const caller = hub.withToken(accessToken)
  const requireOf = (secondFactor: 'administrators' | 'everyone') =>
    caller.identity.updateSignInPolicy({ body: { data: { secondFactor } } })
  await assert.rejects(requireOf('administrators'), { code: 'second_factor_required' })

  const secret = await addApp(hub.withToken((await signedIn(hub, boss.signInName)).accessToken))
  await assert.rejects(requireOf('administrators'), { code: 'step_up_required' })
  await caller.identity.stepUp({ body: { data: { code: codeOf(secret) } } })
  await requireOf('administrators')
  assert.equal(await statusOf(hub, accessToken), 200, 'the session has the second factor now')
  assert.equal(await statusOf(hub, hers.accessToken), 200, 'other users are not affected')
  assert.deepEqual(decodeJwt((await refresh(hub, refreshToken)).body.access_token ?? '').amr, ['pwd', 'otp', 'mfa'])

  await requireOf('everyone')
  assert.equal(await statusOf(hub, accessToken), 200)
  assert.equal(await statusOf(hub, hers.accessToken), 401)
  assert.equal((await refresh(hub, hers.refreshToken)).body.error, 'invalid_grant')
  assert.equal((await hers.browser.open(authorizePath(hub))).status, 200, 'the form is shown')
})

test('ends the session of a user who becomes an administrator without a second factor at the next refresh', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const boss = await person(hub, 'boss', 'administrator')
  const first = hub.withToken((await signedIn(hub, boss.signInName)).accessToken)
  const secret = await addApp(first)
  const signIn = new TwoStepSignIn(hub)
  const back = await signIn.submit(await signIn.password(boss.signInName), { code: codeOf(secret) })
  const { accessToken } = await signIn.tokens(back)
  const admin = hub.withToken(accessToken)
  await admin.identity.updateSignInPolicy({ body: { data: { secondFactor: 'administrators' } } })

  const jane = await person(hub, 'jane', 'viewer')
  const hers = await signedIn(hub, jane.signInName)
  const next = await refresh(hub, hers.refreshToken)
  assert.equal(next.status, 200)
  await admin.authorization.createGrant({ body: { data: { principal: jane.id, role: 'administrator' } } })
  assert.equal((await refresh(hub, next.body.refresh_token ?? '')).body.error, 'invalid_grant')
  assert.equal((await hers.browser.open(authorizePath(hub))).status, 200, 'the form is shown')
})
