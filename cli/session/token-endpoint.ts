import { CommandError, exitCodes } from '../output/error-report.ts'
import { notAPlatform, unreachable } from './address.ts'

export type Tokens = { accessToken: string; expires: number; refreshToken?: string; renewAt?: number }

/**
 * While commands use a session, they renew its token this many times within the lifetime of the token. The platform
 * records a renewal as the use of the session, and a token expires with the idle limit of the session at the latest.
 */
const renewalsPerLifetime = 10

type Answer = {
  access_token?: string
  expires_in?: number
  refresh_token?: string
  error?: string
  error_description?: string
}

/** `TokenRefusal` is the error for a token request that the platform rejected. */
export class TokenRefusal extends CommandError {
  /** The error code of RFC 6749, such as `invalid_grant` or `invalid_client`. */
  readonly reason: string

  constructor(reason: string, sentence: string) {
    super(sentence, { exitCode: exitCodes.denied, next: 'sign in again: millwright login' })
    this.reason = reason
  }
}

/** Requests a token with plain `fetch`. The contract of the service is not loaded, so that commands start fast. */
export async function requestToken(url: string, form: Record<string, string>): Promise<Tokens> {
  const requestedAt = Date.now()
  const response = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
    redirect: 'error',
  }).catch((error: unknown) => {
    throw unreachable(url, error)
  })
  const answer = (await response.json().catch(() => ({}))) as Answer
  if (answer.access_token === undefined) {
    if (response.status === 429) {
      const wait = response.headers.get('retry-after') ?? '60'
      throw new CommandError(`Too many failed attempts. Wait ${wait} seconds.`, { exitCode: exitCodes.denied })
    }
    if (answer.error === undefined) throw notAPlatform(url, response.status)
    throw new TokenRefusal(answer.error, `Sign-in failed: ${answer.error_description ?? answer.error}.`)
  }
  const { access_token: accessToken, expires_in: seconds = 0, refresh_token: refreshToken } = answer
  const tokens = { accessToken, expires: requestedAt + seconds * 1000 }
  if (refreshToken === undefined) return tokens
  return { ...tokens, refreshToken, renewAt: requestedAt + (seconds * 1000) / renewalsPerLifetime }
}

export function byClientSecret(clientId: string, clientSecret: string): Record<string, string> {
  return { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
}

/** Ends the sign-in session of a refresh token, and so its refresh tokens and access tokens. Returns whether it ended. */
export function endSession(url: string, refreshToken: string): Promise<boolean> {
  return postForm(`${url}/oauth/logout`, { refresh_token: refreshToken })
}

/** Sends a form to an endpoint without a response body. Returns whether the platform accepted it. */
export async function postForm(url: string, form: Record<string, string>): Promise<boolean> {
  const request = { method: 'POST', body: new URLSearchParams(form), redirect: 'error' as const }
  const response = await fetch(url, request).catch(() => undefined)
  return response?.ok === true
}
