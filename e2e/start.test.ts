import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { secretIn } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { bearer, callerOf, startPlatform, temporaryFolder, tokenOf, until } from './platform.ts'
import { nodeOfMachine, npmStart, postgresOf } from './program.ts'

/** Later starts find everything made; a busy test machine gets some allowance. */
const laterStartMs = 5_000

describe('the first start', () => {
  test('says how to get in, keeps secrets off what is no terminal, and answers', async () => {
    using home = temporaryFolder()
    await using platform = await startPlatform({ home: home.path })
    const { access, baseUrl } = platform
    const screen = platform.program.stdout()

    assert.match(screen, /^Millwright \d+\.\d+\.\d+ is ready after \d+\.\d s\.$/m)
    assert.match(screen, new RegExp(`Console +${baseUrl}/`))
    assert.match(screen, new RegExp(`API +${baseUrl}/docs`))
    assert.match(screen, /Sign in +admin, password in \S+first-run\.json/)
    assert.match(screen, /curl -s .*\/oauth\/token -d grant_type=client_credentials/)
    assert.equal(platform.program.stderr(), '')
    assert.equal(secretIn(screen), undefined)
    assert.ok(!screen.includes(access.adminPassword) && !screen.includes(access.clientSecret))

    assert.equal(statSync(join(home.path, 'first-run.json')).mode & 0o777, 0o600)
    assert.equal(statSync(join(home.path, 'master.key')).mode & 0o777, 0o600)
    assert.deepEqual(Object.keys(access), ['baseUrl', 'clientId', 'clientSecret', 'adminUser', 'adminPassword'])
    assert.deepEqual({ baseUrl: access.baseUrl, adminUser: access.adminUser }, { baseUrl, adminUser: 'admin' })

    await answersAsAProgramExpects(baseUrl, access)
    await answersEverybody(baseUrl)
  })
})

async function answersAsAProgramExpects(
  baseUrl: string,
  access: { clientId: string; clientSecret: string },
): Promise<void> {
  const byForm = await tokenOf(baseUrl, access)
  const basic = Buffer.from(`${access.clientId}:${access.clientSecret}`).toString('base64')
  const response = await fetch(`${baseUrl}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const byBasic = (await response.json()) as { access_token: string; token_type: string; expires_in: number }
  assert.deepEqual([response.status, byBasic.token_type, byBasic.expires_in], [200, 'Bearer', 3600])
  for (const token of [byForm, byBasic.access_token]) {
    const me = await fetch(`${baseUrl}/oauth/userinfo`, { headers: bearer(token) })
    assert.equal(me.status, 200)
    assert.deepEqual(((await me.json()) as { roles: string[] }).roles, ['administrator'])
  }
}

async function answersEverybody(baseUrl: string): Promise<void> {
  const pages: [string, string, RegExp][] = [
    ['/', 'text/html', /Millwright/],
    ['/auth/callback', 'text/html', /Millwright/],
    ['/console/console.js', 'text/javascript', /./],
    ['/console/console.css', 'text/css', /./],
    ['/docs', 'text/html', /openapi-explorer/],
    ['/docs/explorer.js', 'text/javascript', /./],
    ['/docs/problems', 'text/html', /weak_password/],
    ['/openapi.json', 'application/json', /"openapi":"3\.1/],
    ['/iam/v1/openapi.json', 'application/json', /"openapi":"3\.1/],
    ['/version', 'application/json', /"product":/],
    ['/healthz', 'application/json', /"ok"/],
    ['/readyz', 'application/json', /"ready"/],
    ['/metrics', 'text/plain', /^# HELP/m],
  ]
  for (const [path, mediaType, content] of pages) {
    const response = await fetch(baseUrl + path)
    assert.equal(response.status, 200, path)
    assert.ok(response.headers.get('content-type')?.startsWith(mediaType), path)
    assert.match(await response.text(), content, path)
    assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/, path)
  }
  const proxied = await fetch(`${baseUrl}/metrics`, { headers: { 'x-forwarded-for': '127.0.0.1' } })
  assert.equal(proxied.status, 404, 'metrics are for this machine only')
}

test('a later start keeps users and tokens, and takes seconds', async () => {
  using home = temporaryFolder()
  const first = await startPlatform({ home: home.path })
  const before = await callerOf(first)
  const { port } = new URL(first.baseUrl)
  await before.identity.createServerUser({ body: { data: { name: 'historian' } } })
  const { code, stderr } = await first.stop()
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  assert.deepEqual(postgresOf(home.path), [])

  await using second = await startPlatform({ home: home.path, environment: { MILLWRIGHT_PORT: port } })
  assert.ok(second.readyAfterMs < laterStartMs, `it took ${second.readyAfterMs} ms`)
  assert.deepEqual(second.access, first.access)
  const after = await callerOf(second, before.token)
  const found = await after.identity.listServerUsers({ query: { name: 'historian' } })
  assert.equal(found.meta.totalElements, 1)
})

test('a home runs one platform at a time, and a machine as many as there are homes', async () => {
  using home = temporaryFolder()
  using other = temporaryFolder('other')
  const [first, beside] = await Promise.all([startPlatform({ home: home.path }), startPlatform({ home: other.path })])
  await using _first = first
  await using _beside = beside

  const { code, stderr } = await npmStart({ home: home.path }).ended
  assert.notEqual(code, 0)
  const { pid } = first.program.child
  assert.match(stderr, new RegExp(`^\\s*\\S+ is in use by process ${pid} since \\S+: stop that one first, .*\\.\\s*$`))
  assert.doesNotMatch(stderr, /\n +at /)

  for (const platform of [first, beside]) {
    const caller = await callerOf(platform)
    assert.equal((await caller.identity.userInfo({})).tenant_name, 'default')
  }
  assert.notEqual(first.access.clientId, beside.access.clientId)
})

test('a home may have spaces and letters of any language in its path', async () => {
  using folder = temporaryFolder()
  const home = join(folder.path, 'Werk 7, Straße', "the owner's data")
  await using platform = await startPlatform({ home })
  assert.equal((await fetch(`${platform.baseUrl}/readyz`)).status, 200)
})

const node = nodeOfMachine()

test('whichever Node the machine has starts it and passes signals on', {
  skip: !node && 'none is installed',
}, async () => {
  using home = temporaryFolder()
  const platform = await startPlatform({ home: home.path, ...(node === undefined ? {} : { node }) })
  const { code } = await platform.stop()
  assert.equal(code, 0)
  await until('the database has ended', () => postgresOf(home.path).length === 0)
})
