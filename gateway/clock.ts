/**
 * The largest difference between the two clocks that is not corrected. Network delay causes such differences, and so
 * does the `date` header, which contains whole seconds only.
 */
const toleratedMs = 2_000

/**
 * `Clock` returns the time of the cloud. Signatures contain this time, because the clocks of machines on shop floors
 * can be wrong.
 */
export class Clock {
  #offsetMs = 0
  readonly #local: () => number

  constructor(local: () => number = Date.now) {
    this.#local = local
  }

  now(): number {
    return this.#local() + this.#offsetMs
  }

  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Adjusts the clock to the `date` header of a response. Returns true when the clock was corrected. */
  observe(dateHeader: string | undefined): boolean {
    const serverTime = Date.parse(dateHeader ?? '')
    if (Number.isNaN(serverTime) || Math.abs(serverTime - this.now()) <= toleratedMs) return false
    const offset = serverTime - this.#local()
    this.#offsetMs = Math.abs(offset) <= toleratedMs ? 0 : offset
    return true
  }
}
