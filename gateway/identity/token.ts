import { BackOff } from '@millwright/api/back-off.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Identity } from './enrolment.ts'
import { reasonOf } from './enrolment.ts'
import type { OwnKey } from './key.ts'
import { clientAssertion } from './signatures.ts'

/** The cloud does not know this gateway any more: nothing that the gateway can do changes that. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}

/** A token is renewed when this part of its life is left, and at least so many seconds before its end. */
const renewal = { part: 0.2, leastMs: 30_000 } as const

/** After a refusal it is asked again ever more rarely: it may be let in again, but it does not knock all the time. */
const refusalPauses = { firstMs: 5_000, longestMs: 5 * 60_000 } as const

type Token = { text: string; renewAtMs: number; expiresAtMs: number }
type Failure = { error: Error; untilMs: number }

/** How the gateway stands with the cloud, as far as it knows. */
export type Standing = 'unknown' | 'online' | 'offline' | 'refused'

type Options = { identity: Identity; key: OwnKey; clock: Clock; log: Log; fetch: typeof fetch }

/** The gateway's access token: got with its key, renewed before it expires, asked for once by however many. */
export class TokenSource {
  readonly #options: Options
  readonly #url: string
  readonly #refusals = new BackOff(refusalPauses)
  readonly #failures = new BackOff({ firstMs: 250, longestMs: 30_000 })
  #token: Token | undefined
  #failure: Failure | undefined
  #pending: Promise<Token> | undefined
  #standing: Standing = 'unknown'

  constructor(options: Options) {
    this.#options = options
    this.#url = new URL('/oauth/token', options.identity.baseUrl).href
  }

  get standing(): Standing {
    return this.#standing
  }

  async get(): Promise<string> {
    const now = this.#options.clock.now()
    if (this.#token !== undefined && now < this.#token.renewAtMs) return this.#token.text
    try {
      return (await this.#renewed()).text
    } catch (error) {
      if (this.#token !== undefined && now < this.#token.expiresAtMs) return this.#token.text
      throw error
    }
  }

  /** The cloud did not take it: the next request gets a new one. */
  forget(text: string): void {
    if (this.#token?.text === text) this.#token = undefined
  }

  /** A request was answered, or could not be sent at all. */
  noteReached(reached: boolean): void {
    if (this.#standing === 'refused') return
    this.#becomes(reached ? 'online' : 'offline')
  }

  #renewed(): Promise<Token> {
    const failure = this.#failure
    if (failure !== undefined && performance.now() < failure.untilMs) return Promise.reject(failure.error)
    this.#pending ??= this.#request().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  async #request(): Promise<Token> {
    try {
      const token = await this.#ask()
      this.#failure = undefined
      this.#refusals.reset()
      this.#failures.reset()
      this.#token = token
      this.#becomes('online')
      return token
    } catch (error) {
      const refused = error instanceof RefusedError
      const pauseMs = (refused ? this.#refusals : this.#failures).nextMs()
      this.#failure = { error: error as Error, untilMs: performance.now() + pauseMs }
      this.#becomes(refused ? 'refused' : 'offline', error as Error)
      throw error
    }
  }

  async #ask(): Promise<Token> {
    const { clock } = this.#options
    const first = await this.#send()
    const corrected = clock.observe(first.headers.get('date') ?? undefined)
    const response = first.ok || !corrected ? first : await this.#send()
    const body = (await response.json().catch(() => ({}))) as Record<string, unknown>
    if (response.ok && typeof body.access_token === 'string') {
      const lifeMs = (typeof body.expires_in === 'number' ? body.expires_in : 300) * 1000
      const now = clock.now()
      const leftMs = Math.min(lifeMs / 2, Math.max(lifeMs * renewal.part, renewal.leastMs))
      return { text: body.access_token, renewAtMs: now + lifeMs - leftMs, expiresAtMs: now + lifeMs }
    }
    const why = [body.error, body.error_description ?? body.detail]
      .filter((part) => typeof part === 'string')
      .join(': ')
    if (response.status < 500 && response.status !== 429 && response.status !== 408) {
      throw new RefusedError(`The cloud refuses this gateway (${why || response.status})`)
    }
    throw new Error(`The token endpoint answered ${response.status}${why === '' ? '' : ` (${why})`}`)
  }

  async #send(): Promise<Response> {
    const { identity, key, clock, fetch } = this.#options
    const assertion = await clientAssertion({ key, clock }, { clientId: identity.clientId, audience: this.#url })
    return fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      }).toString(),
      redirect: 'manual',
    })
  }

  #becomes(standing: Standing, error?: Error): void {
    if (standing === this.#standing) return
    this.#standing = standing
    const { log, identity } = this.#options
    if (standing === 'online') log.info({ cloud: identity.baseUrl }, 'the cloud is reached')
    if (standing === 'offline') {
      const reason = error === undefined ? {} : { reason: reasonOf(error) }
      log.warn({ cloud: identity.baseUrl, ...reason }, 'the cloud cannot be reached; trying again')
    }
    if (standing === 'refused') {
      log.error(
        { cloud: identity.baseUrl, reason: error?.message },
        'the cloud refuses this gateway: it was revoked or deleted. Enrol it anew with a new gateway-config.json',
      )
    }
  }
}
