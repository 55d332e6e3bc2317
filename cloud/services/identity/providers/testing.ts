import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import type { RawAnswer, TestCaller, TestHub } from '../../../platform/testing/hub.ts'
import { plantedWord } from '../../../platform/testing/secrets-shown.ts'
import { createOpaqueToken } from '../oauth/opaque-token.ts'
import { authorizePath, Browser, locationOf, proofKey, requestToken } from '../testing.ts'
import { applyClaims } from './external-account.ts'
import { findProvider, insertSignIn, signInOwner } from './provider-store.ts'

export const clientSecret = `client ${plantedWord} of the provider`
export const clientId = 'millwright-console'

type Claims = Record<string, unknown>

/** An authorization request as the provider received it. */
export type ProviderRequest = Record<string, string>

export type FakeProvider = Awaited<ReturnType<typeof startFakeProvider>>

/**
 * Starts an identity provider whose behaviour a test can change: its documents, its tokens and its responses. It is
 * written for attacks. `oidc-provider.test.ts` uses an independent provider.
 */
export async function startFakeProvider() {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'first', alg: 'ES256', use: 'sig' }
  const codes = new Map<string, { request: ProviderRequest; claims: Claims }>()
  const received: { path: string; headers: IncomingMessage['headers']; form: URLSearchParams }[] = []

  const server = createServer((request, response) => void respond(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const provider = {
    issuer,
    jwk,
    privateKey,
    received,
    /** Changes of the discovery document. */
    metadata: {} as Record<string, unknown>,
    keys: [jwk] as Claims[],
    /** Changes of the claims of every ID token. */
    claims: {} as Claims,
    /** Replaces the response of the token endpoint. */
    answerToken: undefined as ((idToken: string, claims: Claims) => Promise<unknown> | unknown) | undefined,
    /** Handles a request before the provider does. Returns true if it sent a response. */
    intercept: undefined as ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined,

    sign(claims: Claims, header: Partial<JWTHeaderParameters> = {}, key: CryptoKey = privateKey): Promise<string> {
      return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'first', ...header }).sign(key)
    },

    /** Signs in a user at the provider. Returns the parameters of the redirect to the platform. */
    authorize(url: string, claims: Claims): { redirectUri: string; parameters: Record<string, string> } {
      const request = Object.fromEntries(new URL(url).searchParams)
      const code = randomBytes(16).toString('hex')
      codes.set(code, { request, claims })
      const parameters = { code, state: request.state ?? '', iss: issuer }
      return { redirectUri: request.redirect_uri ?? '', parameters }
    },

    /** Signs an access token for the API. */
    accessToken(claims: Claims, { header = {}, key = privateKey }: { header?: object; key?: CryptoKey } = {}) {
      const now = Math.floor(Date.now() / 1000)
      const all = { iss: issuer, aud: 'millwright-api', iat: now, exp: now + 300, ...claims }
      return provider.sign(all, { typ: 'at+jwt', ...header }, key)
    },

    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = await Array.fromAsync(request)
    const path = new URL(request.url ?? '', issuer).pathname
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    received.push({ path, headers: request.headers, form })
    if (provider.intercept?.(request, response) === true) return
    const send = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (path === '/.well-known/openid-configuration') return void send({ ...documentOf(issuer), ...provider.metadata })
    if (path === '/keys') return void send({ keys: provider.keys })
    if (path !== '/token') return void send({ error: 'not_found' }, 404)
    const issued = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = proofKey(form.get('code_verifier') ?? '').challenge
    if (issued === undefined || challenge !== issued.request.code_challenge)
      return void send({ error: 'invalid_grant' }, 400)
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      aud: issued.request.client_id,
      iat: now,
      exp: now + 300,
      nonce: issued.request.nonce,
      ...issued.claims,
      ...provider.claims,
    }
    const idToken = await provider.sign(claims)
    const body = provider.answerToken
      ? await provider.answerToken(idToken, claims)
      : { access_token: 'of no use', token_type: 'Bearer', id_token: idToken }
    send(body)
  }

  return provider
}

function documentOf(issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    end_session_endpoint: `${issuer}/logout`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    authorization_response_iss_parameter_supported: true,
  }
}

type ProviderFields = Parameters<TestCaller['identity']['createIdentityProvider']>[0]['body']['data']

/** Configures an identity provider of the tenant. */
export async function configure(admin: TestCaller, issuer: string, fields: Partial<ProviderFields> = {}) {
  const provider = { name: `p${randomBytes(4).toString('hex')}`, title: 'Company', issuer, clientId, clientSecret }
  return (await admin.identity.createIdentityProvider({ body: { data: { ...provider, ...fields } } })).data
}

function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

/** `ProviderBrowser` signs in with an identity provider, as a browser does. */
export class ProviderBrowser extends Browser {
  readonly #hub: TestHub
  readonly proof = proofKey()

  constructor(hub: TestHub) {
    super(hub)
    this.#hub = hub
  }

  /** Opens the sign-in page and presses the button of a provider. */
  async choose(providerId: string, parameters: Record<string, string> = {}): Promise<RawAnswer> {
    const query = { tenant: this.#hub.tenant.name, code_challenge: this.proof.challenge, ...parameters }
    const shown = await this.open(authorizePath(this.#hub, query))
    const action = unescaped(/action="(\/oauth\/provider[^"]*)"/.exec(shown.text)?.[1] ?? '')
    const proof = unescaped(/name="proof" value="([^"]*)"/.exec(shown.text)?.[1] ?? '')
    const origin = this.#hub.context.settings.baseUrl
    return this.post(action, { provider: providerId, proof }, { origin })
  }

  /** Returns the address of the provider to which the platform sends the browser. */
  async start(providerId: string, parameters: Record<string, string> = {}): Promise<string> {
    const page = await this.choose(providerId, parameters)
    return unescaped(/http-equiv="refresh" content="0; url=([^"]*)"/.exec(page.text)?.[1] ?? '')
  }

  /** Opens the redirect address with the parameters of the provider. */
  return(redirectUri: string, parameters: Record<string, string>): Promise<RawAnswer> {
    return this.open(`${new URL(redirectUri).pathname}?${new URLSearchParams(parameters)}`)
  }

  /** Signs in with a provider for tests. Returns the response to the redirect of the provider. */
  async signInWith(
    provider: FakeProvider,
    providerId: string,
    { parameters = {}, ...claims }: Claims & { parameters?: Record<string, string> },
  ): Promise<RawAnswer> {
    const url = await this.start(providerId, parameters)
    const { redirectUri, parameters: returned } = provider.authorize(url, claims)
    return this.return(redirectUri, returned)
  }

  /** Exchanges the code of a completed sign-in for tokens. */
  async tokens(back: RawAnswer) {
    const { body } = await requestToken(this.#hub, {
      grant_type: 'authorization_code',
      client_id: 'console',
      redirect_uri: `${this.#hub.context.settings.baseUrl}/auth/callback`,
      code: locationOf(back).searchParams.get('code') ?? '',
      code_verifier: this.proof.verifier,
    })
    return { accessToken: body.access_token ?? '', refreshToken: body.refresh_token ?? '' }
  }
}

/** Writes rows to all tables of identity providers, without a provider. Returns the id of the configured provider. */
export async function useProviders(hub: TestHub, admin: TestCaller): Promise<string> {
  const context = hub.contextOf('identity')
  const { id } = await configure(admin, 'https://login.example.com', { name: 'usage', disabled: true })
  const provider = await context.database.read(hub.tenant, (handle) => findProvider(handle, id))
  if (provider === undefined) throw new TypeError('The provider exists')
  const claims = { sub: 'usage', iat: Math.floor(Date.now() / 1000) }
  const request = { id: randomUUID(), address: undefined }
  await applyClaims(context, { tenantId: hub.tenant.tenantId, provider, claims, isSignIn: true, request })
  await context.database.transaction(hub.tenant, async (tx) => {
    const { hash } = createOpaqueToken(hub.tenant.tenantId)
    await insertSignIn(tx, {
      hash,
      providerId: id,
      browser: hash,
      query: '',
      sealed: await context.safe.seal(tx, `nonce ${plantedWord}`, signInOwner(hash.toString('hex'))),
      expiresAt: new Date(Date.now() + 600_000).toISOString(),
    })
  })
  return id
}
