import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { recordAll } from '../../platform/audit/audit.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { jsonText } from '../../platform/database/json.ts'
import { type Sharer, Sharing } from '../../platform/database/sharing.ts'
import type { Handover } from './handover.ts'
import { insertOperations, type QueueSize, queueSize } from './operation-store.ts'

/** A write to be applied later: what it is, and what it says. */
export type Wanted = { kind: string; action: string; target?: string; payload: unknown }

type Stored = Wanted & QueueSize & { id: string; caller: Caller; printed: string }

const mebibyte = 1024 * 1024

const limits = {
  /** Writes and bytes of one transaction. */
  batch: 256,
  batchBytes: 8 * mebibyte,
  /** Bytes of one tenant that wait in this process for their transaction. */
  waitingBytes: 32 * mebibyte,
  /** How long the size of a queue is used before it is read again. Writes of this process are added meanwhile. */
  sizeFreshMs: 250,
} as const

/** How much one tenant may have queued: enough for the largest plants, and applied within a minute. */
export const queueLimit: QueueSize = { items: 50_000, bytes: 128 * mebibyte }

/** The topic that wakes the applier. */
export const operationsTopic = 'operations'

/** `queue` limits the accepted writes of one tenant that wait to be applied. */
type AcceptanceParts = { database: Database; handover: Handover; queue?: QueueSize }

/** Accepts writes: durable before anybody is told so, with one commit for a thousand callers. */
export class Acceptance {
  readonly #database: Database
  readonly #handover: Handover
  readonly #limit: QueueSize
  readonly #sharing: Sharing<Stored, void>
  /** The size of each tenant's queue: as it was read, plus the writes that this process accepted since. */
  readonly #sizes = new Map<string, { size: QueueSize; readAt: number }>()

  constructor({ database, handover, queue = queueLimit }: AcceptanceParts) {
    this.#database = database
    this.#limit = queue
    this.#handover = handover
    this.#sharing = new Sharing({
      most: limits.batch,
      heaviest: limits.batchBytes,
      weigh: ({ bytes }) => bytes,
      atOnce: 1,
      waiting: queue.items,
      heaviestWaiting: limits.waitingBytes,
      work: (tenantId, sharers) => this.#commit(tenantId, sharers),
    })
  }

  /** Returns the id of the status. */
  async accept(caller: Caller, wanted: Wanted): Promise<string> {
    const id = newId()
    const printed = jsonText(wanted.payload)
    const size = { items: itemsIn(wanted.payload), bytes: Buffer.byteLength(printed) }
    if (size.bytes > this.#limit.bytes) throw this.#tooLarge(size.bytes)
    const stored = { ...wanted, ...size, id, caller, printed }
    if (caller.transaction === undefined) {
      await this.#sharing.share(caller.tenantId, stored)
      return id
    }
    if ((await this.#fitting(caller.transaction, [stored])) === 0) throw this.#queueFull()
    await store(caller.transaction, [stored])
    // If the transaction is rolled back, the payload is never requested.
    this.#handOver(stored)
    return id
  }

  async #commit(tenantId: string, sharers: readonly Sharer<Stored, void>[]): Promise<void> {
    const fitting = await this.#database.transaction({ tenantId }, async (tx) => {
      const items = sharers.map(({ item }) => item)
      const count = await this.#fitting(tx, items)
      if (count > 0) await store(tx, items.slice(0, count))
      return count
    })
    for (const [index, { item, resolve, reject }] of sharers.entries()) {
      if (index < fitting) {
        this.#handOver(item)
        resolve()
      } else reject(this.#queueFull())
    }
  }

  /** Just as it is stored: what may have been replaced to be storable is read again. */
  #handOver({ id, payload, printed }: Stored): void {
    if (!printed.includes('\ufffd')) this.#handover.keep(id, { payload, weight: printed.length })
  }

  /** How many of the writes, in their order, fit into the tenant's queue. They are counted as queued. */
  async #fitting(tx: Transaction, writes: readonly QueueSize[]): Promise<number> {
    const known = this.#sizes.get(tx.tenantId)
    const isFresh = known !== undefined && performance.now() - known.readAt <= limits.sizeFreshMs
    const first = isFresh ? this.#fit(known.size, writes) : undefined
    if (isFresh && first?.count === writes.length) {
      known.size = first.size
      return first.count
    }
    const readAt = performance.now()
    const { count, size } = this.#fit(await queueSize(tx, this.#limit.items), writes)
    this.#sizes.set(tx.tenantId, { size, readAt })
    return count
  }

  /** An empty queue takes a write with any number of items. */
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
    const allowed = `the write queue of a tenant takes ${this.#limit.bytes} bytes (limit queuedBytes)`
    return new Problem('body_too_large', `This write has ${bytes} bytes, but ${allowed}. Send fewer items at once`)
  }

  #queueFull(): Problem {
    const { items, bytes } = this.#limit
    const allowed = `${items} assets (limit queuedAssets) or ${bytes / mebibyte} MiB (limit queuedBytes)`
    const detail = `The write queue of this tenant is full: ${allowed} wait to be applied. Retry later`
    return new Problem('overloaded', detail, { retryAfter: 5 })
  }
}

async function store(tx: Transaction, batch: readonly Stored[]): Promise<void> {
  const operations = batch.map(({ id, kind, items, printed, caller }) => ({
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
  await Promise.all([insertOperations(tx, operations), recordAll(tx, entries)])
  tx.signal(operationsTopic)
}

function itemsIn(payload: unknown): number {
  const { items, ids } = payload as { items?: unknown[]; ids?: unknown[] }
  return Math.max(1, items?.length ?? ids?.length ?? 1)
}
