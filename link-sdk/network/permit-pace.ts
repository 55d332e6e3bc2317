/**
 * The intervals between late permits, compared with the shortest intervals of the budget. Timers are not exact, so the
 * intervals are a little longer than the budget requires.
 */
const intervalFactor = 1.05
/** A permit can be used this much earlier than its interval allows, because timers are not exact. */
const earlyMs = 20

type Waiting = { intervalMs: number; use: () => void }

/**
 * `PermitPace` keeps the intervals between the permits of one kind. If this process is paused, the permits of that time
 * arrive together. The packets of all of them at once would exceed the budget, so they are used one after the other.
 */
export class PermitPace {
  readonly #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | undefined
  #nextMs = 0

  /** Calls `use` when the permit may be used. `intervalMs` is the shortest interval that keeps the budget. */
  add(intervalMs: number, use: () => void): void {
    this.#waiting.push({ intervalMs, use })
    if (this.#timer === undefined) this.#useDue()
  }

  /** Forgets all permits that are not used yet. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting.length = 0
  }

  #useDue(): void {
    this.#timer = undefined
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const nowMs = performance.now()
      if (this.#nextMs > nowMs) {
        this.#timer = setTimeout(() => this.#useDue(), Math.ceil(this.#nextMs - nowMs))
        return
      }
      this.#nextMs = Math.max(this.#nextMs, nowMs - earlyMs) + next.intervalMs * intervalFactor
      this.#waiting.shift()
      next.use()
    }
  }
}
