import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeJwt, SignJWT } from 'jose'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { fetchFrom, locationOf, refresh } from '../testing.ts'
import { startIndependentProvider } from './independent-provider-testing.ts'
import { configure, ProviderBrowser } from './testing.ts'

const apiAudience = 'urn:millwright:api'
const groups: Record<string, string[]> = { jane: ['operators'], omar: ['viewers'] }

describe('sign-in with the independent provider oidc-provider', () => {
  let hub: TestHub
  let admin: TestCaller
  let provider: Awaited<ReturnType<typeof startProvider>>
  let id: string

  before(async () => {
    provider = await startProvider()
    hub = await testHub({ outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
    const created = await configure(admin, provider.issuer, {
      apiAudience,
      scopes: ['profile', 'groups'],
      mappings: [
        { value: 'operators', role: 'operator' },
        { value: 'viewers', role: 'viewer' },
      ],
    })
    id = created.id
    provider.register({
      redirectUri: created.redirectUri,
      logoutUri: `${hub.context.settings.baseUrl}/`,
      backchannelLogoutUri: created.backchannelLogoutUri,
      send: fetchFrom(hub),
    })
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await provider.stop()
  })

  const signIn = async (login: string, parameters: Record<string, string> = {}) => {
    const browser = new ProviderBrowser(hub)
    const atProvider = new WebClient()
    const callback = await provider.signIn(atProvider, await browser.start(id, parameters), login)
    const back = await browser.return(callback.href, Object.fromEntries(callback.searchParams))
    assert.equal(back.status, 303, back.text)
    return { browser, atProvider, back }
  }

  test('signs in with PKCE, nonce, the iss parameter and the client secret', async () => {
    const { browser, back } = await signIn('jane')
    assert.equal(locationOf(back).origin, hub.context.settings.baseUrl)
    const { accessToken, refreshToken } = await browser.tokens(back)
    const claims = decodeJwt(accessToken)
    assert.deepEqual([claims.kind, claims.roles], ['external', ['operator']])
    const { name } = (await admin.identity.readUser({ params: { id: String(claims.sub) } })).data
    assert.equal(name, 'jane@example.com')
    assert.equal((await refresh(hub, refreshToken)).status, 200)
  })

  test('signs in again at the provider for prompt=login, and receives the time of the authentication', async () => {
    const before = Math.floor(Date.now() / 1000) - 1
    const { browser, back } = await signIn('omar', { prompt: 'login' })
    const { accessToken } = await browser.tokens(back)
    assert.ok(Number(decodeJwt(accessToken).auth_time) >= before)
  })

  test('signs out at the provider, which returns to the console', async () => {
    const { browser, atProvider, back } = await signIn('jane')
    const { refreshToken } = await browser.tokens(back)
    const answer = await browser.post('/oauth/logout', { refresh_token: refreshToken })
    const { endSessionUrl } = answer.body as { endSessionUrl: string }
    const page = await atProvider.open(endSessionUrl)
    assert.equal(page.status, 200, page.text)
    const xsrf = /name="xsrf" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
    const done = await atProvider.open(`${provider.issuer}/session/end/confirm`, { xsrf, logout: 'yes' })
    assert.equal(done.location, `${hub.context.settings.baseUrl}/`)
  })

  test('ends the session when the user signs out at the provider (back-channel logout)', async () => {
    const { browser, atProvider, back } = await signIn('omar')
    const { accessToken, refreshToken } = await browser.tokens(back)
    const page = await atProvider.open(`${provider.issuer}/session/end`)
    const xsrf = /name="xsrf" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
    await atProvider.open(`${provider.issuer}/session/end/confirm`, { xsrf, logout: 'yes' })
    assert.equal((await provider.logouts()).at(-1), 200)
    const headers = { authorization: `Bearer ${accessToken}` }
    assert.equal((await hub.request({ method: 'GET', path: '/oauth/userinfo', headers })).status, 401)
    assert.equal((await refresh(hub, refreshToken)).status, 400)
  })

  test('accepts an access token of the provider for the API', async () => {
    const token = await provider.apiToken('jane')
    const headers = { authorization: `Bearer ${token}` }
    const answer = await hub.request({ method: 'GET', path: '/authorization/v1/rights', headers })
    assert.equal(answer.status, 200)
    assert.deepEqual((answer.body as { data: { roles: string[] } }).data.roles, ['operator'])
  })
})

/** Starts the provider, with functions to use its pages and its key. */
async function startProvider() {
  const provider = await startIndependentProvider(groups)
  const { issuer, privateKey, claimsOf } = provider
  return {
    ...provider,
    /** Signs in on the pages of the provider. Returns the redirect to the platform. */
    async signIn(web: WebClient, url: string, login: string): Promise<URL> {
      let page = await web.open(url)
      for (let step = 0; step < 10; step++) {
        if (page.location !== undefined && !page.location.startsWith(issuer)) return new URL(page.location)
        if (page.location !== undefined) page = await web.open(page.location)
        else {
          const action = /action="([^"]*)"/.exec(page.text)?.[1] ?? ''
          const prompt = /name="prompt" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
          page = await web.open(new URL(action, issuer).href, { prompt, login, password: 'any' })
        }
      }
      throw new Error(`The provider did not complete the sign-in: ${page.text.slice(0, 500)}`)
    },
    /** Signs an access token for the API with the key of the provider. */
    async apiToken(sub: string): Promise<string> {
      const claims = { ...claimsOf(sub), client_id: 'reporting', jti: 'x' }
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'r1' })
        .setIssuer(issuer)
        .setAudience(apiAudience)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey)
    },
  }
}

/** `WebClient` opens pages of the provider and stores its cookies. It does not follow redirects. */
class WebClient {
  readonly #cookies = new Map<string, string>()

  async open(url: string, form?: Record<string, string>) {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: cookie === '' ? {} : { cookie },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const target = location === null ? undefined : new URL(location, url).href
    return { status: response.status, location: target, text: await response.text() }
  }
}
