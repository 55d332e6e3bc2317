/** Smaller differences are the way of the answer and the whole seconds of the header, not a wrong clock. */
const toleratedMs = 2_000

/** The cloud's time. Clocks on shop floors are wrong, and signatures say when they were made. */
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

  /** Learns from the `date` header of an answer; true when the clock was corrected by it. */
  observe(dateHeader: string | undefined): boolean {
    const told = Date.parse(dateHeader ?? '')
    if (Number.isNaN(told) || Math.abs(told - this.now()) <= toleratedMs) return false
    const offset = told - this.#local()
    this.#offsetMs = Math.abs(offset) <= toleratedMs ? 0 : offset
    return true
  }
}
