type Entry<Payload> = { payload: Payload; weight: number }

/**
 * `PayloadCache` holds accepted payloads in memory until a background task of the same process takes them. This saves
 * reading and parsing them again. If the total weight exceeds the capacity, the oldest payloads are dropped. This loses
 * no data, because the payloads are also stored in the database.
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

  /** Removes a payload from the cache and returns it. A second attempt of the task must read the stored payload. */
  take(key: string): Payload | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#weight -= entry.weight
    return entry.payload
  }
}
