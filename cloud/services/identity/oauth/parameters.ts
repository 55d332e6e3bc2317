/** The parameters of an OAuth request, from form fields or from a query. The value of a repeated parameter is a list. */
export type Parameters = Readonly<Record<string, unknown>>

/**
 * The OAuth errors that this service uses, from RFC 6749 (§4.1.2.1, §5.2), OpenID Connect (`login_required`) and RFC 8628
 * (`slow_down`).
 */
export type OAuthError =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'login_required'
  | 'access_denied'
  | 'slow_down'

/** `Refusal` refuses an OAuth request. The response contains an error code of the RFCs instead of a problem document. */
export class Refusal extends Error {
  readonly error: OAuthError
  /** The seconds until the client may try again. */
  readonly retryAfter: number | undefined

  constructor(error: OAuthError, description: string, { retryAfter }: { retryAfter?: number } = {}) {
    super(description)
    this.name = 'Refusal'
    this.error = error
    this.retryAfter = retryAfter
  }
}

const longestValue = 4_096

/**
 * Returns the value of a parameter. An empty value counts as absent; a repeated parameter is refused (RFC 6749 §3.2).
 */
export function optional(parameters: Parameters, name: string): string | undefined {
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') throw new Refusal('invalid_request', `${name} is sent more than once`)
  if (value.length > longestValue)
    throw new Refusal('invalid_request', `${name} is longer than ${longestValue} characters`)
  return value
}

export function required(parameters: Parameters, name: string): string {
  const value = optional(parameters, name)
  if (value === undefined) throw new Refusal('invalid_request', `${name} is missing`)
  return value
}

const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Returns the roles in a scope, or undefined when the request has no scope. */
export function readScope(scope: string | undefined): string[] | undefined {
  if (scope === undefined) return undefined
  const names = [...new Set(scope.split(' '))]
  if (names.every((name) => scopeToken.test(name))) return names
  throw new Refusal('invalid_scope', 'scope must be a list of role names separated by single spaces')
}

/**
 * Returns the roles of a token: the roles of the scope, or all roles that the principal holds if the request has no
 * scope.
 */
export function narrowed(held: readonly string[], requested: readonly string[] | undefined): string[] {
  if (requested === undefined) return [...held]
  if (requested.every((name) => held.includes(name))) return [...requested]
  throw new Refusal('invalid_scope', 'scope contains a role that the principal does not have')
}

export function refuseRepeated(parameters: Parameters): void {
  for (const name of Object.keys(parameters)) {
    if (typeof parameters[name] !== 'string') throw new Refusal('invalid_request', `${name} is sent more than once`)
  }
}
