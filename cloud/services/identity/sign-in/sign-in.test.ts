import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { suspendTenant, withdrawApplication } from '../../../platform/tenants/tenants.ts'
import { testHub } from '../../../platform/testing/hub.ts'
import {
  authorizePath,
  Browser,
  fetchFrom,
  freezeClock,
  locationOf,
  person,
  proofKey,
  requestToken,
  rightPassword,
  signedIn,
  signInWith,
  wrongPassword,
} from '../testing.ts'

test('signs a user in with an independent OAuth client (code and PKCE), and refreshes the tokens', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe', 'viewer')
  const options = { [oauth.customFetch]: fetchFrom(hub), [oauth.allowInsecureRequests]: true }
  const issuer = new URL(hub.context.settings.baseUrl)
  const discovery = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
  const server = await oauth.processDiscoveryResponse(issuer, discovery)
  const client = { client_id: 'console' }
  const redirectUri = `${hub.context.settings.baseUrl}/auth/callback`
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()

  const url = new URL(server.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    ...client,
    response_type: 'code',
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const typed = { name: jane.signInName, password: rightPassword }
  const back = await new Browser(hub).signIn(url.pathname + url.search, typed)
  assert.equal(back.status, 303)

  const parameters = oauth.validateAuthResponse(server, client, locationOf(back), state)
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    options,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer)
  const response = await oauth.userInfoRequest(server, client, tokens.access_token, options)
  const info = await oauth.processUserInfoResponse(server, client, jane.id, response)
  assert.deepEqual(
    [info.name, info.preferred_username, info.tenant_name, info.kind, info.roles],
    ['Somebody', jane.signInName, hub.tenant.name, 'user', ['viewer']],
  )

  const again = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token ?? '', options)
  const refreshed = await oauth.processRefreshTokenResponse(server, client, again)
  assert.notEqual(refreshed.refresh_token, tokens.refresh_token)
  assert.equal(decodeJwt(refreshed.access_token).sub, jane.id)
})

test('serves a sign-in page that cannot be framed and has no scripts or external resources', async () => {
  await using hub = await testHub()
  const page = await new Browser(hub).open(authorizePath(hub))
  assert.equal(page.status, 200)
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  const policy = page.headers.get('content-security-policy') ?? ''
  const nonce = /style-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? 'none'
  assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
  assert.ok(page.text.includes(`<style nonce="${nonce}">`))
  assert.doesNotMatch(page.text, /<script|<link|src=|url\(|https?:(?!%2F%2Fmillwright|\/\/millwright\.test)/)
  assert.doesNotMatch(policy, /unsafe/)
  assert.equal(page.headers.get('cache-control'), 'no-store')
  for (const field of ['name', 'password'])
    assert.match(page.text, new RegExp(`<label for="${field}">[\\s\\S]*id="${field}"`))
  assert.match(page.text, /autofocus/)
})

test('allows the sign-in form to redirect only to the platform and to the loopback address of the command line', async () => {
  await using hub = await testHub()
  const policyFor = async (redirectUri: string) => {
    const page = await new Browser(hub).open(authorizePath(hub, { client_id: 'cli', redirect_uri: redirectUri }))
    return /form-action ([^;]+)/.exec(page.headers.get('content-security-policy') ?? '')?.[1]
  }
  assert.equal(await policyFor('http://127.0.0.1:8123/callback'), "'self' http://127.0.0.1:8123")
  assert.equal(await policyFor('http://[::1]:8123/callback'), "'self' http:")
})

test('returns the same sign-in error for a wrong password, an unknown name and an unknown tenant', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const alerts = []
  for (const name of [
    jane.signInName,
    `nobody@${hub.tenant.name}`,
    'jane.doe@no-such-tenant',
    'not a name at all\u0000',
  ]) {
    const page = await new Browser(hub).signIn(authorizePath(hub), { name, password: wrongPassword })
    assert.equal(page.status, 401)
    alerts.push(/role="alert">([^<]+)</.exec(page.text)?.[1])
  }
  assert.deepEqual(new Set(alerts), new Set(['Wrong user name or password.']))
})

test('shows the sign-in page in the preferred language of the browser', async () => {
  await using hub = await testHub()
  const heading = async (acceptLanguage: string) => {
    const page = await new Browser(hub).open(authorizePath(hub), { 'accept-language': acceptLanguage })
    return [/<html lang="(..)"/.exec(page.text)?.[1], /<h1>([^<]+)</.exec(page.text)?.[1]]
  }
  assert.deepEqual(await heading('de-AT,de;q=0.9,en;q=0.8'), ['de', 'Anmelden'])
  assert.deepEqual(await heading('fr, en;q=0.3, de;q=0.7'), ['de', 'Anmelden'])
  assert.deepEqual(await heading('de;q=0, pt'), ['en', 'Sign in'])
  assert.deepEqual(await heading('x'.repeat(1000)), ['en', 'Sign in'])
  const headers = { 'accept-language': 'de' }
  const browser = new Browser(hub)
  const page = await browser.open(authorizePath(hub), headers)
  const refused = await browser.submit(page, { name: 'jane.doe', password: wrongPassword, headers })
  assert.match(refused.text, /role="alert">Benutzername oder Passwort falsch\./)
  const lost = await browser.open(authorizePath(hub, { redirect_uri: 'https://elsewhere.example/' }), headers)
  assert.match(lost.text, /<h1>Diese Anmeldung kann nicht fortgesetzt werden</)
})

test('shows the typed name on the sign-in page again as escaped text, and never the password', async () => {
  await using hub = await testHub()
  const name = '"><script>alert(1)</script>'
  const page = await new Browser(hub).signIn(authorizePath(hub, { state: name }), { name, password: wrongPassword })
  assert.ok(!page.text.includes('<script>'))
  assert.ok(page.text.includes('&quot;&gt;&lt;script&gt;'))
  assert.ok(!page.text.includes(wrongPassword))
})

test('refuses a sign-in form from another site, another browser or another request', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const typed = { name: jane.signInName, password: rightPassword }
  const browser = new Browser(hub)
  const page = await browser.open(authorizePath(hub))

  for (const origin of ['https://evil.example', 'null', `${hub.context.settings.baseUrl}.evil.example`]) {
    assert.equal((await browser.submit(page, { ...typed, headers: { origin } })).status, 400, origin)
  }
  assert.equal((await new Browser(hub).submit(page, typed)).status, 400, 'another browser')
  const other = await browser.open(authorizePath(hub, { state: 'other' }))
  const mixed = {
    ...other,
    text: other.text.replace(/name="proof" value="[^"]*"/, /name="proof" value="[^"]*"/.exec(page.text)?.[0] ?? ''),
  }
  assert.equal((await browser.submit(mixed, typed)).status, 400, 'another request')
  assert.equal((await browser.submit(page, typed)).status, 303, 'the form itself')
})

test('sets a session cookie that scripts and other sites cannot read, and replaces it at every sign-in', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { browser } = await signedIn(hub, jane.signInName)
  const first = browser.cookies.get('millwright_session')
  assert.match(first?.attributes ?? '', /; Max-Age=2592000; Path=\/oauth; HttpOnly; SameSite=Lax$/)

  await signInWith(hub, browser, { signInName: jane.signInName, parameters: { prompt: 'login' } })
  const second = browser.cookies.get('millwright_session')
  assert.notEqual(second?.value, first?.value)

  const old = new Browser(hub)
  old.cookies.set('millwright_session', first ?? { value: '', path: '/oauth', attributes: '' })
  assert.equal((await old.open(authorizePath(hub))).status, 200, 'the old session has ended')
})

test('accepts with https only cookies that no page on another host of the domain can set', async () => {
  await using hub = await testHub({ baseUrl: 'https://millwright.test' })
  const jane = await person(hub, 'jane.doe')
  const { browser } = await signedIn(hub, jane.signInName)
  for (const [name, { attributes }] of browser.cookies) {
    assert.match(name, /^__Host-millwright_/)
    assert.match(attributes, /; Path=\/; HttpOnly; SameSite=(?:Lax|Strict); Secure$/)
  }
  assert.equal((await browser.open(authorizePath(hub))).status, 302)
  const cookie = [...browser.cookies].map(([name, { value }]) => `${name.replace('__Host-', '')}=${value}`).join('; ')
  assert.equal((await new Browser(hub).open(authorizePath(hub), { cookie })).status, 200, 'the form is shown')
})

test('redirects without a form when the user is signed in, unless the client requests prompt=login', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { browser } = await signedIn(hub, jane.signInName)

  const silent = await browser.open(authorizePath(hub, { prompt: 'none' }))
  assert.equal(silent.status, 302)
  assert.ok(locationOf(silent).searchParams.get('code'))
  assert.equal((await browser.open(authorizePath(hub, { prompt: 'login' }))).status, 200)

  const stranger = await new Browser(hub).open(authorizePath(hub, { prompt: 'none' }))
  const { searchParams } = locationOf(stranger)
  assert.deepEqual(
    [searchParams.get('error'), searchParams.get('state'), searchParams.get('iss')],
    ['login_required', 'xyz', hub.context.settings.baseUrl],
  )
})

test("requests the password for every sign-in of the command line, and does not change the browser's session", async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { browser } = await signedIn(hub, jane.signInName)
  const before = browser.cookies.get('millwright_session')?.value
  const cli = { client_id: 'cli', redirect_uri: 'http://127.0.0.1:8123/callback' }

  assert.equal((await browser.open(authorizePath(hub, cli))).status, 200)
  const { status, body } = await signInWith(hub, browser, { signInName: jane.signInName, parameters: cli })
  assert.equal(status, 200)
  assert.equal(decodeJwt(body.access_token ?? '').client_id, 'cli')
  assert.equal(browser.cookies.get('millwright_session')?.value, before)
})

test('shows an error page for an unregistered redirect address, for GET and POST', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const browser = new Browser(hub)
  const page = await browser.open(authorizePath(hub))
  for (const redirectUri of [
    'https://evil.example/',
    `${hub.context.settings.baseUrl}@evil.example/`,
    '//evil.example',
    'javascript:alert(1)',
  ]) {
    const path = authorizePath(hub, { redirect_uri: redirectUri })
    const shown = await browser.open(path)
    const forged = { ...page, text: page.text.replace(/action="[^"]*"/, `action="${path.replaceAll('&', '&amp;')}"`) }
    const posted = await browser.submit(forged, { name: jane.signInName, password: rightPassword })
    for (const answer of [shown, posted]) {
      assert.equal(answer.status, 400, redirectUri)
      assert.equal(answer.headers.get('location'), null, redirectUri)
      assert.match(answer.text, /role="alert"/)
      assert.ok(!answer.text.includes('evil.example'))
    }
  }
})

test('redirects with invalid_scope when the scope contains a role that the user does not hold', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe', 'viewer')
  const back = await new Browser(hub).signIn(authorizePath(hub, { scope: 'administrator' }), {
    name: jane.signInName,
    password: rightPassword,
  })
  assert.equal(locationOf(back).searchParams.get('error'), 'invalid_scope')
  assert.equal(locationOf(back).searchParams.get('code'), null)
})

test('delays sign-ins after wrong passwords, even with the correct password, and only from the same address', async (t) => {
  freezeClock(t)
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const browser = new Browser(hub)
  const page = await browser.open(authorizePath(hub))
  const guess = (password: string, from: string) => browser.submit(page, { name: jane.signInName, password, from })
  for (let i = 0; i < 6; i++) assert.equal((await guess(`${wrongPassword} ${i}`, '10.9.0.1')).status, 401)

  const slowed = await guess(rightPassword, '10.9.0.1')
  assert.equal(slowed.status, 429)
  assert.ok(Number(slowed.headers.get('retry-after')) >= 1)
  assert.match(slowed.text, /role="alert">Too many failed attempts\. Try again in 1 second\./)
  assert.equal((await guess(rightPassword, '10.9.0.2')).status, 303)
})

test('checks only a few of a hundred concurrent password guesses', onlyInLongRuns, async (t) => {
  freezeClock(t)
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const browser = new Browser(hub)
  const page = await browser.open(authorizePath(hub))
  const guesses = Array.from({ length: 100 }, (_, i) =>
    browser.submit(page, { name: jane.signInName, password: `${wrongPassword} ${i}` }),
  )
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  const tried = statuses.filter((status) => status === 401).length
  assert.ok(tried >= 6 && tried < 12, `${tried} were tried`)
  assert.equal(statuses.filter((status) => status === 429).length, 100 - tried)
})

test('records every sign-in and refusal in the audit trail, without the names of unknown users', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const browser = new Browser(hub)
  const page = await browser.open(authorizePath(hub))
  for (let i = 0; i < 3; i++) await browser.submit(page, { name: jane.signInName, password: wrongPassword })
  await browser.submit(page, {
    name: `typed-my-secret-here@${hub.tenant.name}`,
    password: wrongPassword,
    from: '10.9.0.9',
  })
  await browser.submit(page, { name: jane.signInName, password: rightPassword })

  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.signIn' } })
  assert.deepEqual(data.map(({ outcome, principalName }) => [outcome, principalName]).toReversed(), [
    ['denied', 'jane.doe'],
    ['denied', 'jane.doe'],
    ['denied', 'jane.doe'],
    ['denied', 'unknown'],
    ['done', 'jane.doe'],
  ])
  assert.ok(!hub.printed.join('').includes('typed-my-secret-here'))
  const { data: user } = await admin.identity.readUser({ params: { id: jane.id } })
  assert.ok(user.lastSignInTimestamp)
})

test('shows the reason for a refused sign-in only when the password is correct', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const admin = await hub.as('administrator')
  const browser = new Browser(hub)
  const attempt = async (password: string) => {
    const page = await browser.signIn(authorizePath(hub), { name: jane.signInName, password })
    return [page.status, /role="alert">([^<]+)</.exec(page.text)?.[1] ?? ''] as const
  }
  await admin.identity.updateUser({ params: { id: jane.id }, body: { data: { disabled: true } } })
  assert.equal((await attempt(wrongPassword))[0], 401)
  const disabled = await attempt(rightPassword)
  assert.equal(disabled[0], 403)
  assert.match(disabled[1], /disabled/)
  await admin.identity.updateUser({ params: { id: jane.id }, body: { data: { disabled: false } } })

  await hub.asOwner((owner) => withdrawApplication(owner, hub.tenant.name, 'ui'))
  assert.equal((await attempt(wrongPassword))[0], 401)
  assert.match((await attempt(rightPassword))[1], /The application ui is not provisioned for the tenant/)
  await hub.asOwner((owner) => suspendTenant(owner, hub.tenant.name))
  assert.match((await attempt(rightPassword))[1], /suspended/)
})

test('ends a session when its tenant loses the application or its user is disabled', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const joe = await person(hub, 'joe.bloggs')
  const first = await signedIn(hub, jane.signInName)
  const second = await signedIn(hub, joe.signInName)
  const admin = await hub.as('administrator')
  await admin.identity.deleteUser({ params: { id: jane.id } })
  assert.equal((await first.browser.open(authorizePath(hub))).status, 200)
  assert.equal((await second.browser.open(authorizePath(hub))).status, 302)
  await hub.asOwner((owner) => withdrawApplication(owner, hub.tenant.name, 'ui'))
  assert.equal((await second.browser.open(authorizePath(hub))).status, 200)
})

test('ends a session and its tokens at sign-out, and redirects only to the console', async () => {
  await using hub = await testHub()
  const jane = await person(hub, 'jane.doe')
  const { browser, refreshToken } = await signedIn(hub, jane.signInName)
  const foreign = await browser.post('/oauth/logout', {}, { origin: 'https://evil.example' })
  assert.equal(foreign.status, 204)
  assert.equal(
    (await browser.open(authorizePath(hub, { prompt: 'none' }))).headers.get('location')?.includes('code='),
    true,
  )

  const out = await browser.post('/oauth/logout', { post_logout_redirect_uri: 'https://evil.example/' })
  assert.equal(out.status, 204)
  assert.equal(browser.cookies.has('millwright_session'), false)
  const refused = await requestToken(hub, {
    grant_type: 'refresh_token',
    client_id: 'console',
    refresh_token: refreshToken,
  })
  assert.equal(refused.body.error, 'invalid_grant')
  const home = { post_logout_redirect_uri: `${hub.context.settings.baseUrl}/` }
  assert.equal((await browser.post('/oauth/logout', home)).headers.get('location'), `${hub.context.settings.baseUrl}/`)

  const cli = { client_id: 'cli', redirect_uri: 'http://127.0.0.1:8123/callback' }
  const program = await signedIn(hub, jane.signInName, cli)
  assert.equal((await new Browser(hub).post('/oauth/logout', { refresh_token: program.refreshToken })).status, 204)
  const again = await requestToken(hub, {
    grant_type: 'refresh_token',
    client_id: 'cli',
    refresh_token: program.refreshToken,
  })
  assert.equal(again.body.error, 'invalid_grant')
})

test('refuses a plain code challenge even if the verifier matches', async () => {
  await using hub = await testHub()
  const { verifier } = proofKey()
  const refused = await new Browser(hub).open(
    authorizePath(hub, { code_challenge: verifier, code_challenge_method: 'plain' }),
  )
  assert.equal(locationOf(refused).searchParams.get('error'), 'invalid_request')
})
