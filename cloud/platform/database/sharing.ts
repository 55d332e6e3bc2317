import { Problem } from '@millwright/api/problem.ts'

/** One who shares: told in the end what became of it. */
export type Sharer<Item, Result> = {
  readonly item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

type Options<Item, Result> = {
  /** How many share at most. */
  most: number
  /** How much they may weigh together; one that weighs more goes alone. */
  heaviest?: number
  weigh?: (item: Item) => number
  /** How many rounds of one tenant may be under way. */
  atOnce: number
  /** How many of one tenant may wait for their round, and how much they may weigh together. */
  waiting: number
  heaviestWaiting?: number
  /** Settles everybody; who is left when it fails is told why. */
  work: (tenantId: string, sharers: readonly Sharer<Item, Result>[]) => Promise<void>
}

type Line<Item, Result> = { waiting: Sharer<Item, Result>[]; weight: number; rounds: number }

/**
 * One transaction for as many as came during the last one: what a commit costs, few or many in it pay alike. One alone
 * waits for nobody, and nobody waits on a timer.
 */
export class Sharing<Item, Result> {
  readonly #options: Options<Item, Result>
  readonly #lines = new Map<string, Line<Item, Result>>()

  constructor(options: Options<Item, Result>) {
    this.#options = options
  }

  async share(tenantId: string, item: Item): Promise<Result> {
    const line = this.#line(tenantId)
    const { waiting, heaviestWaiting = Infinity, weigh = () => 0 } = this.#options
    const weight = line.weight + weigh(item)
    if (line.waiting.length >= waiting || (line.waiting.length > 0 && weight > heaviestWaiting)) {
      const detail = `${line.waiting.length} requests of this tenant wait for the same. Send fewer at once`
      throw new Problem('overloaded', detail, { retryAfter: 5 })
    }
    line.weight = weight
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    line.waiting.push({ item, resolve, reject })
    this.#go(tenantId, line)
    return promise
  }

  #line(tenantId: string): Line<Item, Result> {
    const known = this.#lines.get(tenantId)
    if (known !== undefined) return known
    const made = { waiting: [], weight: 0, rounds: 0 }
    this.#lines.set(tenantId, made)
    return made
  }

  #go(tenantId: string, line: Line<Item, Result>): void {
    const { atOnce, work, weigh = () => 0 } = this.#options
    if (line.rounds >= atOnce || line.waiting.length === 0) return
    const sharers = line.waiting.splice(0, this.#fitting(line))
    for (const { item } of sharers) line.weight -= weigh(item)
    line.rounds++
    work(tenantId, sharers)
      .catch((error: unknown) => sharers.forEach(({ reject }) => void reject(error)))
      .finally(() => {
        line.rounds--
        this.#go(tenantId, line)
        if (line.rounds === 0) this.#lines.delete(tenantId)
      })
  }

  /** How many of those who wait go together. */
  #fitting({ waiting }: Line<Item, Result>): number {
    const { most, heaviest = Infinity, weigh = () => 0 } = this.#options
    let weight = 0
    const tooMuch = waiting.findIndex(({ item }, index) => {
      weight += weigh(item)
      return index > 0 && (index === most || weight > heaviest)
    })
    return tooMuch < 0 ? waiting.length : tooMuch
  }
}
