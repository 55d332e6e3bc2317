import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signInLimits } from '@millwright/api/sign-in-security.ts'
import { decodeJwt } from 'jose'
import { suspendTenant } from '../../../platform/tenants/tenants.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { codeOf, personWithApp, readStep, TwoStepSignIn, wrongCodeFor } from '../factors/testing.ts'
import {
  authorizePath,
  Browser,
  freezeClock,
  locationOf,
  person,
  postForm,
  rightPassword,
  wrongPassword,
} from '../testing.ts'

async function requireFactor(hub: TestHub, secondFactor: 'administrators' | 'everyone'): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query('insert into sign_in_policies (tenant_id, second_factor) values ($1, $2)', [
      hub.tenant.tenantId,
      secondFactor,
    ]),
  )
}

test('signs in with the password and a code of the authenticator app', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  assert.equal(page.status, 200)
  assert.equal(page.headers.get('location'), null)
  assert.equal(signIn.browser.cookies.has('millwright_session'), false)
  assert.match(page.text, new RegExp(`Signing in as ${jane.signInName}`))
  assert.doesNotMatch(page.text, /<script/)

  const back = await signIn.submit(page, { code: codeOf(jane.secret) })
  assert.equal(back.status, 303)
  assert.equal(locationOf(back).searchParams.get('state'), 'xyz')
  const { accessToken } = await signIn.tokens(back)
  assert.deepEqual([decodeJwt(accessToken).sub, decodeJwt(accessToken).amr], [jane.id, ['pwd', 'otp', 'mfa']])
})

test('shows the page in German and with a strict content security policy', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const browser = new Browser(hub)
  const page = await browser.signIn(authorizePath(hub), {
    name: jane.signInName,
    password: rightPassword,
    headers: { 'accept-language': 'de' },
  })
  assert.match(page.text, /Identität bestätigen/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'/)
  assert.doesNotMatch(policy, /unsafe|script-src/)
  assert.equal(page.headers.get('cache-control'), 'no-store')
})

test('returns to the command line after the second step, without a session in the browser', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const signIn = new TwoStepSignIn(hub)
  const path = authorizePath(hub, { client_id: 'cli', redirect_uri: 'http://127.0.0.1:8123/callback' })
  const page = await signIn.browser.signIn(path, { name: jane.signInName, password: rightPassword })
  assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self' http:\/\/127\.0\.0\.1:8123;/)
  const back = await signIn.submit(page, { code: codeOf(jane.secret) })
  assert.equal(locationOf(back).origin, 'http://127.0.0.1:8123')
  assert.equal(signIn.browser.cookies.has('millwright_session'), false)
})

test('refuses a code that was used before, in the same and in another sign-in, also for concurrent requests', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const code = codeOf(jane.secret)
  const signIns = [new TwoStepSignIn(hub), new TwoStepSignIn(hub), new TwoStepSignIn(hub)]
  const pages = await Promise.all(
    signIns.map(async (signIn) => ({ signIn, page: await signIn.password(jane.signInName) })),
  )
  const answers = await Promise.all(pages.map(({ signIn, page }) => signIn.submit(page, { code })))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [303, 401, 401])

  // Also a code of an earlier time step is refused, although it was not used.
  const later = new TwoStepSignIn(hub)
  const page = await later.password(jane.signInName)
  assert.equal((await later.submit(page, { code: codeOf(jane.secret, -1) })).status, 401)
  assert.equal((await later.submit(page, { code: codeOf(jane.secret, 1) })).status, 303)
})

test('refuses the form of a completed sign-in', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  assert.equal((await signIn.submit(page, { code: codeOf(jane.secret) })).status, 303)
  assert.equal((await signIn.submit(page, { code: codeOf(jane.secret, 1) })).status, 400)
})

test('ends the pending sign-in after too many wrong codes', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  for (let count = 1; count < signInLimits.wrongCodes; count++) {
    const again = await signIn.submit(page, { code: wrongCodeFor(jane.secret) })
    assert.equal(again.status, 401)
    assert.match(readStep(again).error, /code is wrong/)
  }
  const ended = await signIn.submit(page, { code: wrongCodeFor(jane.secret) })
  assert.equal(ended.status, 401)
  assert.match(ended.text, /Enter your password again/)
  assert.equal((await signIn.submit(page, { code: codeOf(jane.secret) })).status, 400)
})

test('slows down guesses of codes although the password is correct each time', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const guess = async (from: string, code: string) => {
    const signIn = new TwoStepSignIn(hub)
    const page = await signIn.password(jane.signInName, { from })
    const origin = hub.context.settings.baseUrl
    const cookie = `millwright_form=${signIn.browser.cookies.get('millwright_form')?.value}`
    const form = { pending: readStep(page).pending, code }
    return postForm(hub, '/oauth/second-factor', { form, headers: { origin, cookie }, from })
  }
  const statuses: number[] = []
  for (let count = 0; count < 8; count++) statuses.push((await guess('198.51.100.7', wrongCodeFor(jane.secret))).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 401, 429, 429])
  const slowed = await guess('198.51.100.7', codeOf(jane.secret))
  assert.deepEqual([slowed.status, slowed.headers.get('retry-after')], [429, '1'])

  // Guesses from many addresses are slowed down too.
  const distributed: number[] = []
  for (let count = 0; count < 8; count++) {
    distributed.push((await guess(`203.0.113.${count + 1}`, wrongCodeFor(jane.secret))).status)
  }
  assert.deepEqual(distributed.slice(0, 4), [401, 401, 401, 401])
  assert.equal(distributed.at(-1), 429)
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.secondFactor' } })
  assert.ok(data.length >= 10 && data.every(({ outcome }) => outcome === 'denied'))
})

test('accepts a pending sign-in only from the browser and the site that started it', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  const form = { pending: readStep(page).pending, code: codeOf(jane.secret) }

  const other = new Browser(hub)
  await other.open(authorizePath(hub))
  const origin = hub.context.settings.baseUrl
  assert.equal((await other.post('/oauth/second-factor', form, { origin })).status, 400)
  assert.equal((await new Browser(hub).post('/oauth/second-factor', form, { origin })).status, 400)
  const foreign = await signIn.browser.post('/oauth/second-factor', form, { origin: 'https://evil.example' })
  assert.equal(foreign.status, 400)
  for (const pending of ['', 'x', `${form.pending}x`, form.pending.replace(/^./, 'f')]) {
    assert.equal((await signIn.browser.post('/oauth/second-factor', { ...form, pending }, { origin })).status, 400)
  }
  assert.equal((await signIn.submit(page, { code: form.code })).status, 303)
})

test('refuses the code of another user', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const mallory = await personWithApp(hub, 'mallory')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  for (const code of [codeOf(mallory.secret), mallory.recoveryCodes[0] ?? '']) {
    assert.equal((await signIn.submit(page, { code })).status, 401)
  }
})

test('ends pending sign-ins after ten minutes and when the password is reset', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const admin = await hub.as('administrator')
  const signIn = new TwoStepSignIn(hub)
  const first = await signIn.password(jane.signInName)
  await admin.identity.updateUser({ params: { id: jane.id }, body: { data: { password: rightPassword } } })
  assert.equal((await signIn.submit(first, { code: codeOf(jane.secret) })).status, 400)

  const second = await signIn.password(jane.signInName)
  t.mock.timers.tick(signInLimits.pendingSeconds * 1000)
  assert.equal((await signIn.submit(second, { code: codeOf(jane.secret) })).status, 400)
})

test('accepts each recovery code once and records its use in the audit trail', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  assert.equal(jane.recoveryCodes.length, signInLimits.recoveryCodes)
  const [code = ''] = jane.recoveryCodes
  const signIn = new TwoStepSignIn(hub)
  const back = await signIn.submit(await signIn.password(jane.signInName), { code: code.toUpperCase() })
  assert.equal(back.status, 303)
  const again = new TwoStepSignIn(hub)
  assert.equal((await again.submit(await again.password(jane.signInName), { code })).status, 401)
  const [, second = ''] = jane.recoveryCodes
  const concurrent = [0, 1].map(async () => {
    const other = new TwoStepSignIn(hub)
    return (await other.submit(await other.password(jane.signInName), { code: second })).status
  })
  assert.deepEqual((await Promise.all(concurrent)).toSorted(), [303, 401])

  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.secondFactor' } })
  const uses = data.filter(({ outcome }) => outcome === 'done').map(({ detail }) => detail)
  assert.deepEqual(
    uses,
    [8, 9].map((left) => ({ recoveryCode: 'used', left })),
  )
  const { data: security } = await jane.self.identity.readAccountSecurity({})
  assert.equal(security.recoveryCodes, 8)
})

test('does not show the second step for a wrong password', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const refused = await new Browser(hub).signIn(authorizePath(hub), { name: jane.signInName, password: wrongPassword })
  assert.equal(refused.status, 401)
  assert.equal(readStep(refused).pending, '')
})

test('requires an enrolment when the policy requires a second factor, and shows the recovery codes once', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await person(hub, 'jane', 'viewer')
  await requireFactor(hub, 'everyone')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  assert.equal(page.status, 200)
  const { secret, options } = readStep(page)
  assert.match(secret, /^[A-Z2-7]{32}$/)
  assert.match(page.text, /<svg xmlns/)
  // The base URL of the test is http without localhost, so browsers would allow no passkey.
  assert.equal(options, undefined)

  assert.equal((await signIn.submit(page, { step: 'done' })).status, 401)
  const wrong = await signIn.submit(page, { code: wrongCodeFor(secret), step: 'totp' })
  assert.deepEqual([wrong.status, readStep(wrong).secret], [401, secret])
  const codes = await signIn.submit(page, { code: codeOf(secret), step: 'totp' })
  assert.equal(codes.status, 200)
  assert.equal(readStep(codes).recoveryCodes.length, signInLimits.recoveryCodes)
  assert.equal(signIn.browser.cookies.has('millwright_session'), false)
  const reloaded = await signIn.submit(page, { code: codeOf(secret), step: 'totp' })
  const { recoveryCodes } = readStep(reloaded)
  assert.notDeepEqual(recoveryCodes, readStep(codes).recoveryCodes)

  const back = await signIn.submit(reloaded, { step: 'done' })
  assert.equal(back.status, 303)
  const { accessToken } = await signIn.tokens(back)
  assert.deepEqual(decodeJwt(accessToken).amr, ['pwd', 'otp', 'mfa'])
  assert.equal((await signIn.submit(reloaded, { step: 'done' })).status, 400)

  const next = new TwoStepSignIn(hub)
  const second = await next.password(jane.signInName)
  assert.equal(readStep(second).secret, '')
  assert.equal((await next.submit(second, { code: codeOf(secret) })).status, 401)
  assert.equal((await next.submit(second, { code: recoveryCodes[0] ?? '' })).status, 303)
})

test('requires a second factor only of administrators if the policy names only administrators', async () => {
  await using hub = await testHub()
  const viewer = await person(hub, 'viewer', 'viewer')
  const boss = await person(hub, 'boss', 'administrator')
  await requireFactor(hub, 'administrators')
  assert.equal((await new TwoStepSignIn(hub).password(viewer.signInName)).status, 303)
  assert.notEqual(readStep(await new TwoStepSignIn(hub).password(boss.signInName)).secret, '')
})

test('does not add a factor with the password alone when the user has one in the meantime', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await person(hub, 'jane', 'viewer')
  await requireFactor(hub, 'everyone')
  const attacker = new TwoStepSignIn(hub)
  const early = await attacker.password(jane.signInName)
  const attackerSecret = readStep(early).secret

  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  const { secret } = readStep(page)
  assert.notEqual(secret, attackerSecret)
  await signIn.submit(page, { code: codeOf(secret), step: 'totp' })

  const refused = await attacker.submit(early, { code: codeOf(attackerSecret), step: 'totp' })
  assert.deepEqual([refused.status, readStep(refused).secret], [401, ''])
  assert.equal((await attacker.submit(early, { step: 'done' })).status, 401)
  assert.equal(attacker.browser.cookies.has('millwright_session'), false)
})

test('keeps the second factor when the password is changed or reset, and when the policy requires none', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const admin = await hub.as('administrator')
  const next = `new ${rightPassword}`
  await jane.self.identity.changePassword({ body: { data: { currentPassword: rightPassword, newPassword: next } } })
  await admin.identity.updateUser({ params: { id: jane.id }, body: { data: { password: rightPassword } } })
  const page = await new TwoStepSignIn(hub).password(jane.signInName)
  assert.deepEqual([page.status, page.headers.get('location')], [200, null])
  assert.notEqual(readStep(page).pending, '')
})

test('refuses disabled users and suspended tenants at the second step', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  await hub.asOwner((owner) => owner.query('update principals set disabled = true where id = $1', [jane.id]))
  const refused = await signIn.submit(page, { code: codeOf(jane.secret) })
  assert.equal(refused.status, 403)
  assert.match(refused.text, /disabled/)

  const robin = await personWithApp(hub, 'robin')
  const other = new TwoStepSignIn(hub)
  const open = await other.password(robin.signInName)
  await hub.asOwner((owner) => suspendTenant(owner, hub.tenant.name))
  const suspended = await other.submit(open, { code: codeOf(robin.secret) })
  assert.equal(suspended.status, 403)
  assert.match(suspended.text, /suspended/)
})
