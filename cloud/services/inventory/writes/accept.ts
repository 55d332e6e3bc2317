import { Problem } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'
import type { Caller } from '../../../platform/access/caller.ts'
import { recordAll } from '../../../platform/audit/audit.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { newId } from '../../../platform/database/id.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { type CoalescedWrite, WriteCoalescer } from '../../../platform/database/write-coalescer.ts'
import { createYield } from '../../../platform/event-loop.ts'
import type { PayloadCache } from '../../../platform/payload-cache.ts'
import { insertWrites, type QueueSize, queueSize } from './queue-store.ts'
import { itemsIn, type Write } from './write.ts'

/** A write with the action and the target of its audit entry. */
export type WriteRequest = Write & { action: string; target?: string }

type PendingWrite = WriteRequest & QueueSize & { id: string; caller: Caller; printed: string }

const mebibyte = 1024 * 1024

const limits = {
  /** The maximum number of writes in one transaction, and the maximum number of their bytes. */
  batch: 256,
  batchBytes: 2 * mebibyte,
  /** The maximum number of bytes of a tenant's writes that may wait in this process for a transaction. */
  waitingBytes: 16 * mebibyte,
  /**
   * The time for which the size of a queue is used before it is read again. During this time, writes of this process are
   * added to the size.
   */
  sizeFreshMs: 250,
  /** The number of tenants whose queue size is cached. */
  tenants: 10_000,
} as const

/**
 * The largest queue of one tenant. It is enough for the largest plants. The applier needs less than a minute for a full
 * queue.
 */
export const queueLimit: QueueSize = { items: 50_000, bytes: 128 * mebibyte }

/** The topic that wakes the applier. */
export const writesTopic = 'operations'

/** `queue` limits the accepted writes of one tenant that wait to be applied. */
type WriteAcceptorOptions = { database: Database; payloads: PayloadCache<unknown>; queue?: QueueSize }

/**
 * `WriteAcceptor` stores writes in the queue of their tenant. A write is durable when `accept` returns. Concurrent writes of
 * a tenant are committed together. A write that does not fit into the queue is refused with 503.
 */
export class WriteAcceptor {
  readonly #database: Database
  readonly #payloads: PayloadCache<unknown>
  readonly #limit: QueueSize
  readonly #coalescer: WriteCoalescer<PendingWrite, void>
  /**
   * The size of each tenant's queue: the size that was read from the database, plus the writes that this process has
   * accepted since.
   */
  readonly #sizes = new LruMap<{ size: QueueSize; readAt: number; isFull: boolean }>(limits.tenants)

  constructor({ database, payloads, queue = queueLimit }: WriteAcceptorOptions) {
    this.#database = database
    this.#limit = queue
    this.#payloads = payloads
    this.#coalescer = new WriteCoalescer({
      maxItems: limits.batch,
      maxWeight: limits.batchBytes,
      weigh: ({ bytes }) => bytes,
      maxBatches: 1,
      maxWaiting: queue.items,
      maxWaitingWeight: limits.waitingBytes,
      commit: (tenantId, coalesced) => this.#commit(tenantId, coalesced),
    })
  }

  /** Refuses a write before its body is read, if the queue of the tenant was full a moment ago. */
  requireRoom({ tenantId }: Pick<Caller, 'tenantId'>): void {
    const size = this.#sizes.get(tenantId)
    if (size?.isFull && performance.now() - size.readAt <= limits.sizeFreshMs) throw this.#queueFull()
  }

  /** Stores a write and returns the id of its status. */
  async accept(caller: Caller, request: WriteRequest, id = newId()): Promise<string> {
    const printed = await printPayload(request.payload, caller.tenantId)
    const size = { items: itemsIn(request), bytes: Buffer.byteLength(printed) }
    if (size.bytes > this.#limit.bytes) throw this.#tooLarge(size.bytes)
    const pending = { ...request, ...size, id, caller, printed }
    if (caller.transaction === undefined) {
      await this.#coalescer.submit(caller.tenantId, pending)
      return id
    }
    if ((await this.#fitting(caller.transaction, [pending])) === 0) throw this.#queueFull()
    await store(caller.transaction, [pending])
    // The payload is cached before the commit. If the transaction is rolled back, the cached payload is never used.
    this.#cache(pending)
    return id
  }

  async #commit(tenantId: string, coalesced: readonly CoalescedWrite<PendingWrite, void>[]): Promise<void> {
    const fitting = await this.#database.transaction({ tenantId }, async (tx) => {
      const writes = coalesced.map(({ item }) => item)
      const count = await this.#fitting(tx, writes)
      if (count > 0) await store(tx, writes.slice(0, count))
      return count
    })
    for (const [index, { item, resolve, reject }] of coalesced.entries()) {
      if (index < fitting) {
        this.#cache(item)
        resolve()
      } else reject(this.#queueFull())
    }
  }

  /**
   * Caches the payload of a write. It does not cache a payload in which characters were replaced, because the stored text
   * differs from the object.
   */
  #cache({ id, payload, printed }: PendingWrite): void {
    if (!printed.includes('\ufffd')) this.#payloads.keep(id, { payload, weight: printed.length })
  }

  /**
   * Returns how many of the writes, in their order, fit into the tenant's queue. Counts the writes that fit as queued.
   */
  async #fitting(tx: Transaction, writes: readonly QueueSize[]): Promise<number> {
    const cachedSize = this.#sizes.get(tx.tenantId)
    const isFresh = cachedSize !== undefined && performance.now() - cachedSize.readAt <= limits.sizeFreshMs
    const first = isFresh ? this.#fit(cachedSize.size, writes) : undefined
    if (isFresh && first?.count === writes.length) {
      cachedSize.size = first.size
      return first.count
    }
    const readAt = performance.now()
    const { count, size } = this.#fit(await queueSize(tx, this.#limit.items), writes)
    this.#sizes.set(tx.tenantId, { size, readAt, isFull: count < writes.length })
    return count
  }

  /** Returns how many writes fit. An empty queue takes a write with any number of items. */
  #fit(queued: QueueSize, writes: readonly QueueSize[]): { count: number; size: QueueSize } {
    let size = queued
    for (const [count, { items, bytes }] of writes.entries()) {
      const next = { items: size.items + items, bytes: size.bytes + bytes }
      const isFull = next.items > this.#limit.items || next.bytes > this.#limit.bytes
      if (isFull && size.items > 0) return { count, size }
      size = next
    }
    return { count: writes.length, size }
  }

  #tooLarge(bytes: number): Problem {
    const allowed = `the write queue of a tenant holds at most ${this.#limit.bytes} bytes (limit queuedBytes)`
    return new Problem(
      'body_too_large',
      `This write has ${bytes} bytes, but ${allowed}. Send fewer items in one request`,
    )
  }

  #queueFull(): Problem {
    const { items, bytes } = this.#limit
    const allowed = `${items} assets (limit queuedAssets) or ${bytes / mebibyte} MiB (limit queuedBytes)`
    const detail = `The write queue of this tenant is full. It holds at most ${allowed}. Retry later`
    return new Problem('overloaded', detail, { retryAfter: 5 })
  }
}

/** Prints the payload as JSON text. A large batch is printed in several turns of the event loop. */
async function printPayload(payload: WriteRequest['payload'], tenantId: string): Promise<string> {
  if (!('items' in payload)) return jsonText(payload)
  const { items, ...rest } = payload
  const yieldTurn = createYield(tenantId)
  const printed: string[] = []
  for (const item of items) {
    // A small write is printed without waiting for a turn, so that small writes stay in the order of their requests.
    const turn = yieldTurn()
    if (turn !== undefined) await turn
    printed.push(jsonText(item))
  }
  return `{"items":[${printed.join(',')}],${jsonText(rest).slice(1)}`
}

async function store(tx: Transaction, batch: readonly PendingWrite[]): Promise<void> {
  const writes = batch.map(({ id, kind, items, printed, caller }) => ({
    id,
    kind,
    payload: printed,
    items,
    principalId: caller.principal.id,
    principalKind: caller.principal.kind,
    principalName: caller.principal.name,
    roles: [...caller.roles],
    grants: caller.token?.grants === undefined ? null : [...caller.token.grants],
    requestId: caller.request.id,
  }))
  const entries = batch.map(({ id, caller, action, target }) => ({
    who: caller,
    action,
    target: target ?? `operation/${id}`,
    detail: { statusId: id },
  }))
  await Promise.all([insertWrites(tx, writes), recordAll(tx, entries)])
  tx.signal(writesTopic)
}
