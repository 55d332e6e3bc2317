import { Problem } from '@millwright/api/problem.ts'
import { tokenAlgorithm } from '@millwright/api/token.ts'
import { type CryptoKey, importJWK, type JWK } from 'jose'

type Options = { load: () => Promise<JWK[]>; onRemoved: (kid: string) => void; now?: () => number }

/**
 * The shortest time between two reloads of the keys. An unknown key id may belong to a new key, so the keys are read
 * again, but not for every unknown id.
 */
const reloadAfterMs = 2_000
const freshForMs = 30_000

/** `KeyRing` holds the public keys that verify access tokens, as the identity service publishes them. */
export class KeyRing {
  readonly #options: Options
  readonly #now: () => number
  #keys = new Map<string, CryptoKey>()
  #loadedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  async find(kid: string): Promise<CryptoKey | undefined> {
    const age = this.#now() - this.#loadedAt
    const cached = this.#keys.get(kid)
    if (cached !== undefined) {
      if (age > freshForMs) this.#reload().catch(() => {})
      return cached
    }
    if (age > reloadAfterMs) await this.#reload()
    return this.#keys.get(kid)
  }

  #reload(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #load(): Promise<void> {
    const published = await this.#options.load().catch((error: unknown) => {
      throw new Problem('unavailable', 'The public keys for access tokens are not available. Retry later', {
        retryAfter: 2,
        cause: error,
      })
    })
    const keys = new Map<string, CryptoKey>()
    for (const jwk of published) {
      if (jwk.kid !== undefined) keys.set(jwk.kid, (await importJWK(jwk, tokenAlgorithm)) as CryptoKey)
    }
    for (const kid of this.#keys.keys()) if (!keys.has(kid)) this.#options.onRemoved(kid)
    this.#keys = keys
    this.#loadedAt = this.#now()
  }
}
