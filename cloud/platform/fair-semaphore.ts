import { Problem } from '@millwright/api/problem.ts'

type FairSemaphoreOptions = {
  /** The weight of all work that runs at once. Work that is heavier runs alone. */
  capacity: number
  /** The part of the capacity that one tenant may use; all of it unless given. */
  perTenant?: number
  /** How many pieces of work of one tenant may wait; more are refused with 503. */
  waitingPerTenant: number
  /** The detail of the refusal. */
  refusal: string
}

type Waiter = { weight: number; resolve: () => void }
type Line = { used: number; waiting: Waiter[] }

/**
 * `FairSemaphore` limits concurrent work by its weight. Tenants take turns (round-robin): a tenant that sends much work
 * waits for its own work, and other tenants do not wait for it. Free capacity goes to the next tenant that waits and is
 * below its share.
 */
export class FairSemaphore {
  readonly #options: Required<FairSemaphoreOptions>
  /** The tenants with work, the next one to be served first. */
  readonly #lines = new Map<string, Line>()
  #used = 0

  constructor(options: FairSemaphoreOptions) {
    this.#options = { perTenant: options.capacity, ...options }
  }

  /** Runs the work when it is its turn. */
  async run<Result>(tenantId: string, work: () => Promise<Result>, weight = 1): Promise<Result> {
    const leave = await this.enter(tenantId, weight)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Waits for a turn. The caller calls the function that is returned, once, when its work has ended. */
  async enter(tenantId: string, weight = 1): Promise<() => void> {
    const line = this.#lines.get(tenantId) ?? { used: 0, waiting: [] }
    this.#lines.set(tenantId, line)
    if (line.waiting.length === 0 && this.#hasRoom(line, weight)) this.#take(line, weight)
    else {
      const { waitingPerTenant, refusal } = this.#options
      if (line.waiting.length >= waitingPerTenant) throw new Problem('overloaded', refusal, { retryAfter: 2 })
      await new Promise<void>((resolve) => line.waiting.push({ weight, resolve }))
    }
    return () => this.#leave(tenantId, line, weight)
  }

  /** Work that is heavier than the share of a tenant runs when the tenant runs nothing else. */
  #hasRoom({ used }: Line, weight: number): boolean {
    const { capacity, perTenant } = this.#options
    const fits = this.#used === 0 || this.#used + weight <= capacity
    return fits && (used === 0 || used + weight <= perTenant)
  }

  #take(line: Line, weight: number): void {
    this.#used += weight
    line.used += weight
  }

  #leave(tenantId: string, line: Line, weight: number): void {
    this.#used -= weight
    line.used -= weight
    if (line.used === 0 && line.waiting.length === 0) this.#lines.delete(tenantId)
    while (this.#serveNext());
  }

  #serveNext(): boolean {
    for (const [tenantId, line] of this.#lines) {
      const [next] = line.waiting
      if (next === undefined || !this.#hasRoom(line, next.weight)) continue
      // The tenant's next turn comes after those of the other tenants.
      this.#lines.delete(tenantId)
      this.#lines.set(tenantId, line)
      line.waiting.shift()
      this.#take(line, next.weight)
      next.resolve()
      return true
    }
    return false
  }
}
