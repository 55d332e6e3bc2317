import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Caller } from '../access/caller.ts'
import type { Database } from '../database/database.ts'
import { limits } from '../limits.ts'
import type { Log } from '../log.ts'
import { placedTopic } from './relay.ts'
import { Tail } from './tail.ts'

/** How often to look for what another process placed, while there are streams. */
const pollMs = 500
/** How many streams read pages from the table at once. */
const readsAtOnce = 4

type Joined = { tail: Tail; streams: number }

/** The streams of this process: how many, whose, and what they read from. */
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
      if (topics.has(placedTopic)) void this.#tails.get(tenantId)?.tail.look()
    })
  }

  /** Counts one more stream of the caller, or refuses it; answers how to count it out again. */
  admit({ principal }: Caller): () => void {
    const own = this.#byPrincipal.get(principal.id) ?? 0
    if (own >= limits.streamsPerPrincipal)
      throw new Problem('too_many_requests', `You may have ${limits.streamsPerPrincipal} streams open: close one`, {
        retryAfter: 5,
      })
    if (this.#streams >= limits.streams)
      throw new Problem('overloaded', `There are ${limits.streams} streams open, and no more are possible`, {
        retryAfter: 5,
      })
    this.#streams++
    this.#byPrincipal.set(principal.id, own + 1)
    return once(() => {
      this.#streams--
      const left = (this.#byPrincipal.get(principal.id) ?? 1) - 1
      if (left === 0) this.#byPrincipal.delete(principal.id)
      else this.#byPrincipal.set(principal.id, left)
    })
  }

  /** What the streams of the caller's tenant read from, made for the first and dropped after the last. */
  join({ tenantId }: Caller, newest: number): { tail: Tail; leave: () => void } {
    const joined = this.#tails.get(tenantId) ?? {
      tail: new Tail({ ...this.#options, reads: this.#reads, tenantId, newest }),
      streams: 0,
    }
    joined.streams++
    this.#tails.set(tenantId, joined)
    this.#timer ??= setInterval(() => this.#poll(), pollMs).unref()
    // What was placed between the caller's look and now was signalled to nobody.
    void joined.tail.look()
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
    for (const { tail } of this.#tails.values()) void tail.look()
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
