import { outageOf } from './transient.ts'

type Checks = {
  /** A statement that only reads. */
  ping: () => Promise<unknown>
  /** A statement that needs disk space and write permission. */
  probeWrite: () => Promise<unknown>
}

/** An outage is over at the earliest this long after its last error. */
const settleMs = 2_000
/** A response within this time shows that the server is reachable, even while all connections are busy. */
const recentMs = 1_000

/**
 * `DatabaseHealth` reports whether the database works. It uses the errors of ordinary work and checks on request. An
 * outage lasts until a write succeeds and no such error occurred for a while.
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

  /** Returns the state of the server while it does not work, such as `out of disk space`. Returns within the limit. */
  async outage(limitMs: number): Promise<string | undefined> {
    const { promise: expired, resolve } = Promise.withResolvers<'expired'>()
    const timer = setTimeout(resolve, limitMs, 'expired')
    const outcome = await Promise.race([this.#check(), expired])
    clearTimeout(timer)
    if (this.#outage !== undefined) return this.#outage.state
    const isRecent = performance.now() - this.#respondedAt < recentMs
    return outcome === 'expired' && !isRecent ? 'not responding' : undefined
  }

  /** Runs one check at a time. Concurrent callers share its result, so a server that hangs blocks one connection. */
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
