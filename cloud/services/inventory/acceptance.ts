import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { recordAll } from '../../platform/audit/audit.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { jsonText } from '../../platform/database/json.ts'
import { type Sharer, Sharing } from '../../platform/database/sharing.ts'
import type { Handover } from './handover.ts'
import { insertOperations, queueLength } from './operation-store.ts'

/** A write to be applied later: what it is, and what it says. */
export type Wanted = { kind: string; action: string; target?: string; payload: unknown }

type Stored = Wanted & { id: string; caller: Caller; printed: string }

const limits = { batch: 256, batchCharacters: 16 * 1024 * 1024, queued: 50_000, lengthFreshMs: 1_000 } as const

/** The topic that wakes the applier. */
export const operationsTopic = 'operations'

/** How many writes may wait to be applied: as many as said, for tests. */
type AcceptanceParts = { database: Database; handover: Handover; longest?: number }

/** Accepts writes: durable before anybody is told so, with one commit for a thousand callers. */
export class Acceptance {
  readonly #database: Database
  readonly #handover: Handover
  readonly #longest: number
  readonly #sharing: Sharing<Stored, void>
  /** How many writes of each tenant waited to be applied, and when that was looked up. */
  readonly #lengths = new Map<string, { length: number; at: number }>()

  constructor({ database, handover, longest = limits.queued }: AcceptanceParts) {
    this.#database = database
    this.#longest = longest
    this.#handover = handover
    this.#sharing = new Sharing({
      most: limits.batch,
      heaviest: limits.batchCharacters,
      weigh: ({ printed }) => printed.length,
      atOnce: 1,
      waiting: longest,
      work: (tenantId, sharers) => this.#commit(tenantId, sharers),
    })
  }

  /** Answers the id under which its outcome can be asked for. */
  async accept(caller: Caller, wanted: Wanted): Promise<string> {
    const id = newId()
    const stored = { ...wanted, id, caller, printed: jsonText(wanted.payload) }
    if (caller.transaction === undefined) {
      await this.#sharing.share(caller.tenantId, stored)
      return id
    }
    await this.#requireRoom(caller.transaction)
    await store(caller.transaction, [stored])
    // If it is rolled back, nobody ever asks for it.
    this.#handOver(stored)
    return id
  }

  async #commit(tenantId: string, sharers: readonly Sharer<Stored, void>[]): Promise<void> {
    await this.#database.transaction({ tenantId }, async (tx) => {
      await this.#requireRoom(tx)
      await store(
        tx,
        sharers.map(({ item }) => item),
      )
    })
    for (const { item, resolve } of sharers) {
      this.#handOver(item)
      resolve()
    }
  }

  /** Just as it is stored: what may have been replaced to be storable is read again. */
  #handOver({ id, payload, printed }: Stored): void {
    if (!printed.includes('\ufffd')) this.#handover.keep(id, { payload, characters: printed.length })
  }

  /** Who writes faster than can be applied is told so, instead of a queue that grows without end. */
  async #requireRoom(tx: Transaction): Promise<void> {
    const known = this.#lengths.get(tx.tenantId)
    const isFresh = known !== undefined && performance.now() - known.at <= limits.lengthFreshMs
    const length = isFresh ? known.length : await queueLength(tx, this.#longest)
    if (!isFresh) this.#lengths.set(tx.tenantId, { length, at: performance.now() })
    if (length < this.#longest) return
    throw new Problem('overloaded', `${this.#longest} accepted writes wait to be applied: send more later`, {
      retryAfter: 5,
    })
  }
}

async function store(tx: Transaction, batch: readonly Stored[]): Promise<void> {
  const operations = batch.map(({ id, kind, payload, printed, caller }) => ({
    id,
    kind,
    payload: printed,
    items: itemsIn(payload),
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
  return items?.length ?? ids?.length ?? 1
}
