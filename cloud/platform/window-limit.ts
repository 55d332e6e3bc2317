type Window = { startedAt: number; count: number }

/** When there are more keys, the one whose window began first is forgotten. */
const mostKeys = 10_000

/** `WindowLimit` allows something a limited number of times per key and time window. Kept in the memory of the process. */
export class WindowLimit {
  readonly #windows = new Map<string, Window>()
  readonly #most: number
  readonly #windowMs: number
  readonly #now: () => number

  constructor({ most, windowMs, now = Date.now }: { most: number; windowMs: number; now?: () => number }) {
    this.#most = most
    this.#windowMs = windowMs
    this.#now = now
  }

  /** True, and counted, while the limit of the key is not reached. */
  take(key: string): boolean {
    const now = this.#now()
    const current = this.#windows.get(key)
    if (current !== undefined && now - current.startedAt < this.#windowMs) {
      if (current.count >= this.#most) return false
      current.count++
      return true
    }
    this.#windows.delete(key)
    this.#windows.set(key, { startedAt: now, count: 1 })
    const [oldest] = this.#windows.keys()
    if (this.#windows.size > mostKeys && oldest !== undefined) this.#windows.delete(oldest)
    return true
  }
}
