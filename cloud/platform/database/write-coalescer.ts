import { Problem } from '@millwright/api/problem.ts'

/**
 * `CoalescedWrite` is a write that waits for its batch. The `commit` function resolves or rejects each write of a
 * batch.
 */
export type CoalescedWrite<Item, Result> = {
  readonly item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

type WriteCoalescerOptions<Item, Result> = {
  maxItems: number
  /** The maximum total weight of a batch. A heavier item gets its own batch. */
  maxWeight?: number
  weigh?: (item: Item) => number
  /** The maximum number of concurrent batches of one tenant. */
  maxBatches: number
  /** The maximum number and the maximum total weight of the items of one tenant that wait for a batch. */
  maxWaiting: number
  maxWaitingWeight?: number
  /**
   * Commits a batch and settles every write. If it fails, all writes that are not settled are rejected with its error.
   */
  commit: (tenantId: string, writes: readonly CoalescedWrite<Item, Result>[]) => Promise<void>
}

type Queue<Item, Result> = { waiting: CoalescedWrite<Item, Result>[]; weight: number; batches: number }

/**
 * `WriteCoalescer` groups concurrent writes of one tenant into one transaction, because a commit costs the same for one
 * write and for many. If fewer than `maxBatches` batches run, a write starts a batch at once. Otherwise it waits, and
 * joins the next batch when a running batch ends. There is no timer. Writes above `maxWaiting` fail with `overloaded`.
 */
export class WriteCoalescer<Item, Result> {
  readonly #options: WriteCoalescerOptions<Item, Result>
  readonly #queues = new Map<string, Queue<Item, Result>>()

  constructor(options: WriteCoalescerOptions<Item, Result>) {
    this.#options = options
  }

  async submit(tenantId: string, item: Item): Promise<Result> {
    const queue = this.#queue(tenantId)
    const { maxWaiting, maxWaitingWeight = Infinity, weigh = () => 0 } = this.#options
    const weight = queue.weight + weigh(item)
    if (queue.waiting.length >= maxWaiting || (queue.waiting.length > 0 && weight > maxWaitingWeight)) {
      const detail = `${queue.waiting.length} writes of this tenant are already waiting. Send fewer requests at the same time`
      throw new Problem('overloaded', detail, { retryAfter: 5 })
    }
    queue.weight = weight
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    queue.waiting.push({ item, resolve, reject })
    this.#startBatch(tenantId, queue)
    return promise
  }

  #queue(tenantId: string): Queue<Item, Result> {
    const existing = this.#queues.get(tenantId)
    if (existing !== undefined) return existing
    const created = { waiting: [], weight: 0, batches: 0 }
    this.#queues.set(tenantId, created)
    return created
  }

  #startBatch(tenantId: string, queue: Queue<Item, Result>): void {
    const { maxBatches, commit, weigh = () => 0 } = this.#options
    if (queue.batches >= maxBatches || queue.waiting.length === 0) return
    const writes = queue.waiting.splice(0, this.#batchSize(queue))
    for (const { item } of writes) queue.weight -= weigh(item)
    queue.batches++
    commit(tenantId, writes)
      .catch((error: unknown) => writes.forEach(({ reject }) => void reject(error)))
      .finally(() => {
        queue.batches--
        this.#startBatch(tenantId, queue)
        if (queue.batches === 0) this.#queues.delete(tenantId)
      })
  }

  #batchSize({ waiting }: Queue<Item, Result>): number {
    const { maxItems, maxWeight = Infinity, weigh = () => 0 } = this.#options
    let weight = 0
    const firstExcess = waiting.findIndex(({ item }, index) => {
      weight += weigh(item)
      return index > 0 && (index === maxItems || weight > maxWeight)
    })
    return firstExcess < 0 ? waiting.length : firstExcess
  }
}
