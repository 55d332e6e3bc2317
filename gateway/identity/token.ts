import { BackOff } from '@millwright/api/back-off.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Identity } from './enrolment.ts'
import { reasonOf } from './enrolment.ts'
import type { OwnKey } from './key.ts'
import { clientAssertion } from './signatures.ts'

/**
 * `RefusedError` means that the gateway was revoked or deleted on the platform. The gateway cannot recover without a
 * new enrolment.
 */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}

/**
 * When a token is renewed: when the fraction `part` of its lifetime is left, and at least `leastMs` before it expires.
 */
const renewal = { part: 0.2, leastMs: 30_000 } as const

/**
 * The back-off after the platform rejected the gateway. The gateway retries, because the rejection may be temporary.
 */
const refusalPauses = { firstMs: 5_000, longestMs: 5 * 60_000 } as const

type Token = { text: string; renewAtMs: number; expiresAtMs: number }
type Failure = { error: Error; untilMs: number }

/** `ConnectionState` is the state of the connection to the platform. */
export type ConnectionState = 'unknown' | 'online' | 'offline' | 'refused'

type Options = { identity: Identity; key: OwnKey; clock: Clock; log: Log; fetch: typeof fetch }

/**
 * `TokenSource` provides the access token of the gateway. It renews the token before expiry. Concurrent callers share
 * one request.
 */
export class TokenSource {
  readonly #options: Options
  readonly #url: string
  readonly #refusals = new BackOff(refusalPauses)
  readonly #failures = new BackOff({ firstMs: 250, longestMs: 30_000 })
  #token: Token | undefined
  #failure: Failure | undefined
  #pending: Promise<Token> | undefined
  #connectionState: ConnectionState = 'unknown'

  constructor(options: Options) {
    this.#options = options
    this.#url = new URL('/oauth/token', options.identity.baseUrl).href
  }

  get connectionState(): ConnectionState {
    return this.#connectionState
  }

  async get(): Promise<string> {
    const now = this.#options.clock.now()
    if (this.#token !== undefined && now < this.#token.renewAtMs) return this.#token.text
    try {
      return (await this.#renew()).text
    } catch (error) {
      if (this.#token !== undefined && now < this.#token.expiresAtMs) return this.#token.text
      throw error
    }
  }

  /** Discards a token that the cloud rejected. The next request uses a new token. */
  forget(text: string): void {
    if (this.#token?.text === text) this.#token = undefined
  }

  /**
   * Updates the connection state after a request that reached the platform, or failed to reach it. The state `refused`
   * is not changed.
   */
  reportReachability(reached: boolean): void {
    if (this.#connectionState === 'refused') return
    this.#setState(reached ? 'online' : 'offline')
  }

  #renew(): Promise<Token> {
    const failure = this.#failure
    if (failure !== undefined && performance.now() < failure.untilMs) return Promise.reject(failure.error)
    this.#pending ??= this.#request().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  async #request(): Promise<Token> {
    try {
      const token = await this.#requestToken()
      this.#failure = undefined
      this.#refusals.reset()
      this.#failures.reset()
      this.#token = token
      this.#setState('online')
      return token
    } catch (error) {
      const refused = error instanceof RefusedError
      const pauseMs = (refused ? this.#refusals : this.#failures).nextMs()
      this.#failure = { error: error as Error, untilMs: performance.now() + pauseMs }
      this.#setState(refused ? 'refused' : 'offline', error as Error)
      throw error
    }
  }

  async #requestToken(): Promise<Token> {
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
      throw new RefusedError(`The platform rejects this gateway (${why || response.status})`)
    }
    throw new Error(`The token endpoint responded with HTTP status ${response.status}${why === '' ? '' : ` (${why})`}`)
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

  #setState(connectionState: ConnectionState, error?: Error): void {
    if (connectionState === this.#connectionState) return
    this.#connectionState = connectionState
    const { log, identity } = this.#options
    if (connectionState === 'online') log.info({ cloud: identity.baseUrl }, 'connected to the platform')
    if (connectionState === 'offline') {
      const reason = error === undefined ? {} : { reason: reasonOf(error) }
      log.warn({ cloud: identity.baseUrl, ...reason }, 'the platform is not reachable; retrying')
    }
    if (connectionState === 'refused') {
      log.error(
        { cloud: identity.baseUrl, reason: error?.message },
        'the platform rejects this gateway: it was revoked or deleted. Enrol it again with a new gateway-config.json',
      )
    }
  }
}
