import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Contract, isInternal, type Operation, pathOf } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { type StepUpAction, stepUpActions } from '@millwright/api/sign-in-security.ts'
import { decodeJwt } from 'jose'
import { enrolledGateway } from '../../../platform/testing/gateway.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { codeOf, type PasskeyOptions, SoftwareAuthenticator, wrongCodeFor } from '../factors/testing.ts'
import { claimsFor, signToken } from '../oauth/access-token.ts'
import { configure, ProviderBrowser, startFakeProvider } from '../providers/testing.ts'
import {
  authorizePath,
  freezeClock,
  locationOf,
  person,
  refresh,
  requestToken,
  rightPassword,
  signedIn,
  signInWith,
  wrongPassword,
} from '../testing.ts'

async function requireStepUp(hub: TestHub, stepUp: StepUpAction[], stepUpMinutes = 15): Promise<void> {
  const admin = await hub.as('administrator')
  await admin.identity.updateSignInPolicy({ body: { data: { stepUp, stepUpMinutes } } })
}

/** Sets back the time at which all users of the tenant proved their identity. */
async function ageSignIns(hub: TestHub, minutes: number): Promise<void> {
  const time = new Date(Date.now() - minutes * 60_000).toISOString()
  await hub.asOwner((owner) =>
    owner.query('update sessions set authenticated_at = $2 where tenant_id = $1', [hub.tenant.tenantId, time]),
  )
}

/** Creates a token of a user who proved their identity some minutes ago, or a token without that time. */
async function agedToken(hub: TestHub, { role, minutes }: { role: string; minutes: number | undefined }) {
  const { principalId } = await hub.as(role)
  const now = new Date()
  const endsAt = new Date(now.getTime() + 3_600_000)
  const bearer = {
    tenant: { id: hub.tenant.tenantId, name: hub.tenant.name },
    principal: { id: principalId, kind: 'user' as const },
    clientId: 'console',
    roles: [role],
    ...(minutes === undefined
      ? {}
      : { signIn: { authenticatedAt: new Date(now.getTime() - minutes * 60_000), methods: ['pwd'], endsAt } }),
  }
  return signToken(claimsFor(bearer, hub.context.settings, now), hub.keys)
}

function createRole(hub: TestHub, token: string, name = 'fitter') {
  return hub.request({
    method: 'POST',
    path: '/authorization/v1/roles',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ data: { name, permissions: ['glb_jobs_read'] } }),
  })
}

const codeIn = ({ body }: { body: unknown }) => (body as { code?: string }).code

test('refuses a dangerous action of a user whose sign-in is too old, with the challenge of RFC 9470', async () => {
  await using hub = await testHub()
  await requireStepUp(hub, ['access'], 20)
  const refused = await createRole(hub, await agedToken(hub, { role: 'administrator', minutes: 21 }))
  assert.deepEqual([refused.status, codeIn(refused)], [401, 'step_up_required'])
  const challenge = refused.headers.get('www-authenticate') ?? ''
  assert.match(challenge, /^Bearer error="insufficient_user_authentication", /)
  assert.match(challenge, /, max_age="1200"$/)
  assert.match((refused.body as { detail: string }).detail, /more than 20 minutes ago.*POST \/iam\/v1\/step-up/)
  const accepted = await createRole(hub, await agedToken(hub, { role: 'administrator', minutes: 19 }))
  assert.equal(accepted.status, 201)
})

test('treats a token of a user without the time of the sign-in as old', async () => {
  await using hub = await testHub()
  await requireStepUp(hub, ['access'])
  const refused = await createRole(hub, await agedToken(hub, { role: 'administrator', minutes: undefined }))
  assert.equal(codeIn(refused), 'step_up_required')
})

test('requires no confirmation for actions that the policy does not contain', async () => {
  await using hub = await testHub()
  const token = await agedToken(hub, { role: 'administrator', minutes: 500 })
  assert.equal((await createRole(hub, token, 'one')).status, 201)
  await requireStepUp(hub, ['credentials', 'remote-access', 'updates'])
  assert.equal((await createRole(hub, token, 'two')).status, 201)
})

test('returns 403 and not step_up_required when the user lacks the permission', async () => {
  await using hub = await testHub()
  await requireStepUp(hub, ['access'])
  const refused = await createRole(hub, await agedToken(hub, { role: 'viewer', minutes: 500 }))
  assert.equal(codeIn(refused), 'forbidden')
})

test('exempts service accounts', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await requireStepUp(hub, ['access'])
  const { data: robot } = await admin.identity.createServerUser({ body: { data: { name: 'robot' } } })
  await admin.authorization.createGrant({ body: { data: { principal: robot.id, role: 'administrator' } } })
  const { body } = await requestToken(hub, {
    grant_type: 'client_credentials',
    client_id: robot.clientId,
    client_secret: robot.clientSecret,
  })
  assert.equal((await createRole(hub, body.access_token ?? '')).status, 201)
  const caller = hub.withToken(body.access_token ?? '')
  await assert.rejects(caller.identity.startStepUp({}), { code: 'conflict' })
  await assert.rejects(caller.identity.stepUp({ body: { data: { password: rightPassword } } }), { code: 'conflict' })
})

test('applies a changed policy in every process within a second', async () => {
  await using hub = await testHub()
  await using other = await hub.sibling()
  const token = await agedToken(hub, { role: 'administrator', minutes: 60 })
  assert.equal((await createRole(other, token, 'one')).status, 201)
  await requireStepUp(hub, ['access'])
  assert.equal(codeIn(await createRole(hub, token, 'two')), 'step_up_required')
  const deadline = performance.now() + 120_000
  for (let n = 0; codeIn(await createRole(other, token, `role-${n}`)) !== 'step_up_required'; n++) {
    assert.ok(performance.now() < deadline, 'the other process does not apply the policy')
    await delay(5)
  }
})

test('accepts the action after the user confirmed their identity with the password and got a new token', async () => {
  await using hub = await testHub()
  await requireStepUp(hub, ['access'])
  const boss = await person(hub, 'boss', 'administrator')
  const first = await signedIn(hub, boss.signInName)
  assert.equal((await createRole(hub, first.accessToken, 'one')).status, 201)
  await ageSignIns(hub, 60)
  const second = (await refresh(hub, first.refreshToken)).body
  const old = second.access_token ?? ''
  assert.equal(codeIn(await createRole(hub, old, 'two')), 'step_up_required', 'a refresh is not a confirmation')

  const caller = hub.withToken(old)
  assert.deepEqual((await caller.identity.startStepUp({})).data, { methods: ['password'] })
  await caller.identity.stepUp({ body: { data: { password: rightPassword } } })
  assert.equal(codeIn(await createRole(hub, old, 'two')), 'step_up_required', 'the old token does not change')
  const third = (await refresh(hub, second.refresh_token ?? '')).body.access_token ?? ''
  const { auth_time: time, amr, sid } = decodeJwt<{ auth_time: number; amr: string[]; sid: string }>(third)
  assert.ok(Math.abs(Date.now() / 1000 - time) < 60)
  assert.deepEqual([amr, sid], [['pwd'], decodeJwt(first.accessToken).sid])
  assert.equal((await createRole(hub, third, 'two')).status, 201)
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.stepUp' } })
  assert.deepEqual(
    data.map(({ target, outcome, detail }) => [target, outcome, detail.methods]),
    [[`user/${boss.id}`, 'done', ['pwd']]],
  )
})

test('shows the sign-in form when the session is older than max_age, and issues a token with the new time', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const { browser } = await signedIn(hub, jane.signInName)
  assert.equal((await browser.open(authorizePath(hub, { max_age: '900' }))).status, 302)
  await ageSignIns(hub, 16)
  assert.equal((await browser.open(authorizePath(hub))).status, 302)
  assert.equal((await browser.open(authorizePath(hub, { max_age: '0' }))).status, 200)
  const silent = await browser.open(authorizePath(hub, { max_age: '900', prompt: 'none' }))
  assert.equal(locationOf(silent).searchParams.get('error'), 'login_required')
  const { accessToken } = await signInWith(hub, browser, {
    signInName: jane.signInName,
    parameters: { max_age: '900' },
  })
  const { auth_time: time = 0 } = decodeJwt<{ auth_time: number }>(accessToken)
  assert.ok(Date.now() / 1000 - time < 60)
})

test('refuses a wrong password, delays further guesses and records them', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const boss = await person(hub, 'boss', 'administrator')
  const { accessToken } = await signedIn(hub, boss.signInName)
  const caller = hub.withToken(accessToken)
  const guess = (password: string) => caller.identity.stepUp({ body: { data: { password } } })
  await assert.rejects(guess(wrongPassword), { code: 'wrong_password' })
  const codes: (string | undefined)[] = []
  for (let n = 0; n < 20 && codes.at(-1) !== 'too_many_requests'; n++)
    codes.push(await guess(wrongPassword).then(String, (error: { code: string }) => error.code))
  assert.equal(codes.at(-1), 'too_many_requests')
  await assert.rejects(guess(rightPassword), { code: 'too_many_requests' })
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.stepUp', outcome: 'denied' } })
  assert.equal(data.length, codes.length)
})

test('requires the second factor of a user who has one, and refuses the password alone', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  await requireStepUp(hub, ['access'])
  const boss = await person(hub, 'boss', 'administrator')
  const { accessToken, refreshToken } = await signedIn(hub, boss.signInName)
  const caller = hub.withToken(accessToken)
  const { data: app } = await caller.identity.startTotp({})
  const { data: codes } = await caller.identity.confirmTotp({ body: { data: { code: codeOf(app.secret, -1) } } })
  await ageSignIns(hub, 60)

  assert.deepEqual((await caller.identity.startStepUp({})).data, { methods: ['totp', 'recovery-code'] })
  const stepUp = (data: { password?: string; code?: string }) => caller.identity.stepUp({ body: { data } })
  await assert.rejects(stepUp({ password: rightPassword }), { code: 'conflict' })
  await assert.rejects(stepUp({ code: wrongCodeFor(app.secret) }), { code: 'wrong_code' })
  await assert.rejects(stepUp({ password: rightPassword, code: codeOf(app.secret) }), { code: 'invalid_body' })
  await assert.rejects(stepUp({}), { code: 'invalid_body' })
  const old = (await refresh(hub, refreshToken)).body
  assert.equal(codeIn(await createRole(hub, old.access_token ?? '')), 'step_up_required')

  await stepUp({ code: codeOf(app.secret) })
  await assert.rejects(stepUp({ code: codeOf(app.secret) }), { code: 'wrong_code' }, 'a code counts once')
  const fresh = (await refresh(hub, old.refresh_token ?? '')).body.access_token ?? ''
  assert.deepEqual(decodeJwt(fresh).amr, ['pwd', 'otp', 'mfa'])
  assert.equal((await createRole(hub, fresh)).status, 201)
  await stepUp({ code: codes.recoveryCodes[0] ?? '' })
  await assert.rejects(stepUp({ code: codes.recoveryCodes[0] ?? '' }), { code: 'wrong_code' })
})

test('confirms the identity with a passkey, and accepts each response once', async () => {
  const baseUrl = 'https://millwright.test'
  await using hub = await testHub({ baseUrl })
  await requireStepUp(hub, ['access'])
  const boss = await person(hub, 'boss', 'administrator')
  const { accessToken, refreshToken } = await signedIn(hub, boss.signInName)
  const caller = hub.withToken(accessToken)
  const authenticator = new SoftwareAuthenticator(baseUrl)
  const response = authenticator.create((await caller.identity.startPasskey({})).data as PasskeyOptions)
  await caller.identity.addPasskey({ body: { data: { name: 'Key', response } } })
  await ageSignIns(hub, 60)

  const { data } = await caller.identity.startStepUp({})
  assert.deepEqual(data.methods, ['passkey', 'recovery-code'])
  const passkey = authenticator.use(data.passkeyOptions as PasskeyOptions)
  await caller.identity.stepUp({ body: { data: { passkey } } })
  await assert.rejects(caller.identity.stepUp({ body: { data: { passkey } } }), { code: 'passkey_refused' })
  const fresh = (await refresh(hub, refreshToken)).body.access_token ?? ''
  assert.deepEqual(decodeJwt(fresh).amr, ['pwd', 'hwk', 'mfa'])
  assert.equal((await createRole(hub, fresh)).status, 201)
})

test('requires a new sign-in at the identity provider of its users', async () => {
  const provider = await startFakeProvider()
  try {
    await using hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    const admin = await hub.as('administrator')
    const mappings = [{ value: 'plant', role: 'credential-manager' }]
    await admin.authorization.createRole({
      body: { data: { name: 'credential-manager', permissions: ['glb_credential_write'] } },
    })
    const { id } = await configure(admin, provider.issuer, { mappings })
    await requireStepUp(hub, ['credentials'])
    const signIn = async (authTime: number, parameters: Record<string, string> = {}) => {
      const browser = new ProviderBrowser(hub)
      const claims = { sub: 'jane', preferred_username: 'jane', groups: ['plant'], auth_time: authTime, parameters }
      return browser.tokens(await browser.signInWith(provider, id, claims))
    }
    const write = (token: string) =>
      hub.request({
        method: 'POST',
        path: pathOf(contracts.credentials, contracts.credentials.operations.createInstance),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      })
    const now = Math.floor(Date.now() / 1000)
    const { accessToken } = await signIn(now - 3_600)
    assert.equal(codeIn(await write(accessToken)), 'step_up_required', 'the time at the provider counts')
    const caller = hub.withToken(accessToken)
    assert.deepEqual((await caller.identity.startStepUp({})).data, { methods: ['provider'] })
    await assert.rejects(caller.identity.stepUp({ body: { data: { password: rightPassword } } }), { code: 'conflict' })
    const { data: sessions } = await caller.identity.listSessions({})
    assert.deepEqual([sessions[0]?.provider, sessions[0]?.methods], ['Company', ['fed']])

    const again = await signIn(now, { prompt: 'login' })
    assert.equal(codeIn(await write(again.accessToken)), 'invalid_body', 'the front accepts the request')
  } finally {
    await provider.stop()
  }
})

test('refuses a code of a user without a second factor', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane', 'viewer')
  const { accessToken } = await signedIn(hub, jane.signInName)
  const caller = hub.withToken(accessToken)
  await assert.rejects(caller.identity.stepUp({ body: { data: { code: '123456' } } }), { code: 'conflict' })
})

test('confirms only the session of the token, not the other sessions of the user', async () => {
  await using hub = await testHub()
  await requireStepUp(hub, ['access'])
  const boss = await person(hub, 'boss', 'administrator')
  const [one, two] = [await signedIn(hub, boss.signInName), await signedIn(hub, boss.signInName)]
  await ageSignIns(hub, 60)
  await hub.withToken(one.accessToken).identity.stepUp({ body: { data: { password: rightPassword } } })
  const [fresh, old] = [await refresh(hub, one.refreshToken), await refresh(hub, two.refreshToken)]
  assert.equal((await createRole(hub, fresh.body.access_token ?? '')).status, 201)
  assert.equal(codeIn(await createRole(hub, old.body.access_token ?? '', 'other')), 'step_up_required')
})

type Marked = { name: string; method: string; path: string; stepUp: StepUpAction }

/** All operations of the contracts that are marked as dangerous. */
const marked: Marked[] = Object.values(contracts as Record<string, Contract>).flatMap((contract) =>
  Object.entries(contract.operations).flatMap(([name, operation]) => {
    const { stepUp, method } = operation
    const path = pathOf(contract, operation).replace(/\{\w+\}/g, '00000000-0000-7000-8000-000000000000')
    return stepUp === undefined ? [] : [{ name: `${contract.name}.${name}`, method, path, stepUp }]
  }),
)

test('refuses every marked operation when the sign-in is too old, before the body is read', async () => {
  await using hub = await testHub()
  await requireStepUp(hub, [...stepUpActions])
  const token = await agedToken(hub, { role: 'administrator', minutes: 500 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (const { name, method, path } of marked) {
    const refused = await hub.request({ method, path, headers, ...(method === 'GET' ? {} : { body: '{' }) })
    assert.deepEqual([refused.status, codeIn(refused)], [401, 'step_up_required'], name)
  }
})

test('requires a confirmation to switch remote access on, and none to switch it off', async () => {
  await using hub = await testHub()
  const gateway = await enrolledGateway(hub, await hub.as('administrator'), { name: 'line 1' })
  await requireStepUp(hub, ['remote-access'])
  const old = await agedToken(hub, { role: 'administrator', minutes: 500 })
  const recent = await agedToken(hub, { role: 'administrator', minutes: 1 })
  for (const path of ['/remote-access/v1/switch', `/remote-access/v1/gateways/${gateway.id}/switch`]) {
    const put = (token: string, isEnabled: boolean) =>
      hub.request({
        method: 'PUT',
        path,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ data: { isEnabled } }),
      })
    assert.equal((await put(old, false)).status, 200, path)
    const refused = await put(old, true)
    assert.deepEqual([refused.status, codeIn(refused)], [401, 'step_up_required'], path)
    assert.match(refused.headers.get('www-authenticate') ?? '', /max_age="900"$/)
    assert.equal((await put(recent, true)).status, 200, path)
  }
})

test('marks operations of every kind of dangerous action, and no public or internal operation', () => {
  for (const action of stepUpActions) assert.ok(marked.filter(({ stepUp }) => stepUp === action).length >= 5, action)
  const wrong = Object.values(contracts as Record<string, Contract>).flatMap(({ operations }) =>
    Object.values(operations).filter(
      (operation) => operation.stepUp !== undefined && (operation.access === 'public' || isInternal(operation)),
    ),
  )
  assert.deepEqual(wrong, [])
})

test('marks every operation of people that returns a secret', () => {
  // The operations of the own account always require a recent sign-in. Gateways have no second factor. A ticket opens a
  // stream of a session that its user has opened after a confirmation.
  const exempt = ['signed-in', 'glb_gateway_work']
  const tickets: Operation = contracts['remote-access'].operations.createTicket
  const unmarked = Object.values(contracts as Record<string, Contract>).flatMap(({ operations }) =>
    Object.entries(operations)
      .filter(([, operation]) => operation.answersSecret === true && operation.stepUp === undefined)
      .filter(([, operation]) => !isInternal(operation) && !exempt.includes(operation.access) && operation !== tickets)
      .map(([name]) => name),
  )
  assert.deepEqual(unmarked, [])
})
