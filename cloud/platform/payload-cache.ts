type Entry<Payload> = { payload: Payload; weight: number }

/**
 * `PayloadCache` holds accepted payloads in memory until a background task of the same process takes them, which saves
 * reading and parsing them again. The stored payload is authoritative: when the payloads together are heavier than the
 * capacity, the oldest ones are dropped.
 */
export class PayloadCache<Payload> {
  readonly #entries = new Map<string, Entry<Payload>>()
  readonly #capacity: number
  #weight = 0

  constructor({ capacity }: { capacity: number }) {
    this.#capacity = capacity
  }

  keep(key: string, entry: Entry<Payload>): void {
    this.take(key)
    this.#entries.set(key, entry)
    this.#weight += entry.weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) return
      this.take(oldest)
    }
  }

  /** Returns a payload once: a second attempt reads the stored one. */
  take(key: string): Payload | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#weight -= entry.weight
    return entry.payload
  }
}
