import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rotateDataKey } from '../../../platform/secrets/data-rotation.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { freezeClock, person, refresh, rightPassword } from '../testing.ts'
import {
  codeOf,
  type PasskeyOptions,
  personWithApp,
  readStep,
  SoftwareAuthenticator,
  TwoStepSignIn,
  wrongCodeFor,
} from './testing.ts'
import { sealedTotpSecrets } from './totp.ts'

const baseUrl = 'https://millwright.test'

/** Signs in with a code and returns the user with the token of this session. */
async function signedInWithCode(hub: TestHub, user: { id: string; signInName: string }, code: string) {
  const signIn = new TwoStepSignIn(hub)
  const back = await signIn.submit(await signIn.password(user.signInName), { code })
  assert.equal(back.status, 303)
  const tokens = await signIn.tokens(back)
  return { ...tokens, self: hub.withToken(tokens.accessToken, user.id) }
}

test('confirms the identity of a user with a code, which counts once for the sign-in and the confirmation', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const { self, refreshToken } = await signedInWithCode(hub, jane, codeOf(jane.secret))
  const confirm = (code: string) => self.identity.stepUp({ body: { data: { code } } })
  await assert.rejects(confirm(codeOf(jane.secret)), { code: 'wrong_code' })
  t.mock.timers.tick(16 * 60_000)
  await assert.rejects(self.identity.createRecoveryCodes({}), { code: 'step_up_required' })
  await confirm(codeOf(jane.secret))
  await assert.rejects(confirm(codeOf(jane.secret)), { code: 'wrong_code' })

  const { body } = await refresh(hub, refreshToken)
  const fresh = hub.withToken(body.access_token ?? '', jane.id)
  const { data } = await fresh.identity.createRecoveryCodes({})
  await fresh.identity.stepUp({ body: { data: { code: data.recoveryCodes[0] ?? '' } } })
  await assert.rejects(fresh.identity.stepUp({ body: { data: { code: data.recoveryCodes[0] ?? '' } } }), {
    code: 'wrong_code',
  })
})

test('does not accept the password of a user with a second factor as a confirmation', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const { self } = await signedInWithCode(hub, jane, codeOf(jane.secret))
  const { data } = await self.identity.startStepUp({})
  assert.deepEqual(data.methods, ['totp', 'recovery-code'])
  await assert.rejects(self.identity.stepUp({ body: { data: { password: rightPassword } } }), { code: 'conflict' })
})

test('slows down guesses of codes in confirmations, together with the guesses at the sign-in', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const { self } = await signedInWithCode(hub, jane, codeOf(jane.secret))
  const confirm = (code: string) => self.identity.stepUp({ body: { data: { code } } })
  for (let count = 0; count < 6; count++)
    await assert.rejects(confirm(wrongCodeFor(jane.secret)), { code: 'wrong_code' })
  await assert.rejects(confirm(codeOf(jane.secret, 1)), { code: 'too_many_requests' })
  const signIn = new TwoStepSignIn(hub)
  const slowed = await signIn.submit(await signIn.password(jane.signInName), { code: codeOf(jane.secret, 1) })
  assert.equal(slowed.status, 429)
})

test('confirms the identity with a passkey, and refuses challenges of other purposes, users and sign-ins', async () => {
  await using hub = await testHub({ baseUrl })
  const authenticators = new Map<string, SoftwareAuthenticator>()
  const withPasskey = async (name: string) => {
    const user = await person(hub, name, 'viewer')
    const authenticator = new SoftwareAuthenticator(baseUrl)
    authenticators.set(name, authenticator)
    const self = hub.withToken(await hub.tokenFor(user.id, { roles: ['viewer'] }), user.id)
    const response = authenticator.create((await self.identity.startPasskey({})).data as PasskeyOptions)
    await self.identity.addPasskey({ body: { data: { name: 'Key', response } } })
    const signIn = new TwoStepSignIn(hub)
    const page = await signIn.password(user.signInName)
    const { options } = readStep(page)
    assert.ok(options)
    const { accessToken } = await signIn.tokens(await signIn.submit(page, { passkey: authenticator.use(options) }))
    return { ...user, authenticator, credentialId: response.id, self: hub.withToken(accessToken, user.id) }
  }
  const jane = await withPasskey('jane')
  const mallory = await withPasskey('mallory')
  const start = async (user: typeof jane) =>
    (await user.self.identity.startStepUp({})).data.passkeyOptions as unknown as PasskeyOptions
  const confirm = (passkey: object) => jane.self.identity.stepUp({ body: { data: { passkey: { ...passkey } } } })
  const refused = { code: 'passkey_refused' }

  const { authenticator, credentialId: id } = jane
  const options = await start(jane)
  const response = authenticator.use(options)
  await confirm(response)
  await assert.rejects(confirm(response), refused)

  // A challenge for another purpose, of another user, or of a sign-in does not count.
  await start(jane)
  const registration = (await jane.self.identity.startPasskey({})).data as PasskeyOptions
  await assert.rejects(confirm(authenticator.use({ ...registration, rpId: 'millwright.test' }, { id })), refused)
  await start(jane)
  await assert.rejects(confirm(authenticator.use(await start(mallory), { id })), refused)
  await start(jane)
  const pending = readStep(await new TwoStepSignIn(hub).password(jane.signInName)).options
  assert.ok(pending)
  await assert.rejects(confirm(authenticator.use(pending)), refused)
  const foreign = mallory.authenticator.use(await start(jane), { id: mallory.credentialId })
  await assert.rejects(confirm(foreign), refused)
  await assert.rejects(confirm(authenticator.use(await start(jane), { origin: 'https://evil.example' })), refused)
})

test('opens the secrets of authenticator apps after the data key of the tenant was rotated', async (t) => {
  await using hub = await testHub()
  freezeClock(t)
  const jane = await personWithApp(hub, 'jane')
  const robin = await person(hub, 'robin', 'viewer')
  await hub.asOwner((owner) =>
    owner.query(`insert into sign_in_policies (tenant_id, second_factor) values ($1, 'everyone')`, [
      hub.tenant.tenantId,
    ]),
  )
  const enrolment = new TwoStepSignIn(hub)
  const page = await enrolment.password(robin.signInName)
  const { tenantId } = hub.tenant
  const { safe } = hub.context
  const rotation = await hub.asOwner((owner) => rotateDataKey(owner, { tenantId, safe, columns: sealedTotpSecrets }))
  assert.deepEqual([rotation.resealed, rotation.retired], [2, 1])
  await signedInWithCode(hub, jane, codeOf(jane.secret))
  const codes = await enrolment.submit(page, { code: codeOf(readStep(page).secret) })
  assert.equal(readStep(codes).recoveryCodes.length, 10)
})
