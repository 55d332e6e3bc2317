import { Problem } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'

type Bucket = { tokens: number; at: number }

const mostPrincipals = 10_000

/**
 * `RateLimit` has one token bucket for each principal, and one for each address of clients without a principal. A
 * bucket allows a burst of the requests of one second, then a steady rate. The buckets are in the memory of each
 * process, because the limit only protects a process from a faulty client.
 */
export class RateLimit {
  readonly #perSecond: number
  readonly #policy: string
  readonly #buckets = new LruMap<Bucket>(mostPrincipals)
  readonly #now: () => number

  constructor({ perSecond, now = () => performance.now() }: { perSecond: number; now?: () => number }) {
    this.#perSecond = perSecond
    this.#policy = `"default";q=${perSecond};w=1`
    this.#now = now
  }

  /**
   * Takes one token from the bucket of the key. Returns the headers with the state of the limit. Throws if the
   * bucket is empty.
   */
  take(key: string): Record<string, string> {
    const bucket = this.#bucket(key)
    if (bucket.tokens < 1) {
      const wait = (1 - bucket.tokens) / this.#perSecond
      throw new Problem(
        'too_many_requests',
        `The limit of ${this.#perSecond} requests per second is exceeded. Retry later`,
        {
          retryAfter: Math.max(1, wait),
          headers: this.#headers(0, 1),
        },
      )
    }
    bucket.tokens -= 1
    return this.#headers(Math.floor(bucket.tokens), 1)
  }

  #bucket(key: string): Bucket {
    const now = this.#now()
    const bucket = this.#buckets.get(key)
    if (bucket !== undefined) {
      bucket.tokens = Math.min(this.#perSecond, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
      bucket.at = now
      return bucket
    }
    const fresh = { tokens: this.#perSecond, at: now }
    this.#buckets.set(key, fresh)
    return fresh
  }

  #headers(remaining: number, seconds: number): Record<string, string> {
    return { 'ratelimit-policy': this.#policy, ratelimit: `"default";r=${remaining};t=${seconds}` }
  }
}
