type Entry<Payload> = { payload: Payload; weight: number }

/** After this time, new payloads may replace a payload that no task took. Another process probably runs its task. */
const staleMs = 30_000

/**
 * `PayloadCache` holds accepted payloads in memory until a background task of the same process takes them. This saves
 * reading and parsing them again. Tasks take the payloads in the order of their acceptance. If a new payload exceeds the
 * capacity, it is therefore not cached, and the earlier payloads stay. This loses no data, because the payloads are also
 * stored in the database.
 */
export class PayloadCache<Payload> {
  readonly #entries = new Map<string, Entry<Payload> & { keptAt: number }>()
  readonly #capacity: number
  #weight = 0

  constructor({ capacity }: { capacity: number }) {
    this.#capacity = capacity
  }

  keep(key: string, { payload, weight }: Entry<Payload>): void {
    this.take(key)
    const now = Date.now()
    const hasRoom = () => this.#weight + weight <= this.#capacity
    for (const [oldest, { keptAt }] of this.#entries) {
      if (hasRoom() || now - keptAt < staleMs) break
      this.take(oldest)
    }
    if (!hasRoom()) return
    this.#entries.set(key, { payload, weight, keptAt: now })
    this.#weight += weight
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
