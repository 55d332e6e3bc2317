import { randomBytes } from 'node:crypto'
import type { identity } from '@millwright/api/identity.ts'
import * as client from 'openid-client'
import { validate as isUuid } from 'uuid'
import { recordOutside } from '../../../platform/audit/audit.ts'
import type { Scope } from '../../../platform/database/database.ts'
import type { AnonymousCaller, Handlers } from '../../../platform/service.ts'
import { findTenantById, findTenantByName, type Tenant } from '../../../platform/tenants/store.ts'
import { WindowLimit } from '../../../platform/window-limit.ts'
import { unavailabilityReason } from '../accounts/application.ts'
import type { IdentityContext } from '../context.ts'
import { type AuthorizationRequest, queryOf, readAuthorizationRequest } from '../oauth/authorization-request.ts'
import { createOpaqueToken, hashOf, readOpaqueToken } from '../oauth/opaque-token.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { completeSignIn, redirect } from '../sign-in/complete-sign-in.ts'
import { readCookie, setCookie } from '../sign-in/cookie.ts'
import { fieldText, isOwnForm } from '../sign-in/form.ts'
import { languageFor, signInMessages } from '../sign-in/sign-in-messages.ts'
import { errorPage } from '../sign-in/sign-in-page.ts'
import { methodsIn, sessionIn, subjectOf } from './claims.ts'
import { applyClaims } from './external-account.ts'
import { clockToleranceSeconds, providerErrorOf } from './provider-client.ts'
import { ProviderError, type ProviderErrorCode } from './provider-error.ts'
import { providerMessages } from './provider-messages.ts'
import { continuePage, failurePage } from './provider-page.ts'
import * as store from './provider-store.ts'
import { redirectUriOf } from './providers.ts'

type Operations = 'providerSignIn' | 'providerCallback'

const limits = {
  /** The time to sign in at the provider. */
  seconds: 600,
  /** The sign-ins that one network address can start in a minute, and the audit entries of a tenant in a minute. */
  startsPerMinute: 60,
  auditedPerMinute: 600,
}

/**
 * The cookie that binds a sign-in to the browser. The provider sends the user back from another site, so the cookie is
 * `Lax`.
 */
const browserCookie = 'millwright_provider'
const browserValue = /^[A-Za-z0-9_-]{43}$/

/** The values of a sign-in that the platform stores encrypted until the user returns. */
type SignInValues = { nonce: string; verifier: string; isLogin: boolean }

export function providerSignInHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  const { context } = shared
  const starts = new WindowLimit({
    most: limits.startsPerMinute,
    windowMs: 60_000,
    shared: { name: 'provider sign-ins', counts: context.sharedCounts },
  })
  const audited = new WindowLimit({ most: limits.auditedPerMinute, windowMs: 60_000 })
  /** Records a failed sign-in and returns its page. */
  const fail = async (error: unknown, { provider, subject, tenantId, visitor, acceptLanguage }: Failure) => {
    if (!(error instanceof ProviderError)) throw error
    const { code, message } = error
    const { id: requestId } = visitor.request
    context.log.warn({ requestId, provider: provider.name, reason: code, detail: message }, 'provider sign-in refused')
    if (audited.take(tenantId)) {
      const actor = { principal: { id: null, kind: 'external' as const, name: 'unknown' }, request: visitor.request }
      const user = subject === undefined ? {} : { subject }
      const detail = { provider: provider.name, ...user, reason: code, message }
      const entry = { action: 'identity.signIn', target: `identity-provider/${provider.id}`, detail }
      await recordOutside(context.database, { tenantId }, actor, { ...entry, outcome: 'denied' })
    }
    const language = languageFor(acceptLanguage)
    return failurePage(providerMessages[language].errors[code], code, { status: statusOf(code), language })
  }
  return {
    async providerSignIn({ query, body, headers }, visitor) {
      const { baseUrl } = context.settings
      const language = languageFor(headers['accept-language'])
      const messages = providerMessages[language]
      const reading = readAuthorizationRequest(query as Parameters, baseUrl)
      if (reading.outcome === 'unsafe') return errorPage(reading.detail, { status: 400, language })
      if (reading.outcome === 'refused') return redirect(303, reading.location)
      const { request } = reading
      const proof = fieldText(body.proof)
      if (!isOwnForm(shared, request, { origin: headers.origin, cookies: headers.cookie, proof }))
        return failurePage(signInMessages[language].staleForm, undefined, { status: 400, language })
      if (!starts.take(String(visitor.request.address)))
        return failurePage(messages.tooMany, undefined, { status: 429, language, headers: { 'retry-after': '60' } })
      const tenant = await context.database.reference((handle) => findTenantByName(handle, request.tenant))
      const provider = tenant && (await findEnabled(shared, { tenantId: tenant.id }, body.provider))
      if (tenant === undefined || provider === undefined)
        return failurePage(messages.unknownProvider, undefined, { status: 400, language })
      if (unavailabilityReason(tenant, 'ui') !== undefined)
        return failurePage(signInMessages[language].closed(tenant), undefined, { status: 403, language })
      try {
        const { url, cookie } = await start(shared, { tenant, provider, request, cookies: headers.cookie })
        const options = { status: 200, language, headers: { 'set-cookie': cookie } }
        return continuePage({ title: provider.title, url }, options)
      } catch (error) {
        const acceptLanguage = headers['accept-language']
        return fail(error, { provider, tenantId: tenant.id, visitor, acceptLanguage })
      }
    },

    async providerCallback({ params: { id }, query, headers }, visitor) {
      const language = languageFor(headers['accept-language'])
      const expired = () =>
        failurePage(providerMessages[language].errors.sign_in_expired, 'sign_in_expired', { status: 400, language })
      const taken = await take(shared, { state: query.state, cookies: headers.cookie })
      if (taken === undefined) return expired()
      const { tenant, signIn, values } = taken
      const provider = await findEnabled(shared, { tenantId: tenant.id }, signIn.providerId)
      const failure = { tenantId: tenant.id, visitor, acceptLanguage: headers['accept-language'] }
      const shown = provider ?? { id: signIn.providerId, name: signIn.providerId }
      const reading = readAuthorizationRequest(
        Object.fromEntries(new URLSearchParams(signIn.query)),
        context.settings.baseUrl,
      )
      if (reading.outcome !== 'accepted') return expired()
      let subject: string | undefined
      try {
        if (provider === undefined)
          throw new ProviderError('provider_disabled', 'The identity provider is disabled or deleted. Enable it again')
        if (signIn.providerId !== id) {
          throw new ProviderError(
            'invalid_response',
            'The response arrived at the redirect address of another provider. This can be an attack',
          )
        }
        if (unavailabilityReason(tenant, 'ui') !== undefined)
          return failurePage(signInMessages[language].closed(tenant), undefined, { status: 403, language })
        const proof = await redeem(shared, { tenant, provider, values, query })
        const claims = { ...proof.claims }
        subject = subjectOf(claims)
        const principal = await applyClaims(context, {
          tenantId: tenant.id,
          provider,
          claims,
          isSignIn: true,
          request: visitor.request,
        })
        const response = principal.disabled
          ? undefined
          : await completeSignIn(shared, {
              tenant,
              principalId: principal.id,
              name: principal.name,
              methods: methodsIn(claims),
              provider: {
                id: provider.id,
                session: sessionIn(claims),
                idToken: proof.idToken,
                authenticatedAt: authenticationTime(claims.auth_time),
              },
              request: reading.request,
              headers,
              visitor,
            })
        if (response === undefined) throw new ProviderError('user_disabled', `The user ${principal.name} is disabled`)
        return response
      } catch (error) {
        return fail(error, { ...failure, provider: shown, subject })
      }
    },
  }
}

type Failure = {
  provider: { id: string; name: string }
  /** The subject of the verified ID token, so that an administrator can find the user. */
  subject?: string | undefined
  tenantId: string
  visitor: AnonymousCaller
  acceptLanguage: string | undefined
}

function statusOf(code: ProviderErrorCode): 400 | 403 | 503 {
  if (code === 'provider_unreachable' || code === 'outbound_not_allowed' || code === 'invalid_provider') return 503
  return code === 'user_disabled' || code === 'provider_disabled' || code === 'group_overage' ? 403 : 400
}

async function findEnabled({ context }: IdentityContext, scope: Scope, id: unknown) {
  if (typeof id !== 'string' || !isUuid(id)) return undefined
  const provider = await context.database.read(scope, (handle) => store.findProvider(handle, id))
  return provider?.disabled === false ? provider : undefined
}

type Start = {
  tenant: Tenant
  provider: store.ProviderRow
  request: AuthorizationRequest
  cookies: string | undefined
}

/** Stores a sign-in, and returns the address of the provider and the cookie of the browser. */
async function start(shared: IdentityContext, { tenant, provider, request, cookies }: Start) {
  const { context } = shared
  const { baseUrl } = context.settings
  const discovery = await shared.providers.discover(provider.issuer)
  const state = createOpaqueToken(tenant.id)
  const isLogin = request.prompt === 'login' || request.maxAgeSeconds !== undefined
  const values: SignInValues = { nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier(), isLogin }
  const sent = readCookie(cookies, browserCookie, baseUrl)
  const browser = sent !== undefined && browserValue.test(sent) ? sent : randomBytes(32).toString('base64url')
  await context.database.transaction({ tenantId: tenant.id }, async (tx) => {
    const owner = store.signInOwner(state.hash.toString('hex'))
    await store.insertSignIn(tx, {
      hash: state.hash,
      providerId: provider.id,
      browser: hashOf(browser),
      query: queryOf(request),
      sealed: await context.safe.seal(tx, JSON.stringify(values), owner),
      expiresAt: new Date(Date.now() + limits.seconds * 1000).toISOString(),
    })
  })
  const url = client.buildAuthorizationUrl(shared.providers.configuration(provider, discovery, undefined), {
    redirect_uri: redirectUriOf(baseUrl, provider.id),
    scope: ['openid', ...provider.scopes.filter((scope) => scope !== 'openid')].join(' '),
    state: state.text,
    nonce: values.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(values.verifier),
    code_challenge_method: 'S256',
    ...(isLogin ? { prompt: 'login', max_age: '0' } : {}),
  })
  const cookie = setCookie(browserCookie, browser, {
    seconds: limits.seconds,
    sameSite: 'Lax',
    baseUrl,
  })
  return { url: url.href, cookie }
}

type Returned = { state: unknown; cookies: string | undefined }

/** Returns the sign-in of a state and a browser. A state counts once. */
async function take({ context }: IdentityContext, { state, cookies }: Returned) {
  const token = readOpaqueToken(fieldText(state))
  const browser = readCookie(cookies, browserCookie, context.settings.baseUrl)
  if (token === undefined || browser === undefined || !browserValue.test(browser)) return undefined
  const tenant = await context.database.reference((handle) => findTenantById(handle, token.tenantId))
  if (tenant === undefined) return undefined
  return context.database.transaction({ tenantId: tenant.id }, async (tx) => {
    const signIn = await store.takeSignIn(tx, { hash: token.hash, browser: hashOf(browser) })
    if (signIn === undefined) return undefined
    const opened = await context.safe.open(tx, signIn.sealed, store.signInOwner(token.hash.toString('hex')))
    return { tenant, signIn, values: JSON.parse(opened.toString()) as SignInValues }
  })
}

type Redemption = {
  tenant: Tenant
  provider: store.ProviderRow
  values: SignInValues
  query: Readonly<Record<string, unknown>>
}

/** Exchanges the code for an ID token. The library checks the response, the token and its signature. */
async function redeem(shared: IdentityContext, { tenant, provider, values, query }: Redemption) {
  const { context, providers } = shared
  const discovery = await providers.discover(provider.issuer)
  const secret = await openSecret(shared, { tenantId: tenant.id }, provider)
  const url = new URL(redirectUriOf(context.settings.baseUrl, provider.id))
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== 'string')
      throw new ProviderError('invalid_response', `The response contains ${name} more than once`)
    url.searchParams.set(name, value)
  }
  const configuration = providers.configuration(provider, discovery, secret)
  const checks = {
    expectedState: String(query.state),
    expectedNonce: values.nonce,
    pkceCodeVerifier: values.verifier,
    idTokenExpected: true,
    ...(values.isLogin ? { maxAge: 0 } : {}),
  }
  const tokens = await client.authorizationCodeGrant(configuration, url, checks).catch((error: unknown) => {
    throw providerErrorOf(error)
  })
  const claims = tokens.claims()
  if (claims === undefined || tokens.id_token === undefined)
    throw new ProviderError('invalid_response', 'The response contains no ID token. Request the scope openid')
  // The library does not check this time. Claims from the future would prevent later changes of grants.
  if (claims.iat > Date.now() / 1000 + clockToleranceSeconds)
    throw new ProviderError('invalid_response', 'The ID token was issued in the future. Synchronize the clocks')
  return { claims, idToken: tokens.id_token }
}

/** Returns the client secret of a provider, or `undefined` for a public client. */
export async function openSecret({ context }: IdentityContext, scope: Scope, provider: store.ProviderRow) {
  const { id, sealedClientSecret } = provider
  if (sealedClientSecret === null) return undefined
  return (await context.safe.open(scope, sealedClientSecret, store.clientSecretOwner(id))).toString()
}

/** Returns the time of the authentication at the provider. It is never in the future. */
function authenticationTime(seconds: unknown): Date | undefined {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0) return undefined
  return new Date(Math.min(seconds * 1000, Date.now()))
}
