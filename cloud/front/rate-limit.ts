import { Problem } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'
import type { SharedCounts, SharedLimit } from '../platform/shared-counts.ts'

type Bucket = { tokens: number; at: number }

type RateLimitOptions = { perSecond: number; sharedCounts?: SharedCounts; now?: () => number }

const mostPrincipals = 10_000
/** A process reports the requests of a client to the other processes if they use at least this part of the limit. */
const reportedShare = 0.1
/** The number of times per second at which a process reports requests. */
const reportsPerSecond = 20

/**
 * `RateLimit` has one token bucket for each principal, and one for each address of clients without a principal. A
 * bucket allows a burst of the requests of one second, then a steady rate. The buckets are in the memory of each
 * process. The processes send each other the requests of clients that use much of the limit, and take these requests from
 * their own buckets. So the steady rate applies to all processes together. A burst applies to each process separately.
 */
export class RateLimit {
  readonly #perSecond: number
  readonly #policy: string
  readonly #buckets = new LruMap<Bucket>(mostPrincipals)
  readonly #now: () => number
  readonly #shared: SharedLimit | undefined

  constructor({ perSecond, sharedCounts, now = () => performance.now() }: RateLimitOptions) {
    this.#perSecond = perSecond
    this.#shared = sharedCounts?.join('requests', {
      leastCount: (reportedShare * perSecond) / reportsPerSecond,
      onChange: (key, { count }) => this.#takeShared(key, count),
    })
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
    this.#shared?.add(key, 1)
    return this.#headers(Math.floor(bucket.tokens), 1)
  }

  /** Takes the requests that other processes have answered. The bucket gets at most the debt of one second. */
  #takeShared(key: string, count: number): void {
    const bucket = this.#bucket(key)
    bucket.tokens = Math.max(bucket.tokens - count, -this.#perSecond)
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
