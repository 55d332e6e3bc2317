import { LruMap } from 'toad-cache'
import type { SharedCounts, SharedLimit } from './shared-counts.ts'

type Window = { startedAt: number; count: number }

const mostKeys = 10_000

type WindowLimitOptions = {
  most: number
  windowMs: number
  /** The maximum number of keys. Above it, the least recently used key is forgotten. */
  keys?: number
  /** Sends the counts to other processes. `name` is the name of the limit, which is the same in all processes. */
  shared?: { name: string; counts: SharedCounts }
  /** Returns the current time in milliseconds. */
  now?: () => number
}

/**
 * `WindowLimit` allows an action a limited number of times per key and time window. The counts are in the memory of the
 * process. With `shared`, actions of other processes count too.
 */
export class WindowLimit {
  readonly #windows: LruMap<Window>
  readonly #most: number
  readonly #windowMs: number
  readonly #now: () => number

  readonly #shared: SharedLimit | undefined

  constructor({ most, windowMs, keys = mostKeys, shared, now = () => performance.now() }: WindowLimitOptions) {
    this.#windows = new LruMap(keys)
    this.#most = most
    this.#windowMs = windowMs
    this.#now = now
    this.#shared = shared?.counts.join(shared.name, { onChange: (key, { count }) => this.#count(key, count) })
  }

  /** Counts the action and returns true, unless the limit of the key is reached. */
  take(key: string): boolean {
    const current = this.#current(key)
    if (current !== undefined && current.count >= this.#most) return false
    this.#count(key, 1)
    this.#shared?.add(key, 1)
    return true
  }

  #count(key: string, count: number): void {
    const current = this.#current(key)
    if (current === undefined) this.#windows.set(key, { startedAt: this.#now(), count })
    else current.count += count
  }

  #current(key: string): Window | undefined {
    const current = this.#windows.get(key)
    return current !== undefined && this.#now() - current.startedAt < this.#windowMs ? current : undefined
  }
}
