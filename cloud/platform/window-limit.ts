import { LruMap } from 'toad-cache'

type Window = { startedAt: number; count: number }

const mostKeys = 10_000

type WindowLimitOptions = {
  most: number
  windowMs: number
  /** The maximum number of keys. Above it, the least recently used key is forgotten. */
  keys?: number
  /** Returns the current time in milliseconds. */
  now?: () => number
}

/**
 * `WindowLimit` allows an action a limited number of times per key and time window. The counts are in the memory of the
 * process.
 */
export class WindowLimit {
  readonly #windows: LruMap<Window>
  readonly #most: number
  readonly #windowMs: number
  readonly #now: () => number

  constructor({ most, windowMs, keys = mostKeys, now = () => performance.now() }: WindowLimitOptions) {
    this.#windows = new LruMap(keys)
    this.#most = most
    this.#windowMs = windowMs
    this.#now = now
  }

  /** Counts the action and returns true, unless the limit of the key is reached. */
  take(key: string): boolean {
    const now = this.#now()
    const current = this.#windows.get(key)
    if (current === undefined || now - current.startedAt >= this.#windowMs) {
      this.#windows.set(key, { startedAt: now, count: 1 })
      return true
    }
    if (current.count >= this.#most) return false
    current.count++
    return true
  }
}
