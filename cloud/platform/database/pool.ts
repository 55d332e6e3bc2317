import { Problem } from '@millwright/api/problem.ts'
import type { Connection } from './connection.ts'
import { LookupBatcher, lookupsPerBatch } from './lookup-batcher.ts'
import { lostWorkerProblem } from './transient.ts'

/**
 * `ConnectionRequest` is a request for a connection. A `lookup` is one quick statement that can share a connection with
 * other lookups.
 */
type ConnectionRequest = { tenantId: string | undefined; lookup: boolean }

type Waiter = ConnectionRequest & {
  since: number
  resolve: (connection: Connection) => void
  reject: (error: Error) => void
}

type Options = {
  open: () => Promise<Connection>
  size: number
  waitMs: number
  /** Called when a request waits for a connection. */
  onWait?: () => void
}

/**
 * The fraction of the connections that one tenant may hold, so that many requests of one tenant leave connections for
 * other tenants.
 */
const tenantShare = 0.75

/**
 * In a pool with fewer connections than this, one tenant may hold all connections, because enclosing transactions alone
 * hold half of them.
 */
const sharedFrom = 4

/**
 * `Pool` lends connections. It prefers an idle connection that is already bound to the tenant of the request, because
 * rebinding costs a statement. A tenant holds at most its share of the connections. Tenants that wait are served in
 * turn (round-robin), so a tenant with many waiting requests does not delay another tenant. The requests of one tenant
 * are served in their order.
 */
export class Pool {
  readonly #options: Options
  readonly #idle: Connection[] = []
  /** The waiting requests of each tenant. The first tenant in the map is served next. */
  readonly #lines = new Map<string | undefined, Waiter[]>()
  /** How many connections each tenant holds. */
  readonly #held = new Map<string | undefined, number>()
  readonly #share: number
  readonly #lookups = new LookupBatcher()
  /** The connections that tenants use. */
  readonly #used = new Set<Connection>()
  /** The tenants whose requests are refused, because their worker of a cluster does not respond. */
  #refused: ReadonlySet<string> = new Set()
  #open = 0
  #closed = false
  /**
   * True after `close` has waited for the connections in use. A connection that is returned later is closed at once.
   */
  #isDrained = false
  #timeout: NodeJS.Timeout | undefined
  #drained: (() => void) | undefined

  constructor(options: Options) {
    this.#options = options
    const { size } = options
    this.#share = size < sharedFrom ? size : Math.floor(size * tenantShare)
  }

  get inUse(): number {
    return this.#open - this.#idle.length
  }

  get waiting(): number {
    let waiting = 0
    for (const queue of this.#lines.values()) waiting += queue.length
    return waiting
  }

  /** Returns an idle connection directly. A promise would cost time, and every request calls this method. */
  acquire(tenantId: string | undefined, { lookup = false } = {}): Connection | Promise<Connection> {
    if (this.#closed)
      throw new Problem('unavailable', 'The server is shutting down. Retry the request', { retryAfter: 1 })
    if (this.#refused.size > 0 && tenantId !== undefined && this.#refused.has(tenantId)) throw lostWorkerProblem()
    const joined = lookup ? this.#lookups.join(tenantId) : undefined
    if (joined !== undefined) return joined
    if (!this.#isBelowShare(tenantId)) return this.#wait({ tenantId, lookup })
    const idle = this.#takeIdle(tenantId)
    if (idle !== undefined) {
      this.#hold(idle, tenantId)
      if (lookup) this.#lookups.start(idle, tenantId)
      return idle
    }
    if (this.#open < this.#options.size) return this.#openFor(tenantId)
    return this.#wait({ tenantId, lookup })
  }

  /**
   * Returns true if the tenant may hold one more connection. Requests without a tenant use shared tables and have no
   * limit.
   */
  #isBelowShare(tenantId: string | undefined): boolean {
    return tenantId === undefined || (this.#held.get(tenantId) ?? 0) < this.#share
  }

  /** Returns the tenants that hold a connection, wait for one, or are refused. */
  get tenants(): string[] {
    const holders = this.#held.keys()
    return [...new Set([...holders, ...this.#lines.keys(), ...this.#refused])].filter((id) => id !== undefined)
  }

  /** Refuses the requests of these tenants, and closes the connections that wait for their worker. */
  refuse(tenants: ReadonlySet<string>): void {
    this.#refused = tenants
    for (const connection of this.#used) {
      if (!tenants.has(connection.holder ?? '')) continue
      connection.lostWorker = true
      connection.broken = true
      connection.client.connection.stream.destroy()
    }
    for (const tenantId of tenants) {
      for (const waiter of this.#lines.get(tenantId) ?? []) waiter.reject(lostWorkerProblem())
      this.#lines.delete(tenantId)
    }
  }

  #hold(connection: Connection, tenantId: string | undefined): void {
    connection.holder = tenantId
    this.#used.add(connection)
    this.#count(tenantId, 1)
  }

  #count(tenantId: string | undefined, change: 1 | -1): void {
    const held = (this.#held.get(tenantId) ?? 0) + change
    if (held === 0) this.#held.delete(tenantId)
    else this.#held.set(tenantId, held)
  }

  /**
   * Opens a connection for a tenant. The connection counts before it is open, so that requests that start in the same
   * turn of the event loop do not exceed the share.
   */
  async #openFor(tenantId: string | undefined): Promise<Connection> {
    this.#count(tenantId, 1)
    try {
      const opened = await this.#openOne()
      opened.holder = tenantId
      this.#used.add(opened)
      return opened
    } catch (error) {
      this.#count(tenantId, -1)
      this.#openForWaiter()
      throw error
    }
  }

  release(connection: Connection): void {
    if (--connection.users > 0) return
    connection.users = 1
    connection.lease++
    this.#used.delete(connection)
    this.#count(connection.holder, -1)
    this.#lend(connection)
  }

  /** Gives a free connection to the next waiting request. If no request waits, the connection becomes idle. */
  #lend(connection: Connection): void {
    if (connection.broken || this.#isDrained) {
      this.#discard(connection)
      return
    }
    const waiter = this.#nextWaiter()
    if (waiter !== undefined) this.#assign(connection, waiter)
    else {
      this.#idle.push(connection)
      this.#settle()
    }
  }

  /**
   * Gives the connection to a waiting request. If the request is a lookup, other waiting lookups of the same tenant
   * share the connection.
   */
  #assign(connection: Connection, first: Waiter): void {
    const batch = [first]
    const queue = this.#lines.get(first.tenantId) ?? []
    for (let i = 0; first.lookup && i < queue.length && batch.length < lookupsPerBatch; i++)
      if (queue[i]?.lookup) batch.push(...queue.splice(i--, 1))
    if (queue.length === 0) this.#lines.delete(first.tenantId)
    this.#hold(connection, first.tenantId)
    connection.users = batch.length
    if (first.lookup) this.#lookups.start(connection, first.tenantId)
    for (const { resolve } of batch) resolve(connection)
  }

  /** Waits until all connections in use are returned, then closes all connections. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timeout)
    for (const waiter of [...this.#lines.values()].flat())
      waiter.reject(new Problem('unavailable', 'The server is shutting down. Retry the request'))
    this.#lines.clear()
    if (this.inUse > 0) {
      // A connection that is never returned must not block the shutdown. `inUse` still counts such a connection.
      const timeout = setTimeout(() => this.#drained?.(), this.#options.waitMs)
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
      clearTimeout(timeout)
    }
    this.#isDrained = true
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

  #wait(request: ConnectionRequest): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const queue = this.#lines.get(request.tenantId) ?? []
    queue.push({ ...request, since: performance.now(), resolve, reject })
    this.#lines.set(request.tenantId, queue)
    this.#watch()
    this.#options.onWait?.()
    return promise
  }

  /** Starts the timer for the oldest request. One timer is enough, because all requests have the same time limit. */
  #watch(): void {
    if (this.#lines.size === 0 || this.#timeout !== undefined) return
    const since = Math.min(...this.#lines.values().map(([first]) => first?.since ?? Number.POSITIVE_INFINITY))
    const left = since + this.#options.waitMs - performance.now()
    this.#timeout = setTimeout(() => {
      this.#timeout = undefined
      this.#rejectExpired()
      this.#watch()
    }, left)
  }

  #rejectExpired(): void {
    const latest = performance.now() - this.#options.waitMs
    for (const [tenantId, queue] of this.#lines) {
      while (queue[0] !== undefined && queue[0].since <= latest) {
        const problem = new Problem(
          'overloaded',
          `No database connection became free within ${this.#options.waitMs / 1000} seconds. Retry later`,
          { retryAfter: 1 },
        )
        queue.shift()?.reject(problem)
      }
      if (queue.length === 0) this.#lines.delete(tenantId)
    }
  }

  /** Returns the oldest request of the next tenant that is below its share. */
  #nextWaiter(): Waiter | undefined {
    for (const [tenantId, queue] of this.#lines) {
      if (!this.#isBelowShare(tenantId)) continue
      // The tenant moves to the end of the map, so that the other tenants are served before its next request.
      this.#lines.delete(tenantId)
      const waiter = queue.shift()
      if (queue.length > 0) this.#lines.set(tenantId, queue)
      return waiter
    }
    return undefined
  }

  #discard(connection: Connection): void {
    this.#open--
    connection.client.end().catch(() => {})
    this.#settle()
    this.#openForWaiter()
  }

  /** Opens a connection for a waiting request after another connection was closed and not returned. */
  #openForWaiter(): void {
    if (this.#lines.size === 0 || this.#closed || this.#open >= this.#options.size) return
    this.#openOne().then(
      (opened) => this.#lend(opened),
      (error: Error) => {
        this.#nextWaiter()?.reject(error)
        this.#openForWaiter()
      },
    )
  }

  #settle(): void {
    if (this.#closed && this.inUse === 0) this.#drained?.()
  }
}
