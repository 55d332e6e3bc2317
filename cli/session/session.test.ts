import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { person } from '@millwright/cloud/services/identity/testing.ts'
import { cloudSettings, commandLineVariables, testVariables } from '@millwright/cloud/settings.ts'
import { TestPlatform } from '../testing.ts'
import { platformOrigin } from './address.ts'
import { codeIn } from './browser-sign-in.ts'
import { clientSettings } from './settings.ts'
import { changeProfile, profilesFolder, readProfile, signIn as signInAs } from './testing.ts'

let platform: TestPlatform

before(async () => {
  platform = await TestPlatform.open()
})

after(() => platform[Symbol.asyncDispose]())
afterEach(() => rmSync(join(platform.folder, '.config'), { recursive: true, force: true }))

const profile = (name?: string) => readProfile(platform, name)
const change = (changes: object, name?: string) => changeProfile(platform, changes, name)
const signIn = (name: string, ...args: string[]) => signInAs(platform, name, ...args)

async function program(): Promise<{ clientId: string; clientSecret: string }> {
  const admin = await platform.as('administrator')
  const { data } = await admin.identity.createServerUser({ body: { data: { name: `program-${Math.random()}` } } })
  return data
}

describe('users', () => {
  test('login signs in with a browser, commands renew the token, and logout ends the session', async () => {
    const jane = await person(platform.hub, 'jane.doe', 'viewer')
    const { code, out, page } = await signIn(jane.signInName)
    assert.equal(code, 0)
    assert.equal(out, `Signed in at ${platform.url} as ${jane.signInName}, profile default.\n`)
    assert.match((await page?.text()) ?? '', /You are signed in\. You can close this window\./)
    assert.equal(page?.headers.get('content-security-policy')?.startsWith("default-src 'none'"), true)
    assert.match((await platform.run(['whoami'])).out, /^name +jane\.doe@/m)

    const first = profile()
    change({ expires: 0 })
    assert.equal((await platform.run(['whoami'])).code, 0)
    assert.notEqual(profile().refreshToken, first.refreshToken, 'a refresh token is valid once')

    change({ accessToken: 'worn out' })
    assert.equal((await platform.run(['whoami'])).code, 0, 'a rejected token is renewed')

    const { accessToken } = profile()
    assert.equal((await platform.run(['logout'])).code, 0)
    const headers = { authorization: `Bearer ${accessToken}` }
    const { status } = await platform.hub.request({ method: 'GET', path: '/oauth/userinfo', headers })
    assert.equal(status, 401, 'the access token ends with the session')
    assert.deepEqual(readdirSync(profilesFolder(platform)), [])
    const denied = await platform.run(['whoami'])
    assert.deepEqual([denied.code, denied.out], [3, ''])
    assert.match(denied.err, /^You are not signed in\.\nNext: millwright login /)
  })

  test('concurrent commands renew the token once and stay signed in', async () => {
    const john = await person(platform.hub, 'john', 'viewer')
    await signIn(john.signInName)
    change({ expires: 0 })
    const ends = await Promise.all(Array.from({ length: 4 }, () => platform.run(['token'])))
    assert.deepEqual(
      ends.map(({ code }) => code),
      [0, 0, 0, 0],
    )
    assert.equal(new Set(ends.map(({ out }) => out)).size, 1, 'one command renewed the token for all')
  })

  test('commands renew the token long before it expires, because a renewal counts as a use of the session', async () => {
    const june = await person(platform.hub, 'june', 'viewer')
    await signIn(june.signInName)
    const first = profile()
    await platform.run(['whoami'])
    assert.equal(profile().refreshToken, first.refreshToken, 'a new token is not renewed')
    assert.ok(first.renewAt < Date.now() + (first.expires - Date.now()) / 9, 'much earlier than the expiry')
    change({ renewAt: Date.now() })
    assert.equal((await platform.run(['whoami'])).code, 0)
    assert.notEqual(profile().refreshToken, first.refreshToken)
    assert.ok(profile().renewAt > Date.now())
  })

  test('exits with 3 and prints the next step when the session has ended', async () => {
    const joan = await person(platform.hub, 'joan', 'viewer')
    await signIn(joan.signInName, '--profile', 'plant')
    change({ expires: 0, refreshToken: 'nothing' }, 'plant')
    const { code, err } = await platform.run(['whoami', '--profile', 'plant'])
    assert.equal(code, 3)
    assert.equal(err, 'The profile plant is no longer signed in.\nNext: millwright login --profile plant\n')
  })

  test('codeIn rejects a redirect with a wrong state, a wrong issuer or an error', () => {
    const expected = { state: 'right', issuer: 'https://plant.example' }
    const at = (query: string) => new URL(`http://127.0.0.1:1/callback?${query}`)
    assert.equal(codeIn(at('state=right&code=c&iss=https://plant.example'), expected), 'c')
    assert.throws(() => codeIn(at('state=wrong&code=c'), expected), /belongs to another sign-in/)
    assert.throws(() => codeIn(at('state=right&code=c&iss=https://evil.example'), expected), /is from https:\/\/evil/)
    assert.throws(() => codeIn(at('state=right&error=access_denied'), expected), /Sign-in failed: access_denied/)
  })
})

describe('service accounts', () => {
  test('login reads the secret from standard input or the environment and stores it in a file with mode 0600', async () => {
    const { clientId, clientSecret } = await program()
    const args = ['login', platform.url, '--profile', 'ci', '--client-id', clientId]
    assert.equal((await platform.run(args, { input: `${clientSecret}\n` })).code, 0)
    assert.equal(statSync(join(profilesFolder(platform), 'ci.json')).mode & 0o777, 0o600)
    assert.equal(statSync(profilesFolder(platform)).mode & 0o777, 0o700)
    change({ expires: 0 }, 'ci')
    assert.match((await platform.run(['whoami'])).out, /^kind +service account$/m)

    const environment = { MILLWRIGHT_CLIENT_SECRET: clientSecret }
    assert.equal((await platform.run(args, { environment })).code, 0)
    const wrong = await platform.run(args, { input: 'mws_no' })
    assert.equal(wrong.code, 3)
    assert.match(wrong.err, /^Sign-in failed: /)
    assert.equal((await platform.run(args, { input: '' })).code, 2)
  })

  test('commands without a profile use a client or a token from the environment', async () => {
    const { clientId, clientSecret } = await program()
    const client = {
      MILLWRIGHT_URL: platform.url,
      MILLWRIGHT_CLIENT_ID: clientId,
      MILLWRIGHT_CLIENT_SECRET: clientSecret,
    }
    const { code, out: token } = await platform.run(['token'], { environment: client })
    assert.equal(code, 0)
    assert.equal((await platform.run(['whoami'], { token: token.trim() })).code, 0)
    const { MILLWRIGHT_URL: _, ...nowhere } = client
    assert.equal((await platform.run(['token'], { environment: nowhere })).code, 2)
  })

  test('commands on the same machine as the platform use first-run.json while it is valid', async () => {
    const { clientId, clientSecret } = await program()
    const home = join(platform.folder, 'home')
    mkdirSync(home, { recursive: true })
    const write = (secret: string) =>
      writeFileSync(
        join(home, 'first-run.json'),
        JSON.stringify({ baseUrl: platform.url, clientId, clientSecret: secret }),
      )
    write(clientSecret)
    assert.match((await platform.run(['whoami'])).out, /^signed in with +.*first-run\.json$/m)
    write('mws_no')
    const { code, err } = await platform.run(['whoami'])
    assert.equal(code, 3)
    assert.match(
      err,
      /^The platform rejected the service account in \S+first-run\.json\.\nNext: sign in: millwright login /,
    )
    rmSync(home, { recursive: true })
  })
})

describe('profiles', () => {
  test('lists and selects profiles, and rejects a profile for another platform', async () => {
    const one = await program()
    const add = (name: string) =>
      platform.run(['login', platform.url, '--profile', name, '--client-id', one.clientId], { input: one.clientSecret })
    await add('first')
    await add('second')
    assert.match((await platform.run(['profiles'])).out, /^ {3}first .*\n\* {2}second /m)
    assert.equal((await platform.run(['profiles', 'use', 'first'])).code, 0)
    assert.match((await platform.run(['whoami'])).out, /^signed in with +profile first$/m)
    const elsewhere = await platform.run(['whoami', '--profile', 'first', '--url', 'https://other.example'])
    assert.equal(elsewhere.code, 2)
    assert.match(elsewhere.err, /^The profile first belongs to http:.*, not to https:\/\/other\.example\./)
    const unknown = await platform.run(['whoami', '--url', 'https://other.example'])
    assert.match(unknown.err, /^You are not signed in at https:\/\/other\.example\./)
    assert.equal((await platform.run(['whoami', '--profile', '../first'])).code, 2)
    assert.equal((await platform.run(['whoami', '--profile', 'third'])).code, 3)
  })

  test('exits with 3 when a profile is damaged', async () => {
    const one = await program()
    await platform.run(['login', platform.url, '--client-id', one.clientId], { input: one.clientSecret })
    writeFileSync(join(profilesFolder(platform), 'default.json'), '{')
    const { code, err } = await platform.run(['whoami', '--profile', 'default'])
    assert.equal(code, 3)
    assert.match(err, /^The profile default is damaged\./)
  })
})

test('platformOrigin accepts HTTPS for any host, and HTTP only for the local machine', () => {
  for (const [args, origin] of [
    ['plant.example', 'https://plant.example'],
    ['https://plant.example/console', 'https://plant.example'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://localhost:8080/', 'http://localhost:8080'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ] as const) {
    assert.equal(platformOrigin(args), origin)
  }
  for (const args of ['http://plant.example', 'http://127.0.0.1.evil.example', 'http://localhost.evil.example']) {
    assert.throws(() => platformOrigin(args), /is not encrypted/)
  }
  assert.throws(() => platformOrigin('https://name:word@plant.example'), /must not contain a user name or password/)
  for (const args of ['http://', 'ftp://plant.example', 'file:///etc/passwd'])
    assert.throws(() => platformOrigin(args), /is not the address/)
})

test('suggests the nearest name for an unknown setting, and the platform recognises all command-line settings', async () => {
  const { code, err } = await platform.run(['whoami'], { environment: { MILLWRIGHT_ULR: 'x' } })
  assert.equal(code, 1)
  assert.equal(err, 'Unknown setting MILLWRIGHT_ULR. Did you mean MILLWRIGHT_URL?\n')
  const names = Object.values(clientSettings).map(({ variable }) => variable)
  assert.deepEqual(names, commandLineVariables)
  const others = [...Object.values(cloudSettings).map(({ variable }) => variable), ...testVariables]
  assert.deepEqual(
    names.filter((name) => others.includes(name)),
    [],
  )
})

test('exits with 6 when the platform is not reachable, and with 3 when it rejects the token', async () => {
  const environment = { MILLWRIGHT_URL: 'http://127.0.0.1:9', MILLWRIGHT_TOKEN: 'none' }
  const { code, err } = await platform.run(['whoami'], { environment })
  assert.equal(code, 6)
  assert.match(err, /^The platform at http:\/\/127\.0\.0\.1:9 is not reachable /)
  const login = await platform.run(['login', 'http://127.0.0.1:9'])
  assert.deepEqual([login.code, /is not reachable/.test(login.err)], [6, true], 'no browser is opened first')
  const refused = await platform.run(['whoami'], { token: 'none' })
  assert.equal(refused.code, 3)
  assert.match(refused.err, /\(unauthenticated\)\nNext: sign in: millwright login/)
})
