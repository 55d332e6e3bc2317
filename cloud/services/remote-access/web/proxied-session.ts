import type { Pool } from 'undici'
import { deviceConnections } from './device-connections.ts'
import { type DeviceOrigin, deviceOriginOf } from './device-origin.ts'
import type { Entry } from './entry-cookie.ts'
import { webLimits } from './web-limits.ts'
import type { RequestLog, WebSession, WebSessions } from './web-session.ts'

/** `ProxiedSession` is a session that browsers use in this process, with its connections to the device. */
export class ProxiedSession {
  readonly device: DeviceOrigin
  readonly connections: Pool
  readonly #sessions: WebSessions
  /** The digests of valid cookies. */
  readonly #entries = new Set<string>()
  readonly #exchanges = new Set<AbortController>()
  readonly #log: RequestLog | undefined
  #session: WebSession
  #checkedAt = performance.now()
  #check: Promise<WebSession> | undefined
  #usedAt = performance.now()
  #isEnded = false

  constructor(session: WebSession, sessions: WebSessions) {
    this.#session = session
    this.#sessions = sessions
    this.device = deviceOriginOf(session)
    this.connections = deviceConnections(session, sessions)
    this.#log = sessions.logOf(session)
  }

  get requests(): number {
    return this.#exchanges.size
  }

  get isIdle(): boolean {
    const idleMs = this.#isEnded ? webLimits.endedMs : webLimits.idleMs
    return this.#exchanges.size === 0 && performance.now() - this.#usedAt > idleMs
  }

  /** Returns true for a cookie that is cached as valid. */
  knows({ tenantId, digest }: Entry): boolean {
    return tenantId === this.#session.tenantId && this.#entries.has(digest.toString('base64url'))
  }

  /** Caches a valid cookie. */
  addEntry({ digest }: Entry): void {
    if (this.#entries.size < webLimits.cachedEntries) this.#entries.add(digest.toString('base64url'))
  }

  /** Returns the session with its current state. The state is cached for `webLimits.sessionCacheMs`. */
  async current(): Promise<WebSession> {
    this.#usedAt = performance.now()
    if (this.#session.state === 'ended') return this.#session
    if (!this.#isEnded && performance.now() - this.#checkedAt < webLimits.sessionCacheMs) return this.#session
    this.#check ??= this.#read().finally(() => {
      this.#check = undefined
    })
    return this.#check
  }

  async #read(): Promise<WebSession> {
    const startedAt = performance.now()
    const session = await this.#sessions.findSession(this.#session)
    this.#session = session ?? { ...this.#session, state: 'ended' }
    this.#checkedAt = startedAt
    if (this.#session.state !== 'open') this.end()
    return this.#session
  }

  /** Adds a request. The signal is aborted when the session ends. Returns undefined if there are too many requests. */
  begin(): AbortController | undefined {
    if (this.#exchanges.size >= webLimits.requestsPerSession) return undefined
    const exchange = new AbortController()
    this.#exchanges.add(exchange)
    if (this.#isEnded) exchange.abort()
    return exchange
  }

  /** Removes a request and logs it. */
  async finish(exchange: AbortController, line: string): Promise<void> {
    this.#usedAt = performance.now()
    const isBehind = this.#log?.recorder.line(line) === false
    this.#exchanges.delete(exchange)
    if (this.#isEnded) this.#release()
    if (isBehind) await this.#log?.recorder.flush()
  }

  /** Stores the request log when the last request of an ended session is logged. */
  #release(): void {
    if (this.#exchanges.size === 0) void this.#log?.release()
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Ends all requests and closes all connections. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    for (const exchange of this.#exchanges) exchange.abort()
    this.#release()
    void this.connections.destroy().catch(() => {})
  }
}
