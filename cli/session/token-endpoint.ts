import { CommandError, exitCodes } from '../output/error-report.ts'
import { notAPlatform, unreachable } from './address.ts'

export type Tokens = { accessToken: string; expires: number; refreshToken?: string }

type Answer = {
  access_token?: string
  expires_in?: number
  refresh_token?: string
  error?: string
  error_description?: string
}

/** What the platform said to a request for a token that it did not like. */
export class TokenRefused extends CommandError {
  /** `invalid_grant`, `invalid_client` … of RFC 6749. */
  readonly reason: string

  constructor(reason: string, sentence: string) {
    super(sentence, { exitCode: exitCodes.denied, next: 'sign in again: millwright login' })
    this.reason = reason
  }
}

/** Asks for a token. Nothing of the contract is loaded for it: most commands ask no more than this and one thing else. */
export async function askForToken(url: string, form: Record<string, string>): Promise<Tokens> {
  const askedAt = Date.now()
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
      throw new CommandError(`There were too many wrong tries: wait ${wait} seconds.`, { exitCode: exitCodes.denied })
    }
    if (answer.error === undefined) throw notAPlatform(url, response.status)
    throw new TokenRefused(answer.error, `You were not let in: ${answer.error_description ?? answer.error}.`)
  }
  return {
    accessToken: answer.access_token,
    expires: askedAt + (answer.expires_in ?? 0) * 1000,
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
  }
}

export function byClientSecret(clientId: string, clientSecret: string): Record<string, string> {
  return { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
}
