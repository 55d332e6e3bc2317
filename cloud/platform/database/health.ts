import { outageOf } from './transient.ts'

type Checks = {
  /** A statement that only reads. */
  ping: () => Promise<unknown>
  /** A statement that needs disk space and the right to write. */
  probeWrite: () => Promise<unknown>
}

/** How long after its last sign an outage counts as over at the earliest. */
const settleMs = 2_000
/** An answer of the server this short a time ago shows that it is reachable, also while all connections are busy. */
const recentMs = 1_000

/**
 * `DatabaseHealth` knows whether the database works, from two sources: the errors of ordinary work, and checks on request.
 * An outage that work has run into lasts until a write succeeds again and no more such errors come.
 */
export class DatabaseHealth {
  readonly #checks: Checks
  #outage: { state: string; at: number } | undefined
  #answeredAt = -Infinity
  #checking: Promise<void> | undefined

  constructor(checks: Checks) {
    this.#checks = checks
  }

  noteAnswer(): void {
    this.#answeredAt = performance.now()
  }

  noteError(error: unknown): void {
    const state = outageOf(error)
    if (state !== undefined) this.#outage = { state, at: performance.now() }
  }

  /** The state of the server while it does not work, such as `out of disk space`. Answers within the limit. */
  async outage(limitMs: number): Promise<string | undefined> {
    const { promise: expired, resolve } = Promise.withResolvers<'expired'>()
    const timer = setTimeout(resolve, limitMs, 'expired')
    const outcome = await Promise.race([this.#check(), expired])
    clearTimeout(timer)
    if (this.#outage !== undefined) return this.#outage.state
    const isRecent = performance.now() - this.#answeredAt < recentMs
    return outcome === 'expired' && !isRecent ? 'not answering' : undefined
  }

  /** One check at a time: callers during a check share its result, so that a server that hangs costs one connection. */
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
    this.noteAnswer()
    if (this.#outage === suspected && suspected !== undefined && performance.now() - suspected.at >= settleMs)
      this.#outage = undefined
  }
}
