import { Problem } from './problem.ts'

type SemaphoreOptions = {
  /** The maximum weight of all work that runs at the same time. Work that is heavier than the capacity runs alone. */
  capacity: number
  /** The part of the capacity that the work of one key may use. The default is the whole capacity. */
  perKey?: number
  /**
   * The maximum number of pieces of work of one key that wait. Further work is refused with 503. The default is
   * unlimited.
   */
  waitingPerKey?: number
  /** The detail of the problem when work is refused. */
  refusal?: string
}

type Waiter = { weight: number; resolve: () => void }
type Line = { used: number; waiting: Waiter[] }

/**
 * `Semaphore` limits concurrent work by its weight. Each piece of work has a key, such as its tenant. Keys take turns
 * (round-robin), so a key with much work does not delay the work of other keys. Free capacity goes to the next waiting
 * key that is below its limit.
 */
export class Semaphore {
  readonly #options: Required<SemaphoreOptions>
  /** The queues of keys that have work, in the order in which the keys take turns. */
  readonly #lines = new Map<string, Line>()
  #used = 0

  constructor(options: SemaphoreOptions) {
    const unlimited = { waitingPerKey: Number.POSITIVE_INFINITY, refusal: '' }
    this.#options = { perKey: options.capacity, ...unlimited, ...options }
  }

  /** Runs the work when enough capacity is free and it is the turn of its key. */
  async run<Result>(key: string, work: () => Promise<Result>, weight = 1): Promise<Result> {
    const leave = await this.enter(key, weight)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Waits until work may start. The caller must call the returned function exactly once, when the work has ended. */
  async enter(key: string, weight = 1): Promise<() => void> {
    const line = this.#lines.get(key) ?? { used: 0, waiting: [] }
    this.#lines.set(key, line)
    if (line.waiting.length === 0 && this.#hasRoom(line, weight)) this.#take(line, weight)
    else {
      const { waitingPerKey, refusal } = this.#options
      if (line.waiting.length >= waitingPerKey) {
        if (line.used === 0 && line.waiting.length === 0) this.#lines.delete(key)
        throw new Problem('overloaded', refusal, { retryAfter: 2 })
      }
      await new Promise<void>((resolve) => line.waiting.push({ weight, resolve }))
    }
    return () => this.#leave(key, line, weight)
  }

  /**
   * Returns whether work of this weight may start. Work that is heavier than the limit of its key starts only when no
   * other work of the key runs.
   */
  #hasRoom({ used }: Line, weight: number): boolean {
    const { capacity, perKey } = this.#options
    const fits = this.#used === 0 || this.#used + weight <= capacity
    return fits && (used === 0 || used + weight <= perKey)
  }

  #take(line: Line, weight: number): void {
    this.#used += weight
    line.used += weight
  }

  #leave(key: string, line: Line, weight: number): void {
    this.#used -= weight
    line.used -= weight
    if (line.used === 0 && line.waiting.length === 0) this.#lines.delete(key)
    while (this.#serveNext());
  }

  #serveNext(): boolean {
    for (const [key, line] of this.#lines) {
      const [next] = line.waiting
      if (next === undefined || !this.#hasRoom(line, next.weight)) continue
      // Moves the key behind the other keys, because it has had its turn.
      this.#lines.delete(key)
      this.#lines.set(key, line)
      line.waiting.shift()
      this.#take(line, next.weight)
      next.resolve()
      return true
    }
    return false
  }
}
