import type { identity } from '@millwright/api/identity.ts'
import { providerLimits } from '@millwright/api/identity-providers.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { AnonymousCaller, Context, Handlers } from '../../../platform/service.ts'
import { findTenantByName, hasSeveralTenants, type Tenant } from '../../../platform/tenants/store.ts'
import { unavailabilityReason } from '../accounts/application.ts'
import { isPassword } from '../accounts/password-hash.ts'
import { readSignInName } from '../accounts/sign-in-name.ts'
import type { IdentityContext } from '../context.ts'
import {
  type AuthorizationRequest,
  queryOf,
  readAuthorizationRequest,
  refusalLocation,
} from '../oauth/authorization-request.ts'
import { createFormProof } from '../oauth/form-proof.ts'
import { Refusal } from '../oauth/parameters.ts'
import { alternativesOf } from '../providers/provider-page.ts'
import { listSignInProviders } from '../providers/provider-store.ts'
import * as store from '../store.ts'
import { redirect } from './complete-sign-in.ts'
import { formCookie, readCookie, setCookie } from './cookie.ts'
import { fieldText, isOwnForm } from './form.ts'
import { continueAfterPassword } from './second-factor.ts'
import { findSession, issueCode, type Session, useSession } from './sessions.ts'
import { languageFor, type SignInMessages, signInMessages } from './sign-in-messages.ts'
import { errorPage, signInPage } from './sign-in-page.ts'

const formCookieSeconds = 24 * 3_600

export function signInHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, 'authorize' | 'signIn'> {
  const { context } = shared
  return {
    async authorize({ query, headers }, visitor) {
      const { baseUrl } = context.settings
      const reading = readAuthorizationRequest(query, baseUrl)
      const language = languageFor(headers['accept-language'])
      if (reading.outcome === 'unsafe') return errorPage(reading.detail, { status: 400, language })
      if (reading.outcome === 'refused') return redirect(302, reading.location)
      const { request } = reading
      const session = await reusableSession(shared, request, headers.cookie)
      if (session !== undefined) return redirect(302, await returnWithCode(shared, request, { session, visitor }))
      if (request.prompt === 'none') {
        const refusal = new Refusal('login_required', 'The user must sign in')
        return redirect(302, refusalLocation(request, refusal, baseUrl))
      }
      return showForm(shared, request, { status: 200, headers })
    },

    async signIn({ query, body, headers }, visitor) {
      const { baseUrl } = context.settings
      const reading = readAuthorizationRequest(query, baseUrl)
      const language = languageFor(headers['accept-language'])
      if (reading.outcome === 'unsafe') return errorPage(reading.detail, { status: 400, language })
      if (reading.outcome === 'refused') return redirect(303, reading.location)
      const { request } = reading
      const cookies = headers.cookie
      const name = fieldText(body.name)
      const messages = signInMessages[language]
      const again = ({ status, refused, more = {} }: Refused) =>
        showForm(shared, request, { status, error: refused(messages), name, headers, more })

      if (!isOwnForm(shared, request, { origin: headers.origin, cookies, proof: fieldText(body.proof) })) {
        return again({ status: 400, refused: ({ staleForm }) => staleForm })
      }
      const outcome = await checkPerson(shared, { name, password: fieldText(body.password), visitor })
      if ('refused' in outcome) return again(outcome)
      const person = { ...outcome, methods: ['pwd'], request, headers, visitor }
      const response = await continueAfterPassword(shared, person)
      return response ?? again({ status: 403, refused: ({ disabled }) => disabled })
    },
  }
}

/**
 * Returns the session if the user may continue without the form. For programs on the user's machine, the form is always
 * shown, because other programs can impersonate them (RFC 8252 §8.6).
 */
async function reusableSession(
  { context }: IdentityContext,
  { client, prompt, maxAgeSeconds }: AuthorizationRequest,
  cookies: string | undefined,
) {
  if (!client.silent || prompt === 'login') return undefined
  const session = await findSession(context, cookies)
  const isTooOld =
    session !== undefined && maxAgeSeconds !== undefined && Date.now() - session.authenticatedAt >= maxAgeSeconds * 1000
  return isTooOld ? undefined : session
}

async function returnWithCode(
  { context }: IdentityContext,
  request: AuthorizationRequest,
  { session, visitor }: { session: Session; visitor: AnonymousCaller },
): Promise<string> {
  const { baseUrl } = context.settings
  try {
    return await context.database.transaction({ tenantId: session.tenant.id }, async (tx) => {
      await useSession(tx, session.id, visitor.request.address)
      return issueCode(tx, baseUrl, { sessionId: session.id, access: session.access, request })
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return refusalLocation(request, error, baseUrl)
  }
}

type FormOptions = {
  status: number
  error?: string
  name?: string
  /** The headers that the browser sent. */
  headers: Readonly<Record<string, string | undefined>>
  /** Additional headers of the response. */
  more?: Record<string, string>
}

async function showForm({ context }: IdentityContext, request: AuthorizationRequest, options: FormOptions) {
  const { baseUrl } = context.settings
  const query = queryOf(request)
  const language = languageFor(options.headers['accept-language'])
  const { browser, proof } = createFormProof(
    context.secrets,
    query,
    readCookie(options.headers.cookie, formCookie, baseUrl),
  )
  const cookie = setCookie(formCookie, browser, {
    seconds: formCookieSeconds,
    sameSite: 'Strict',
    baseUrl,
  })
  const form = {
    to: signInMessages[language].programs[request.client.id] ?? request.client.title,
    action: `/oauth/authorize?${query}`,
    proof,
    name: options.name,
    error: options.error,
    returnsTo: request.redirectUri,
    alternatives: alternativesOf({ ...(await findAlternatives(context, request.tenant)), query, proof, language }),
  }
  return signInPage(form, { status: options.status, language, headers: { 'set-cookie': cookie, ...options.more } })
}

/** Returns the other ways to sign in. It does not contact the providers, so the page works while a provider is down. */
async function findAlternatives({ database }: Context, tenantName: string) {
  const { tenant, hasOtherTenants } = await database.reference(async (handle) => ({
    tenant: await findTenantByName(handle, tenantName),
    hasOtherTenants: await hasSeveralTenants(handle),
  }))
  const { providers: limit } = providerLimits
  const providers =
    tenant && (await database.read({ tenantId: tenant.id }, (handle) => listSignInProviders(handle, limit)))
  return { providers: providers ?? [], hasOtherTenants }
}

type Refused = { refused: (messages: SignInMessages) => string; status: number; more?: Record<string, string> }
type Person = { tenant: Tenant; principalId: string; name: string; passwordHash: string }

/**
 * Checks the name and the password. Other reasons for a refusal, such as a suspended tenant, are shown only after a
 * correct password.
 */
async function checkPerson(
  shared: IdentityContext,
  { name, password, visitor }: { name: string; password: string; visitor: AnonymousCaller },
): Promise<Person | Refused> {
  if (name === '' || password === '') return { refused: ({ incomplete }) => incomplete, status: 400 }
  const account = readSignInName(name)
  const subject = account === undefined ? `user ${name}` : `user ${account.name}@${account.tenant}`
  const attempt = { subject, address: visitor.request.address }
  const { database } = shared.context
  const tenant = account && (await database.reference((handle) => findTenantByName(handle, account.tenant)))
  const signIn = { attempt, action: 'identity.signIn', requestId: visitor.request.id, tenantId: tenant?.id }
  const outcome = await shared.guard
    .checkPassword(signIn, () => verifyPassword(shared, { tenant, name: account?.name ?? '', password }))
    .catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'overloaded') return busy(error)
      throw error
    })
  if ('refused' in outcome) return outcome
  if ('wait' in outcome) return slowed(outcome.wait)
  const { isCorrect, principal, passwordHash } = outcome
  if (!isCorrect || !tenant || !principal || passwordHash === undefined)
    return { refused: ({ wrong }) => wrong, status: 401 }
  if (unavailabilityReason(tenant, 'ui') !== undefined) return { refused: ({ closed }) => closed(tenant), status: 403 }
  return { tenant, principalId: principal.id, name: principal.name, passwordHash }
}

type PasswordInput = { tenant: Tenant | undefined; name: string; password: string }

/** Verifies a password. It takes the same time for known and unknown names. */
async function verifyPassword({ context: { database } }: IdentityContext, { tenant, name, password }: PasswordInput) {
  const user =
    tenant && (await database.read({ tenantId: tenant.id }, (handle) => store.findPasswordByName(handle, name)))
  const isCorrect = await isPassword(password, user?.hash)
  const principal = user && { id: user.principalId, kind: 'user' as const, name: user.name }
  return { isCorrect, tenantId: tenant?.id, principal, passwordHash: user?.hash }
}

function slowed(seconds: number): Refused {
  return { refused: (messages) => messages.slowed(seconds), status: 429, more: { 'retry-after': String(seconds) } }
}

function busy(error: Problem): Refused {
  return { refused: (messages) => messages.busy, status: 503, more: error.headers }
}
