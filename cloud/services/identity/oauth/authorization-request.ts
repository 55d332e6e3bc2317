import { findPublicClient, type PublicClient } from './client.ts'
import { type OAuthError, optional, type Parameters, Refusal, readScope, required } from './parameters.ts'

/** A validated request to sign in to a built-in program. The user is not known yet. */
export type AuthorizationRequest = {
  client: PublicClient
  redirectUri: string
  state: string | undefined
  /** The requested role names. `undefined` requests all roles that the user holds. */
  scope: string[] | undefined
  challenge: string
  prompt: 'login' | 'none' | undefined
  /** The maximum age of the user's last sign-in in seconds. An older session is not reused (RFC 9470). */
  maxAgeSeconds: number | undefined
  /** The name of the tenant whose identity providers the sign-in page shows. */
  tenant: string
}

export type ReadResult =
  /** The request has no safe redirect address, so an error page shows the reason. */
  | { outcome: 'unsafe'; detail: string }
  | { outcome: 'refused'; location: string }
  | { outcome: 'accepted'; request: AuthorizationRequest }

const defaultTenant = 'default'
const tenantName = /^[a-z0-9][a-z0-9-]{0,62}$/
const s256 = /^[A-Za-z0-9_-]{43}$/

export function readAuthorizationRequest(query: Parameters, baseUrl: string): ReadResult {
  const target = readRedirectTarget(query, baseUrl)
  if ('outcome' in target) return target
  let state: string | undefined
  try {
    state = optional(query, 'state')
    return { outcome: 'accepted', request: { ...target, state, ...readRest(query) } }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { outcome: 'refused', location: refusalLocation({ ...target, state }, error, baseUrl) }
  }
}

type RedirectTarget = { client: PublicClient; redirectUri: string }

/** Reads the redirect address. It is read first, because later errors are reported by a redirect to this address. */
function readRedirectTarget(query: Parameters, baseUrl: string): RedirectTarget | (ReadResult & { outcome: 'unsafe' }) {
  try {
    const client = findPublicClient(required(query, 'client_id'))
    if (client === undefined) return { outcome: 'unsafe', detail: 'No client is registered with this client_id.' }
    const redirectUri = required(query, 'redirect_uri')
    if (client.mayReturnTo(redirectUri, baseUrl)) return { client, redirectUri }
    return { outcome: 'unsafe', detail: `The redirect_uri is not registered for ${client.title}.` }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { outcome: 'unsafe', detail: `The request is invalid: ${error.message}.` }
  }
}

function readRest(
  query: Parameters,
): Pick<AuthorizationRequest, 'scope' | 'challenge' | 'prompt' | 'maxAgeSeconds' | 'tenant'> {
  if (required(query, 'response_type') !== 'code') {
    throw new Refusal('unsupported_response_type', 'response_type must be code')
  }
  if ((optional(query, 'response_mode') ?? 'query') !== 'query') {
    throw new Refusal('invalid_request', 'response_mode must be query')
  }
  const challenge = required(query, 'code_challenge')
  if (optional(query, 'code_challenge_method') !== 'S256') {
    throw new Refusal('invalid_request', 'code_challenge_method must be S256')
  }
  if (!s256.test(challenge)) throw new Refusal('invalid_request', 'code_challenge is not a valid S256 challenge')
  const tenant = optional(query, 'tenant') ?? defaultTenant
  if (!tenantName.test(tenant)) throw new Refusal('invalid_request', 'tenant is not a valid name of a tenant')
  return {
    challenge,
    scope: readScope(optional(query, 'scope')),
    prompt: readPrompt(optional(query, 'prompt')),
    maxAgeSeconds: readMaxAge(optional(query, 'max_age')),
    tenant,
  }
}

function readMaxAge(maxAge: string | undefined): number | undefined {
  if (maxAge === undefined) return undefined
  if (!/^\d{1,9}$/.test(maxAge)) throw new Refusal('invalid_request', 'max_age must be a number of seconds')
  return Number(maxAge)
}

function readPrompt(prompt: string | undefined): AuthorizationRequest['prompt'] {
  const values = prompt?.split(' ') ?? []
  if (values.includes('none') && values.length > 1) {
    throw new Refusal('invalid_request', 'prompt=none cannot be combined with other values')
  }
  if (values.includes('none')) return 'none'
  return values.includes('login') || values.includes('select_account') ? 'login' : undefined
}

type Return = { redirectUri: string; state: string | undefined }

/** Returns the redirect address with the code. `iss` identifies the server (RFC 9207). */
export function codeLocation({ redirectUri, state }: Return, code: string, issuer: string): string {
  return withParameters(redirectUri, { code, state, iss: issuer })
}

export function refusalLocation(to: Return, refusal: { error: OAuthError; message: string }, issuer: string): string {
  const { error, message } = refusal
  return withParameters(to.redirectUri, { error, error_description: message, state: to.state, iss: issuer })
}

function withParameters(redirectUri: string, parameters: Record<string, string | undefined>): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

/** Writes the request as a query string, for the `action` attribute of the sign-in form. */
export function queryOf(request: AuthorizationRequest): string {
  const { client, redirectUri, state, scope, challenge, prompt, maxAgeSeconds, tenant } = request
  const query = new URLSearchParams({ response_type: 'code', client_id: client.id, redirect_uri: redirectUri })
  if (scope !== undefined) query.set('scope', scope.join(' '))
  if (state !== undefined) query.set('state', state)
  query.set('code_challenge', challenge)
  query.set('code_challenge_method', 'S256')
  if (prompt !== undefined) query.set('prompt', prompt)
  if (maxAgeSeconds !== undefined) query.set('max_age', String(maxAgeSeconds))
  if (tenant !== defaultTenant) query.set('tenant', tenant)
  return query.toString()
}
