import { Problem } from '@millwright/api/problem.ts'
import type { Client } from 'pg'
import { Glances, glancesTogether } from './glances.ts'

export type Connection = {
  client: Client
  /** The tenant this session is bound to, where tenants are bound per session. */
  tenantId: string | undefined
  /** How many use it at once: one, or a few that only glance. */
  users: number
  /** Moves with every use, so that a handle of an earlier use is recognised. */
  lease: number
  /** Set when its state is unknown (a failed rollback, a lost socket): it is closed instead of reused. */
  broken: boolean
  /** The first error of its transaction: PostgreSQL answers every later statement with a consequence of it. */
  firstError: unknown
}

/** `glance`: one quick look-up, which may share a connection with others of its kind. */
type Wanted = { tenantId: string | undefined; glance: boolean }

type Waiter = Wanted & {
  since: number
  resolve: (connection: Connection) => void
  reject: (error: Error) => void
}

type Options = { open: () => Promise<Connection>; size: number; waitMs: number }

/** Among how many a waiter of the right tenant is looked for, and by how many of them the oldest is passed. */
const fewWaiters = 4

/**
 * A pool that prefers a connection already bound to the wanted tenant: rebinding is cheap, not rebinding is free.
 * The libraries' pools cannot choose among idle connections, which is the whole point here.
 */
export class Pool {
  readonly #options: Options
  readonly #idle: Connection[] = []
  readonly #waiting: Waiter[] = []
  readonly #glances = new Glances()
  #open = 0
  /** How often the oldest waiter was passed by. */
  #passedBy = 0
  #closed = false
  /** Nobody closes any more what comes back from now on. */
  #ended = false
  #patience: NodeJS.Timeout | undefined
  #drained: (() => void) | undefined

  constructor(options: Options) {
    this.#options = options
  }

  get inUse(): number {
    return this.#open - this.#idle.length
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** A connection that is idle is given at once, without a promise: this is where every request passes. */
  acquire(tenantId: string | undefined, { glance = false } = {}): Connection | Promise<Connection> {
    if (this.#closed) throw new Problem('unavailable', 'The process is shutting down', { retryAfter: 1 })
    const joined = glance ? this.#glances.join(tenantId) : undefined
    if (joined !== undefined) return joined
    const idle = this.#takeIdle(tenantId)
    if (idle !== undefined) {
      if (glance) this.#glances.gather(idle, tenantId)
      return idle
    }
    if (this.#open < this.#options.size) return this.#openOne().catch((error) => this.#passOn(error))
    return this.#wait({ tenantId, glance })
  }

  release(connection: Connection): void {
    if (--connection.users > 0) return
    connection.users = 1
    connection.lease++
    if (connection.broken || this.#ended) {
      this.#discard(connection)
      return
    }
    const waiter = this.#nextWaiter(connection.tenantId)
    if (waiter !== undefined) this.#handOver(connection, waiter)
    else {
      this.#idle.push(connection)
      this.#settle()
    }
  }

  /** Who only glances is joined by others who wait to do the same: their questions travel together. */
  #handOver(connection: Connection, first: Waiter): void {
    const together = [first]
    for (let i = 0; first.glance && i < this.#waiting.length && together.length < glancesTogether; i++) {
      const next = this.#waiting[i]
      if (!next?.glance || next.tenantId !== first.tenantId) continue
      together.push(...this.#waiting.splice(i--, 1))
    }
    connection.users = together.length
    if (first.glance) this.#glances.gather(connection, first.tenantId)
    for (const { resolve } of together) resolve(connection)
  }

  /** Waits for the connections in use to come back, then closes all. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#patience)
    for (const waiter of this.#waiting.splice(0))
      waiter.reject(new Problem('unavailable', 'The process is shutting down'))
    if (this.inUse > 0) {
      // A connection that was never given back must not hold up the end for good; `inUse` then tells.
      const patience = setTimeout(() => this.#drained?.(), this.#options.waitMs)
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
      clearTimeout(patience)
    }
    this.#ended = true
    const idle = this.#idle.splice(0)
    this.#open -= idle.length
    await Promise.allSettled(idle.map((connection) => connection.client.end()))
  }

  #takeIdle(tenantId: string | undefined): Connection | undefined {
    for (let i = this.#idle.length - 1; i >= 0; i--) {
      const connection = this.#idle[i]
      if (connection?.broken) {
        this.#idle.splice(i, 1)
        this.#discard(connection)
      } else if (tenantId === undefined || connection?.tenantId === tenantId) {
        return this.#idle.splice(i, 1)[0]
      }
    }
    return this.#idle.shift()
  }

  async #openOne(): Promise<Connection> {
    this.#open++
    try {
      return await this.#options.open()
    } catch (error) {
      this.#open--
      this.#settle()
      throw error
    }
  }

  #wait(wanted: Wanted): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    this.#waiting.push({ ...wanted, since: performance.now(), resolve, reject })
    this.#watch()
    return promise
  }

  /** All wait equally long, so one timer for the first of them is enough. */
  #watch(): void {
    const first = this.#waiting[0]
    if (first === undefined || this.#patience !== undefined) return
    const left = first.since + this.#options.waitMs - performance.now()
    this.#patience = setTimeout(() => {
      this.#patience = undefined
      this.#refuseLate()
      this.#watch()
    }, left)
  }

  #refuseLate(): void {
    const latest = performance.now() - this.#options.waitMs
    while (this.#waiting[0] !== undefined && this.#waiting[0].since <= latest) {
      const problem = new Problem('overloaded', 'No database connection became free in time', { retryAfter: 1 })
      this.#waiting.shift()?.reject(problem)
    }
  }

  /** The oldest waiter of the same tenant among the first few, else the oldest, who is passed by a few times at most. */
  #nextWaiter(tenantId: string | undefined): Waiter | undefined {
    const first = this.#waiting.slice(0, this.#passedBy < fewWaiters ? fewWaiters : 1)
    const same = first.findIndex((waiter) => waiter.tenantId === tenantId)
    const index = Math.max(same, 0)
    this.#passedBy = index === 0 ? 0 : this.#passedBy + 1
    return this.#waiting.splice(index, 1)[0]
  }

  #discard(connection: Connection): void {
    this.#open--
    connection.client.end().catch(() => {})
    this.#settle()
    this.#openForWaiter()
  }

  /** Room that became free otherwise than by a connection that came back: nobody else would think of who waits. */
  #openForWaiter(): void {
    if (this.#waiting.length === 0 || this.#closed || this.#open >= this.#options.size) return
    this.#openOne().then(
      (opened) => this.release(opened),
      (error: Error) => {
        this.#waiting.shift()?.reject(error)
        this.#openForWaiter()
      },
    )
  }

  #passOn(error: unknown): never {
    this.#openForWaiter()
    throw error
  }

  #settle(): void {
    if (this.#closed && this.inUse === 0) this.#drained?.()
  }
}
