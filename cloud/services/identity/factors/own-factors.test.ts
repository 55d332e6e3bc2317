import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { createServerUser, resetPassword } from '../accounts/accounts.ts'
import { prune } from '../store.ts'
import { freezeClock, person, requestToken, rightPassword, signedIn } from '../testing.ts'
import { putChallenge } from './factor-store.ts'
import { createChallenge } from './passkeys.ts'
import { resetFactors } from './reset-factors.ts'
import { codeOf, personWithApp, readStep, TwoStepSignIn, wrongCodeFor } from './testing.ts'

async function setPolicy(hub: TestHub, secondFactor: string): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query('insert into sign_in_policies (tenant_id, second_factor) values ($1, $2)', [
      hub.tenant.tenantId,
      secondFactor,
    ]),
  )
}

test('adds an authenticator app after a correct code, and shows the recovery codes once', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const user = await person(hub, 'jane', 'viewer')
  const self = hub.withToken(await hub.tokenFor(user.id, { roles: ['viewer'] }), user.id)
  const confirm = (code: string) => self.identity.confirmTotp({ body: { data: { code } } })
  await assert.rejects(confirm('123456'), { code: 'conflict' })

  const { data: first } = await self.identity.startTotp({})
  const { data } = await self.identity.startTotp({})
  assert.notEqual(data.secret, first.secret)
  await assert.rejects(confirm(wrongCodeFor(data.secret)), { code: 'wrong_code' })
  assert.equal((await self.identity.readAccountSecurity({})).data.totpTimestamp, null)
  assert.equal((await new TwoStepSignIn(hub).password(user.signInName)).status, 303)

  const { data: confirmed } = await confirm(codeOf(data.secret))
  assert.equal(confirmed.recoveryCodes.length, 10)
  const { data: security } = await self.identity.readAccountSecurity({})
  assert.deepEqual(
    [security.hasPassword, security.provider, security.isSecondFactorRequired, security.recoveryCodes],
    [true, null, false, 10],
  )
  assert.notEqual(security.totpTimestamp, null)
  await assert.rejects(self.identity.startTotp({}), { code: 'conflict' })
  await assert.rejects(confirm(codeOf(data.secret, 1)), { code: 'conflict' })

  const admin = await hub.as('administrator')
  assert.equal((await admin.identity.readUser({ params: { id: user.id } })).data.hasSecondFactor, true)
  assert.equal((await admin.identity.readUser({ params: { id: admin.principalId } })).data.hasSecondFactor, false)

  // The code that confirmed the app does not count for a sign-in.
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(user.signInName)
  assert.equal((await signIn.submit(page, { code: codeOf(data.secret) })).status, 401)
})

test('limits wrong codes while an authenticator app is confirmed', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const user = await person(hub, 'jane', 'viewer')
  const self = hub.withToken(await hub.tokenFor(user.id, { roles: ['viewer'] }), user.id)
  const { data } = await self.identity.startTotp({})
  const confirm = (code: string) => self.identity.confirmTotp({ body: { data: { code } } })
  for (let count = 0; count < 6; count++)
    await assert.rejects(confirm(wrongCodeFor(data.secret)), { code: 'wrong_code' })
  await assert.rejects(confirm(codeOf(data.secret)), { code: 'too_many_requests' })
})

test('forgets the secret of an authenticator app that is not confirmed within ten minutes', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const user = await person(hub, 'jane', 'viewer')
  const self = hub.withToken(await hub.tokenFor(user.id, { roles: ['viewer'] }), user.id)
  const { data } = await self.identity.startTotp({})
  t.mock.timers.tick(601_000)
  await assert.rejects(self.identity.confirmTotp({ body: { data: { code: codeOf(data.secret) } } }), {
    code: 'conflict',
  })
})

test('changes factors only within 15 minutes after the user proved their identity', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const fresh = await person(hub, 'fresh', 'viewer')
  const young = hub.withToken(await hub.tokenFor(fresh.id, { roles: ['viewer'] }), fresh.id)
  t.mock.timers.tick(15 * 60_000 + 1_000)
  const stepUp = { code: 'step_up_required', status: 401 }
  await assert.rejects(jane.self.identity.deleteTotp({}), stepUp)
  await assert.rejects(jane.self.identity.createRecoveryCodes({}), stepUp)
  await assert.rejects(young.identity.startTotp({}), stepUp)
  await assert.rejects(young.identity.confirmTotp({ body: { data: { code: '123456' } } }), stepUp)
  assert.equal((await jane.self.identity.readAccountSecurity({})).data.recoveryCodes, 10)
})

test('changes the factors and the password of a user with a factor only in a session with a second factor', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await person(hub, 'jane', 'viewer')
  const thief = hub.withToken((await signedIn(hub, jane.signInName)).accessToken)
  const self = hub.withToken((await signedIn(hub, jane.signInName)).accessToken)
  const { data } = await self.identity.startTotp({})
  await self.identity.confirmTotp({ body: { data: { code: codeOf(data.secret, -1) } } })

  const stepUp = { code: 'step_up_required', status: 401 }
  await assert.rejects(thief.identity.deleteTotp({}), stepUp)
  await assert.rejects(thief.identity.createRecoveryCodes({}), stepUp)
  const passwords = { currentPassword: rightPassword, newPassword: `a new ${rightPassword}` }
  await assert.rejects(thief.identity.changePassword({ body: { data: passwords } }), stepUp)
  await self.identity.createRecoveryCodes({})

  // The same session can change the factors after a code.
  await thief.identity.stepUp({ body: { data: { code: codeOf(data.secret) } } })
  await thief.identity.createRecoveryCodes({})
  await thief.identity.changePassword({ body: { data: passwords } })
})

test('removes the authenticator app with its recovery codes and ends the other sessions', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await person(hub, 'jane', 'viewer')
  const other = await signedIn(hub, jane.signInName)
  const self = hub.withToken(await hub.tokenFor(jane.id, { roles: ['viewer'] }), jane.id)
  const { data } = await self.identity.startTotp({})
  await self.identity.confirmTotp({ body: { data: { code: codeOf(data.secret) } } })
  const before = hub.withToken(other.accessToken)
  await before.identity.readAccountSecurity({})

  await self.identity.deleteTotp({})
  await assert.rejects(before.identity.readAccountSecurity({}), { code: 'unauthenticated' })
  const { data: security } = await self.identity.readAccountSecurity({})
  assert.deepEqual([security.totpTimestamp, security.recoveryCodes], [null, 0])
  await assert.rejects(self.identity.deleteTotp({}), { code: 'not_found' })
  await assert.rejects(self.identity.createRecoveryCodes({}), { code: 'conflict' })
  assert.equal((await new TwoStepSignIn(hub).password(jane.signInName)).status, 303)
})

test('refuses to remove the last factor while the policy requires one', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  await setPolicy(hub, 'everyone')
  assert.equal((await jane.self.identity.readAccountSecurity({})).data.isSecondFactorRequired, true)
  await assert.rejects(jane.self.identity.deleteTotp({}), { code: 'second_factor_required' })
  assert.notEqual((await jane.self.identity.readAccountSecurity({})).data.totpTimestamp, null)
})

test('makes the old recovery codes invalid when new ones are created', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const { data } = await jane.self.identity.createRecoveryCodes({})
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  assert.equal((await signIn.submit(page, { code: jane.recoveryCodes[0] ?? '' })).status, 401)
  assert.equal((await signIn.submit(page, { code: data.recoveryCodes[0] ?? '' })).status, 303)
})

test('resets the second factor of a user, ends the sessions and records it', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const signIn = new TwoStepSignIn(hub)
  const { accessToken } = await signIn.tokens(
    await signIn.submit(await signIn.password(jane.signInName), { code: codeOf(jane.secret) }),
  )
  const admin = await hub.as('administrator')
  await admin.identity.resetSecondFactor({ params: { id: jane.id } })
  await assert.rejects(hub.withToken(accessToken).identity.readAccountSecurity({}), { code: 'unauthenticated' })
  assert.equal((await admin.identity.readUser({ params: { id: jane.id } })).data.hasSecondFactor, false)
  assert.equal((await new TwoStepSignIn(hub).password(jane.signInName)).status, 303)
  const { data } = await admin.audit.listEntries({ query: { target: `user/${jane.id}` } })
  assert.ok(data.some(({ action }) => action === 'identity.resetSecondFactor'))
})

test('refuses to reset the second factor of a user with more permissions, of an unknown user and of the caller', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await admin.authorization.createRole({ body: { data: { name: 'door_keeper', permissions: ['glb_access_manage'] } } })
  const keeper = await hub.as('door_keeper')
  const boss = await personWithApp(hub, 'boss', 'administrator')
  const reset = (id: string) => keeper.identity.resetSecondFactor({ params: { id } })
  await assert.rejects(reset(boss.id), { code: 'would_escalate' })
  await assert.rejects(reset('0198f0c2-7b1e-7c3a-9d55-0242ac120002'), { code: 'not_found' })
  await assert.rejects(reset(keeper.principalId), { code: 'conflict' })
  const other = await hub.anotherTenant()
  const foreign = await hub.as('administrator', { tenant: other })
  await assert.rejects(foreign.identity.resetSecondFactor({ params: { id: boss.id } }), { code: 'not_found' })
})

test('keeps the second factor when the password is reset on the server, and removes it only with its own command', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const boss = await personWithApp(hub, 'boss', 'administrator')
  await resetPassword(hub.context, hub.tenant, { name: 'boss', password: rightPassword })
  assert.notEqual(readStep(await new TwoStepSignIn(hub).password(boss.signInName)).pending, '')
  await resetFactors(hub.context, hub.tenant, 'boss')
  assert.equal((await new TwoStepSignIn(hub).password(boss.signInName)).status, 303)
  await assert.rejects(resetFactors(hub.context, hub.tenant, 'no-one'), { code: 'not_found' })
})

test('stores no secret and no recovery code in readable form, and seals the secret for the user', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const mallory = await personWithApp(hub, 'mallory')
  // A copy of the row does not work for another user, because the sealed secret is bound to its user.
  await hub.asOwner((owner) =>
    owner.query(
      `update totp_secrets set sealed_secret =
         (select sealed_secret from totp_secrets where tenant_id = $1 and principal_id = $2)
       where tenant_id = $1 and principal_id = $3`,
      [hub.tenant.tenantId, mallory.id, jane.id],
    ),
  )
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(jane.signInName)
  assert.equal((await signIn.submit(page, { code: codeOf(mallory.secret) })).status, 500)
  const stored = await hub.asOwner((owner) =>
    owner.query<{ text: string }>(
      `select coalesce(string_agg(encode(hash, 'escape'), ' '), '') as text from recovery_codes where principal_id = $1`,
      [mallory.id],
    ),
  )
  for (const code of mallory.recoveryCodes) assert.ok(!stored.rows[0]?.text.includes(code.replaceAll('-', '')))
})

test('returns 409 when a service account manages second factors', async () => {
  await using hub = await testHub()
  const { clientId, clientSecret } = await createServerUser(hub.context, hub.tenant, {
    name: 'program',
    role: 'viewer',
  })
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const program = hub.withToken((await requestToken(hub, form)).body.access_token ?? '')
  await assert.rejects(program.identity.startTotp({}), { code: 'conflict' })
  await assert.rejects(program.identity.createRecoveryCodes({}), { code: 'conflict' })
  const { data } = await program.identity.readAccountSecurity({})
  assert.deepEqual([data.hasPassword, data.totpTimestamp, data.passkeys], [false, null, []])
})

test('deletes expired pending sign-ins and challenges', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  await new TwoStepSignIn(hub).password(jane.signInName)
  const { database } = hub.contextOf('identity')
  await database.transaction(hub.tenant, (tx) =>
    putChallenge(tx, { principalId: jane.id, purpose: 'step-up', ...createChallenge(Date.now()) }),
  )
  const rows = () =>
    hub.asOwner(async (owner) => {
      const sql =
        'select hash::text from pending_sign_ins where tenant_id = $1 union all select challenge from passkey_challenges where tenant_id = $1'
      return (await owner.query(sql, [hub.tenant.tenantId])).rowCount
    })
  await database.transaction(hub.tenant, prune)
  assert.equal(await rows(), 2)
  await hub.asOwner(async (owner) => {
    for (const table of ['pending_sign_ins', 'passkey_challenges'])
      await owner.query(`update ${table} set expires_at = now() where tenant_id = $1`, [hub.tenant.tenantId])
  })
  await database.transaction(hub.tenant, prune)
  assert.equal(await rows(), 0)
})
