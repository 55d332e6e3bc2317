import { outageOf } from './transient.ts'

type Checks = {
  /** Sends a statement that only reads. */
  ping: () => Promise<unknown>
  /** Sends a statement that needs disk space and write permission. */
  probeWrite: () => Promise<unknown>
}

/** An outage lasts at least this long after its last error. */
const settleMs = 2_000
/** If the server responded within this time, it is reachable, even while all connections are busy. */
const recentMs = 1_000

/**
 * `DatabaseHealth` reports whether the database works. It uses the errors of ordinary statements, and checks the server
 * when `outage` is called. An outage ends when a write succeeds and no outage error has occurred for `settleMs`.
 */
export class DatabaseHealth {
  readonly #checks: Checks
  #outage: { state: string; at: number } | undefined
  #respondedAt = -Infinity
  #checking: Promise<void> | undefined

  constructor(checks: Checks) {
    this.#checks = checks
  }

  noteResponse(): void {
    this.#respondedAt = performance.now()
  }

  noteError(error: unknown): void {
    const state = outageOf(error)
    if (state !== undefined) this.#outage = { state, at: performance.now() }
  }

  /**
   * Returns the state of the server during an outage, such as `out of disk space`. Returns undefined if the server
   * works. The check takes at most `limitMs`.
   */
  async outage(limitMs: number): Promise<string | undefined> {
    const { promise: expired, resolve } = Promise.withResolvers<'expired'>()
    const timer = setTimeout(resolve, limitMs, 'expired')
    const outcome = await Promise.race([this.#check(), expired])
    clearTimeout(timer)
    if (this.#outage !== undefined) return this.#outage.state
    const isRecent = performance.now() - this.#respondedAt < recentMs
    return outcome === 'expired' && !isRecent ? 'not responding' : undefined
  }

  /**
   * Runs one check at a time. Concurrent callers share its result, so a server that does not respond blocks only one
   * connection.
   */
  #check(): Promise<void> {
    this.#checking ??= this.#run().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async #run(): Promise<void> {
    const suspected = this.#outage
    try {
      await (suspected === undefined ? this.#checks.ping() : this.#checks.probeWrite())
    } catch (error) {
      this.noteError(error)
      return
    }
    this.noteResponse()
    if (this.#outage === suspected && suspected !== undefined && performance.now() - suspected.at >= settleMs)
      this.#outage = undefined
  }
}
