import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { identity } from '@millwright/api/identity.ts'
import { codeOf, readStep, SoftwareAuthenticator } from '@millwright/cloud/services/identity/factors/testing.ts'
import {
  configure,
  type FakeProvider,
  ProviderBrowser,
  startFakeProvider,
} from '@millwright/cloud/services/identity/providers/testing.ts'
import { Browser, person, rightPassword, signedIn, wrongPassword } from '@millwright/cloud/services/identity/testing.ts'
import { TestPlatform, testTerminal } from '../testing.ts'
import { connect } from './platform-command.ts'
import { changeProfile, readProfile, signIn } from './testing.ts'

/** These tests sign in with the command line, let the confirmation of the session become old, and run a dangerous action. */

let platform: TestPlatform
let user: { id: string; signInName: string }
let users = 0

before(async () => {
  platform = await TestPlatform.open({ hostName: 'localhost', outboundAllow: ['127.0.0.1'] })
  const { identity: api } = await platform.as('administrator')
  await api.updateSignInPolicy({ body: { data: { stepUp: ['access'], stepUpMinutes: 5 } } })
})

after(() => platform[Symbol.asyncDispose]())

beforeEach(async () => {
  user = await person(platform.hub, `user-${++users}`, 'administrator')
  assert.equal((await signIn(platform, user.signInName)).code, 0)
})

/** Moves the last confirmation of the user to the past, and lets the next command renew its token. */
async function letConfirmationExpire(): Promise<void> {
  await platform.hub.asOwner((owner) =>
    owner.query("update sessions set authenticated_at = now() - interval '6 minutes' where principal_id = $1", [
      user.id,
    ]),
  )
  changeProfile(platform, { expires: 0 })
}

let accounts = 0
const dangerous = () => ['access', 'server-users', 'create', `program-${++accounts}`]

/** Adds an authenticator app to the user. Returns its secret and the recovery codes. */
async function addAuthenticatorApp(
  accessToken = readProfile(platform).accessToken,
): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { identity: api } = platform.hub.withToken(accessToken)
  const { secret } = (await api.startTotp({})).data
  const body = { data: { code: codeOf(secret) } }
  const { recoveryCodes } = (await api.confirmTotp({ body })).data
  return { secret, recoveryCodes }
}

/** Adds a passkey to the user. */
async function addPasskey(): Promise<SoftwareAuthenticator> {
  const { identity: api } = platform.hub.withToken(readProfile(platform).accessToken)
  const authenticator = new SoftwareAuthenticator(platform.url)
  const response = authenticator.create((await api.startPasskey({})).data as Parameters<typeof authenticator.create>[0])
  await api.addPasskey({ body: { data: { name: 'Key', response } } })
  return authenticator
}

/** Signs in with an identity provider, and pastes the address that the browser shows. */
async function signInWithProvider(args: string[], provider: FakeProvider, { id, sub }: { id: string; sub: string }) {
  const { promise: address, resolve, reject } = Promise.withResolvers<string>()
  const browse = async (line: string) => {
    const printed = /http\S+\/oauth\/authorize\?\S+/.exec(line)?.[0]
    if (printed === undefined) return
    const parameters = Object.fromEntries(new URL(printed).searchParams)
    const claims = {
      sub,
      preferred_username: `${sub}@corp.example`,
      groups: ['operators'],
      auth_time: Math.floor(Date.now() / 1000),
    }
    const page = await new ProviderBrowser(platform.hub).signInWith(provider, id, { parameters, ...claims })
    resolve(page.headers.get('location') ?? assert.fail(`the sign-in failed: ${page.status} ${page.text}`))
  }
  return platform.run(args, { answers: [address], onNote: (line) => void browse(line).catch(reject) })
}

/** Runs a dangerous action, presses Enter, signs in with a browser, and pastes the address that the browser shows. */
async function signInAgain(name: string, authenticator?: SoftwareAuthenticator) {
  const { promise: address, resolve, reject } = Promise.withResolvers<string>()
  const browser = new Browser(platform.hub)
  const browse = async (line: string) => {
    const printed = /http\S+\/oauth\/authorize\?\S+/.exec(line)?.[0]
    if (printed === undefined) return
    assert.match(printed, /[?&]prompt=login/)
    const { pathname, search } = new URL(printed)
    let page = await browser.signIn(`${pathname}${search}`, { name, password: rightPassword })
    if (authenticator !== undefined) {
      const { pending, options } = readStep(page)
      const passkey = JSON.stringify(authenticator.use(options ?? assert.fail('there is no passkey button')))
      page = await browser.post('/oauth/second-factor', { pending, passkey }, { origin: platform.url })
    }
    resolve(page.headers.get('location') ?? assert.fail(`the sign-in failed: ${page.status}`))
  }
  const { code, err } = await platform.run(dangerous(), {
    answers: ['', address],
    onNote: (line) => void browse(line).catch(reject),
  })
  return { exitCode: code, printed: err }
}

describe('step-up of the command line', () => {
  test('a command prompts for the password when the confirmation is too old, and then repeats the request', async () => {
    assert.equal((await platform.run(dangerous())).code, 0, 'a sign-in is a confirmation')
    await letConfirmationExpire()
    const { code, out, err } = await platform.run(dangerous(), { answers: [wrongPassword, rightPassword] })
    assert.equal(code, 0, err)
    assert.match(out, /^clientSecret +mws_/m)
    assert.match(err, /^Confirm your identity to continue\.\nPassword: Wrong password\. Try again\.\nPassword: /)
    assert.ok(!`${out}${err}`.includes(rightPassword))
    const next = await platform.run(dangerous())
    assert.equal(next.code, 0, 'the confirmation is valid for the next command')
  })

  test('millwright step-up confirms the identity for the next commands', async () => {
    await letConfirmationExpire()
    const { code, out } = await platform.run(['step-up'], { answers: [rightPassword] })
    assert.deepEqual([code, out], [0, 'Your identity is confirmed for 5 minutes.\n'])
    assert.equal((await platform.run(dangerous())).code, 0)
  })

  test('a command without a terminal exits with 3 and explains what to do', async () => {
    await letConfirmationExpire()
    const { code, err } = await platform.run(dangerous())
    assert.equal(code, 3)
    assert.match(
      err,
      /cannot prompt you, because standard input is not a terminal \(step_up_required\)\nNext: .*step-up/,
    )
    const json = await platform.run([...dangerous(), '--json'])
    assert.equal(JSON.parse(json.err).code, 'step_up_required')
  })

  test('a command with MILLWRIGHT_TOKEN does not prompt, because it cannot renew the token', async () => {
    await letConfirmationExpire()
    assert.equal((await platform.run(['whoami'])).code, 0)
    const token = readProfile(platform).accessToken
    const { code, err } = await platform.run(dangerous(), { token, answers: [rightPassword] })
    assert.equal(code, 3)
    assert.match(err, /the command uses MILLWRIGHT_TOKEN \(step_up_required\)/)
    assert.doesNotMatch(err, /Password/)
  })

  test('millwright api prompts too', async () => {
    await letConfirmationExpire()
    const args = ['api', 'identity', 'createServerUser', '--body', '{"data":{"name":"from-api"}}']
    const { code, out, err } = await platform.run(args, { answers: [rightPassword] })
    assert.equal(code, 0, err)
    assert.match(out, /mws_/)
  })

  test('ends after three wrong passwords, or when nothing is entered', async () => {
    await letConfirmationExpire()
    const wrong = await platform.run(dangerous(), { answers: [wrongPassword, wrongPassword, wrongPassword] })
    assert.equal(wrong.code, 3)
    assert.match(wrong.err, /\(wrong_password\)/)
    const nothing = await platform.run(dangerous(), { answers: [''] })
    assert.equal(nothing.code, 3)
    assert.match(nothing.err, /You entered nothing\. Your identity is not confirmed\./)
  })

  test('concurrent requests share one prompt', async () => {
    await letConfirmationExpire()
    const environment = platform.environment
    const { terminal, printed } = testTerminal({ environment, answers: [rightPassword] })
    const session = await connect(terminal, {})
    const create = (name: string) => session.api(identity).createServerUser({ body: { data: { name } } })
    await Promise.all([create('first'), create('second'), create('third')])
    assert.equal(printed.err.match(/Password: /g)?.length, 1)
  })

  test('a user with an authenticator app enters a code or a recovery code, and the password is refused', async () => {
    const { secret, recoveryCodes } = await addAuthenticatorApp()
    await letConfirmationExpire()
    // The code of the current time step was used for the confirmation of the app.
    const code = codeOf(secret, 1)
    const typed = await platform.run(dangerous(), { answers: [rightPassword, code] })
    assert.equal(typed.code, 0, typed.err)
    assert.match(typed.err, /^Code of your authenticator app or recovery code: Wrong code\. Try again\./m)
    await letConfirmationExpire()
    const recovered = await platform.run(dangerous(), { answers: [` ${recoveryCodes[0]} `] })
    assert.equal(recovered.code, 0, recovered.err)
  })

  test('a policy that requires a second factor of the administrator needs a confirmation with it', async () => {
    const policy = (choice: string) => ['access', 'policy', '--second-factor', choice]
    const without = await platform.run(policy('administrators'))
    assert.equal(without.code, 5)
    assert.match(without.err, /\(second_factor_required\)\nNext: /)
    const inBrowser = await signedIn(platform.hub, user.signInName)
    const { secret } = await addAuthenticatorApp(inBrowser.accessToken)
    const { code, err } = await platform.run(policy('administrators'), { answers: [codeOf(secret, 1)] })
    assert.equal(code, 0, err)
    assert.match(err, /^Confirm your identity to continue\./)
    assert.equal((await platform.run(policy('nobody'))).code, 0)
  })

  test('a user with a passkey signs in again in the browser, and the old session ends', async () => {
    const authenticator = await addPasskey()
    await letConfirmationExpire()
    const before = readProfile(platform)
    const { exitCode, printed } = await signInAgain(user.signInName, authenticator)
    assert.equal(exitCode, 0, printed)
    assert.match(printed, /^Recovery code, or press Enter to use a passkey in the browser: /m)
    const sessions = JSON.parse((await platform.run(['sessions', '--json'])).out).data
    assert.deepEqual([sessions.length, sessions[0].methods.includes('hwk')], [1, true])
    assert.notEqual(readProfile(platform).refreshToken, before.refreshToken)
  })

  test('refuses a confirmation by another user in the browser, and ends that session', async () => {
    await addPasskey()
    await letConfirmationExpire()
    const other = await person(platform.hub, `other-${users}`, 'administrator')
    const { exitCode, printed } = await signInAgain(other.signInName)
    assert.equal(exitCode, 3)
    assert.match(printed, /You signed in as another user\. Your identity is not confirmed\.$/m)
    const { out } = await platform.run(['whoami'])
    assert.match(out, new RegExp(`^name +${user.signInName}$`, 'm'), 'the profile still belongs to the user')
    const { token } = await platform.as('administrator')
    const sessions = await platform.run(['access', 'sessions', 'list', other.id, '--json'], { token })
    assert.deepEqual(JSON.parse(sessions.out).data, [])
  })

  test('a user of an identity provider signs in and confirms the identity at the provider', async () => {
    const provider = await startFakeProvider()
    try {
      const admin = await platform.as('administrator')
      const { id } = await configure(admin, provider.issuer, { mappings: [{ value: 'operators', role: 'operator' }] })
      const login = ['login', platform.url, '--no-browser', '--tenant', platform.hub.tenant.name]
      const { code, err } = await signInWithProvider(login, provider, { id, sub: 'jane' })
      assert.equal(code, 0, err)
      const before = readProfile(platform)
      assert.equal(before.tenant, platform.hub.tenant.name)
      const confirmed = await signInWithProvider(['step-up'], provider, { id, sub: 'jane' })
      assert.deepEqual([confirmed.code, confirmed.out], [0, 'Your identity is confirmed for 5 minutes.\n'])
      assert.match(confirmed.err, /[?&]tenant=\S+&prompt=login/)
      assert.notEqual(readProfile(platform).refreshToken, before.refreshToken)
      const other = await signInWithProvider(['step-up'], provider, { id, sub: 'john' })
      assert.deepEqual([other.code, /You signed in as another user\./.test(other.err)], [3, true])
      const { token } = await platform.as('administrator')
      const grants = await platform.run(['access', 'grants', '--principal', 'jane@corp.example'], { token })
      assert.match(grants.out, / jane@corp\.example +operator +all +\S+ +Company$/m)
      const listed = await platform.run(['access', 'users', 'list'], { token })
      assert.match(listed.out, / jane@corp\.example +.*Company +no +no /)
      const ended = await platform.run(['access', 'sessions', 'end', 'jane@corp.example', '--yes'], { token })
      assert.equal(ended.code, 0, ended.err)
      assert.equal((await platform.run(['whoami'])).code, 3)
    } finally {
      await provider.stop()
    }
  })

  test('a service account needs no confirmation', async () => {
    const made = JSON.parse((await platform.run([...dangerous(), '--json'])).out).data
    const admin = await platform.as('administrator')
    const grant = { principal: made.id, role: 'administrator' }
    await admin.authorization.createGrant({ body: { data: grant } })
    const environment = {
      MILLWRIGHT_URL: platform.url,
      MILLWRIGHT_CLIENT_ID: made.clientId,
      MILLWRIGHT_CLIENT_SECRET: made.clientSecret,
    }
    const { code, err } = await platform.run(dangerous(), { environment })
    assert.equal(code, 0, err)
  })
})
