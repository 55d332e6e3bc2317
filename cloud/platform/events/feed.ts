import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Caller } from '../access/caller.ts'
import type { Database } from '../database/database.ts'
import { limits } from '../limits.ts'
import type { Log } from '../log.ts'
import { placedTopic } from './relay.ts'
import { Tail } from './tail.ts'

/** How often the streams check for events that another process published. */
const pollMs = 500
/** The maximum number of streams that read pages from the table at the same time. */
const readsAtOnce = 4

type Joined = { tail: Tail; streams: number }

/**
 * `Feed` counts the streams of this process and limits them per principal. All streams of a tenant share one `Tail`.
 */
export class Feed {
  readonly #options: { database: Database; log: Log }
  readonly #reads = new Semaphore({ capacity: readsAtOnce })
  readonly #tails = new Map<string, Joined>()
  readonly #byPrincipal = new Map<string, number>()
  #streams = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: { database: Database; log: Log }) {
    this.#options = options
    options.database.onCommit(({ tenantId, topics }) => {
      if (topics.has(placedTopic)) void this.#tails.get(tenantId)?.tail.refresh()
    })
  }

  /**
   * Counts a new stream of the caller, or refuses it if the limit is reached. Returns a function that removes the
   * stream from the count.
   */
  register({ principal }: Caller): () => void {
    const own = this.#byPrincipal.get(principal.id) ?? 0
    if (own >= limits.streamsPerPrincipal)
      throw new Problem(
        'too_many_requests',
        `You have ${limits.streamsPerPrincipal} open streams, which is the limit. Close one first`,
        {
          retryAfter: 5,
        },
      )
    if (this.#streams >= limits.streams)
      throw new Problem(
        'overloaded',
        `The server has ${limits.streams} open streams, which is its limit. Retry later`,
        {
          retryAfter: 5,
        },
      )
    this.#streams++
    this.#byPrincipal.set(principal.id, own + 1)
    return once(() => {
      this.#streams--
      const left = (this.#byPrincipal.get(principal.id) ?? 1) - 1
      if (left === 0) this.#byPrincipal.delete(principal.id)
      else this.#byPrincipal.set(principal.id, left)
    })
  }

  /**
   * Returns the tail of the caller's tenant. All streams of the tenant read from it. The tail is created for the first
   * stream and removed after the last stream.
   */
  join({ tenantId }: Pick<Caller, 'tenantId'>, newest: number): { tail: Tail; leave: () => void } {
    const joined = this.#tails.get(tenantId) ?? {
      tail: new Tail({ ...this.#options, reads: this.#reads, tenantId, newest }),
      streams: 0,
    }
    joined.streams++
    this.#tails.set(tenantId, joined)
    this.#timer ??= setInterval(() => this.#poll(), pollMs).unref()
    // Events may have been published after the caller read the newest position and before this tail existed. The tail
    // got no signal for these events, so it reads them now.
    void joined.tail.refresh()
    return { tail: joined.tail, leave: once(() => this.#leave(tenantId, joined)) }
  }

  #leave(tenantId: string, joined: Joined): void {
    joined.streams--
    if (joined.streams > 0) return
    this.#tails.delete(tenantId)
    if (this.#tails.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #poll(): void {
    for (const { tail } of this.#tails.values()) void tail.refresh()
  }
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}
