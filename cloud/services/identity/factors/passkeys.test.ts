import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signInLimits } from '@millwright/api/sign-in-security.ts'
import { randomCases } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { createUser } from '../accounts/accounts.ts'
import { freezeClock, person, rightPassword } from '../testing.ts'
import { insertPasskey } from './factor-store.ts'
import { findRelyingParty, verifyAuthentication, verifyRegistration } from './passkeys.ts'
import { type PasskeyOptions, readStep, SoftwareAuthenticator, TwoStepSignIn } from './testing.ts'

const baseUrl = 'https://millwright.test'

async function personWithPasskey(hub: TestHub, name: string) {
  const user = await person(hub, name, 'viewer')
  const self = hub.withToken(await hub.tokenFor(user.id, { roles: ['viewer'] }), user.id)
  const authenticator = new SoftwareAuthenticator(baseUrl)
  const options = (await self.identity.startPasskey({})).data as PasskeyOptions
  const response = authenticator.create(options)
  const { data } = await self.identity.addPasskey({ body: { data: { name: 'Key', response } } })
  return { ...user, self, authenticator, ...data, credentialId: response.id }
}

/** Submits the password and returns the options of the passkey button. */
async function begin(hub: TestHub, signInName: string) {
  const signIn = new TwoStepSignIn(hub)
  const page = await signIn.password(signInName)
  const { options } = readStep(page)
  assert.ok(options)
  return { signIn, page, options }
}

test('allows passkeys only at https and at localhost, with a host name', () => {
  const ids = [
    ['https://mw.example.com:8443', 'mw.example.com'],
    ['http://localhost:8080', 'localhost'],
    ['http://mw.example.com', undefined],
    ['http://127.0.0.1:8080', undefined],
    ['https://10.0.0.7', undefined],
    ['https://[::1]', undefined],
  ] as const
  for (const [url, id] of ids) assert.equal(findRelyingParty(url)?.id, id, url)
})

test('refuses random and damaged responses of browsers with passkey_refused', async () => {
  const party = { id: 'millwright.test', origin: baseUrl }
  const authenticator = new SoftwareAuthenticator(baseUrl)
  const challenge = Buffer.alloc(32, 7).toString('base64url')
  const registration = authenticator.create({ challenge, rp: party })
  const { credentialId, publicKey } = await verifyRegistration({ party, challenge, response: registration })
  const passkey = {
    id: '',
    name: '',
    credentialId,
    publicKey,
    signCount: 0,
    transports: [],
    createdAt: '',
    lastUsedAt: null,
  }
  const use = authenticator.use({ challenge, rpId: party.id }, { id: registration.id })
  const isRefused = async (response: Record<string, unknown>) => {
    await assert.rejects(verifyRegistration({ party, challenge, response }), { code: 'passkey_refused' })
    await assert.rejects(verifyAuthentication({ party, challenge, response }, [passkey]), { code: 'passkey_refused' })
  }
  await fc.assert(fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), isRefused), { numRuns: randomCases(50) })
  /** Changes one bit of the signed data of a valid response. */
  const damaged = fc
    .tuple(fc.constantFrom('clientDataJSON' as const, 'authenticatorData' as const), fc.nat(), fc.nat(7))
    .map(([field, place, bit]) => {
      const bytes = Buffer.from(use.response[field], 'base64url')
      const index = place % bytes.length
      bytes[index] = (bytes[index] ?? 0) ^ (1 << bit)
      return { ...use, response: { ...use.response, [field]: bytes.toString('base64url') } }
    })
  await fc.assert(fc.asyncProperty(damaged, isRefused), { numRuns: randomCases(100) })
  await verifyAuthentication({ party, challenge, response: use }, [passkey])
})

test('explains why browsers allow no passkeys at the base URL', async () => {
  await using hub = await testHub()
  const jane = await hub.as('viewer')
  await assert.rejects(jane.identity.startPasskey({}), { code: 'conflict', message: /MILLWRIGHT_BASE_URL/ })
})

test('adds a passkey and signs in with it', async () => {
  await using hub = await testHub({ baseUrl })
  const jane = await personWithPasskey(hub, 'jane')
  assert.equal(jane.recoveryCodes.length, signInLimits.recoveryCodes)
  assert.deepEqual([jane.passkey.name, jane.passkey.lastUseTimestamp], ['Key', null])

  const { signIn, page, options } = await begin(hub, jane.signInName)
  assert.equal(options.rpId, 'millwright.test')
  assert.deepEqual(
    options.allowCredentials?.map(({ id }) => id),
    [jane.credentialId],
  )
  const policy = page.headers.get('content-security-policy') ?? ''
  const nonce = /<script nonce="([^"]+)">/.exec(page.text)?.[1]
  assert.ok(nonce !== undefined && policy.includes(`script-src 'nonce-${nonce}'`))
  assert.doesNotMatch(policy, /unsafe/)
  const back = await signIn.submit(page, { passkey: jane.authenticator.use(options) })
  assert.equal(back.status, 303)
  const { data } = await jane.self.identity.readAccountSecurity({})
  assert.notEqual(data.passkeys[0]?.lastUseTimestamp, null)
})

test('refuses a passkey of another origin, another relying party, a foreign frame and another challenge', async () => {
  await using hub = await testHub({ baseUrl })
  const jane = await personWithPasskey(hub, 'jane')
  const attacks = [
    { origin: 'https://millwright.test.evil.example' },
    { origin: 'http://millwright.test' },
    { rpId: 'evil.example' },
    { challenge: Buffer.alloc(32, 1).toString('base64url') },
  ]
  const { signIn, page } = await begin(hub, jane.signInName)
  let current = page
  for (const attack of attacks) {
    const { options } = readStep(current)
    assert.ok(options)
    current = await signIn.submit(page, { passkey: jane.authenticator.use(options, attack) })
    assert.equal(current.status, 401, JSON.stringify(attack))
    assert.match(readStep(current).error, /passkey was not accepted/)
  }
  const other = await begin(hub, jane.signInName)
  const framed = jane.authenticator.use(other.options, { crossOrigin: true })
  assert.equal((await other.signIn.submit(other.page, { passkey: framed })).status, 401)
})

test('accepts each challenge once and for five minutes', async (t) => {
  await using hub = await testHub({ baseUrl })
  freezeClock(t)
  const jane = await personWithPasskey(hub, 'jane')
  const first = await begin(hub, jane.signInName)
  const response = jane.authenticator.use(first.options)
  const wrong = await first.signIn.submit(first.page, { passkey: { ...response, id: 'x' } })
  assert.equal(wrong.status, 401)
  // The challenge of the first page no longer counts.
  assert.equal((await first.signIn.submit(first.page, { passkey: response })).status, 401)

  const second = await begin(hub, jane.signInName)
  const used = jane.authenticator.use(second.options)
  assert.equal((await second.signIn.submit(second.page, { passkey: used })).status, 303)
  const third = await begin(hub, jane.signInName)
  assert.equal((await third.signIn.submit(third.page, { passkey: used })).status, 401)

  const late = await begin(hub, jane.signInName)
  t.mock.timers.tick(301_000)
  const expired = jane.authenticator.use(late.options)
  assert.equal((await late.signIn.submit(late.page, { passkey: expired })).status, 401)
})

test('refuses a passkey whose counter did not increase, because it may be a copy', async () => {
  await using hub = await testHub({ baseUrl })
  const jane = await personWithPasskey(hub, 'jane')
  const copy = jane.authenticator.copy()
  for (const status of [303, 303]) {
    const { signIn, page, options } = await begin(hub, jane.signInName)
    assert.equal((await signIn.submit(page, { passkey: jane.authenticator.use(options) })).status, status)
  }
  const { signIn, page, options } = await begin(hub, jane.signInName)
  assert.equal((await signIn.submit(page, { passkey: copy.use(options) })).status, 401)
})

test('refuses the passkey of another user and of another tenant', async () => {
  await using hub = await testHub({ baseUrl })
  const jane = await personWithPasskey(hub, 'jane')
  const mallory = await personWithPasskey(hub, 'mallory')
  const { signIn, page, options } = await begin(hub, jane.signInName)
  const foreign = mallory.authenticator.use(options, { id: mallory.credentialId })
  assert.equal((await signIn.submit(page, { passkey: foreign })).status, 401)
  const renamed = { ...foreign, id: jane.credentialId, rawId: jane.credentialId }
  assert.equal((await signIn.submit(page, { passkey: renamed })).status, 401)
  await assert.rejects(mallory.self.identity.deletePasskey({ params: { id: jane.passkey.id } }), { code: 'not_found' })

  const other = await hub.anotherTenant()
  const { id } = await createUser(hub.context, other, { name: 'jane', password: rightPassword, role: 'viewer' })
  const token = await hub.tokenFor(id, { roles: ['viewer'], tenant: other })
  const theirs = hub.withToken(token, id)
  const registration = (await theirs.identity.startPasskey({})).data as PasskeyOptions
  const stolen = new SoftwareAuthenticator(baseUrl)
  await theirs.identity.addPasskey({ body: { data: { name: 'Key', response: stolen.create(registration) } } })
  const next = await begin(hub, `jane@${other.name}`)
  const fromHere = jane.authenticator.use(next.options, { id: jane.credentialId })
  assert.equal((await next.signIn.submit(next.page, { passkey: fromHere })).status, 401)
  await assert.rejects(
    mallory.self.identity.renamePasskey({ params: { id: jane.passkey.id }, body: { data: { name: 'x' } } }),
    { code: 'not_found' },
  )
})

test('refuses a registration with a wrong origin, an old challenge, a known credential or a certificate', async () => {
  await using hub = await testHub({ baseUrl })
  const jane = await personWithPasskey(hub, 'jane')
  const mallory = await personWithPasskey(hub, 'mallory')
  const add = (response: object) =>
    jane.self.identity.addPasskey({ body: { data: { name: 'Other', response: { ...response } } } })
  const start = async () => (await jane.self.identity.startPasskey({})).data as PasskeyOptions
  const { authenticator } = jane

  const options = await start()
  assert.deepEqual(
    options.excludeCredentials?.map(({ id }) => id),
    [jane.credentialId],
  )
  const response = authenticator.create(options, { origin: 'https://evil.example' })
  await assert.rejects(add(response), { code: 'passkey_refused' })
  await assert.rejects(add(authenticator.create(options)), { code: 'passkey_refused' })
  await assert.rejects(add({}), { code: 'passkey_refused' })

  // The challenge of another user does not count.
  const foreign = (await mallory.self.identity.startPasskey({})).data as PasskeyOptions
  await start()
  await assert.rejects(add(authenticator.create(foreign)), { code: 'passkey_refused' })

  // A certificate could name an address to which the platform would connect.
  const plain = authenticator.create(await start())
  const attestation = Buffer.from(plain.response.attestationObject, 'base64url').toString('latin1')
  const apple = Buffer.from(attestation.replace('\x64none', '\x65apple'), 'latin1').toString('base64url')
  await assert.rejects(add({ ...plain, response: { ...plain.response, attestationObject: apple } }), {
    code: 'passkey_refused',
  })

  const credentialId = Buffer.from(mallory.credentialId, 'base64url')
  await assert.rejects(add(authenticator.create(await start(), { credentialId })), { code: 'already_exists' })

  const accepted = authenticator.create(await start())
  const { data } = await add(accepted)
  assert.deepEqual(data.recoveryCodes, [])
  await assert.rejects(add(accepted), { code: 'passkey_refused' })
})

test('enrols a passkey during the sign-in when the policy requires a second factor', async () => {
  await using hub = await testHub({ baseUrl })
  const jane = await person(hub, 'jane', 'viewer')
  await hub.asOwner((owner) =>
    owner.query(`insert into sign_in_policies (tenant_id, second_factor) values ($1, 'everyone')`, [
      hub.tenant.tenantId,
    ]),
  )
  const authenticator = new SoftwareAuthenticator(baseUrl)
  const { signIn, page, options } = await begin(hub, jane.signInName)
  const foreign = authenticator.create(options, { origin: 'https://evil.example' })
  const refused = await signIn.submit(page, { passkey: foreign, step: 'passkey' })
  assert.equal(refused.status, 401)
  const fresh = readStep(refused).options
  assert.ok(fresh)
  const codes = await signIn.submit(page, { passkey: authenticator.create(fresh), step: 'passkey' })
  assert.equal(readStep(codes).recoveryCodes.length, signInLimits.recoveryCodes)
  assert.equal((await signIn.submit(codes, { step: 'done' })).status, 303)

  const next = await begin(hub, jane.signInName)
  assert.equal((await next.signIn.submit(next.page, { passkey: authenticator.use(next.options) })).status, 303)
})

test('renames and removes passkeys, and limits their number', async () => {
  await using hub = await testHub({ baseUrl })
  const jane = await personWithPasskey(hub, 'jane')
  const params = { id: jane.passkey.id }
  const { data: renamed } = await jane.self.identity.renamePasskey({ params, body: { data: { name: 'Blue key' } } })
  assert.equal(renamed.name, 'Blue key')
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    for (let count = 1; count < signInLimits.passkeys; count++) {
      const key = { credentialId: Buffer.of(count), publicKey: Buffer.of(1), signCount: 0, transports: [] }
      const passkey = { ...key, id: v7(), principalId: jane.id, name: `Key ${count}`, now: new Date().toISOString() }
      await insertPasskey(tx, passkey)
    }
  })
  await assert.rejects(jane.self.identity.startPasskey({}), { code: 'conflict', message: /at most 20 passkeys/ })
  await jane.self.identity.deletePasskey({ params })
  await jane.self.identity.startPasskey({})
  const { data } = await jane.self.identity.readAccountSecurity({})
  assert.equal(data.passkeys.length, signInLimits.passkeys - 1)
})
