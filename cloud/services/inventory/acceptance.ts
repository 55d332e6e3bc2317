import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { recordAll } from '../../platform/audit/audit.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { jsonText } from '../../platform/database/json.ts'
import type { Handover } from './handover.ts'
import { insertOperations, queueLength } from './operation-store.ts'

/** A write to be applied later: what it is, and what it says. */
export type Wanted = { kind: string; action: string; target?: string; payload: unknown }

type Stored = Wanted & { id: string; caller: Caller; printed: string }
type Waiting = Stored & { resolve: () => void; reject: (error: unknown) => void }

/** One commit for as many requests as came during the last one: what a commit costs, few or many in it pay alike. */
const limits = { batch: 256, queued: 50_000, lengthFreshMs: 1_000 } as const

/** The topic that wakes the applier. */
export const operationsTopic = 'operations'

/** How many writes may wait to be applied: as many as said, for tests. */
type AcceptanceParts = { database: Database; handover: Handover; longest?: number }

/**
 * Accepts writes: durable before anybody is told so. Requests that arrive while a commit is under way share the next
 * one, so that a thousand callers cost a few commits; one caller alone waits for nobody.
 */
export class Acceptance {
  readonly #database: Database
  readonly #handover: Handover
  readonly #longest: number
  readonly #tenants = new Map<string, { waiting: Waiting[]; busy: boolean; length: number; lengthAt: number }>()

  constructor({ database, handover, longest = limits.queued }: AcceptanceParts) {
    this.#database = database
    this.#longest = longest
    this.#handover = handover
  }

  /** Answers the id under which its outcome can be asked for. */
  async accept(caller: Caller, wanted: Wanted): Promise<string> {
    const id = newId()
    const stored = { ...wanted, id, caller, printed: jsonText(wanted.payload) }
    if (caller.transaction !== undefined) {
      await this.#requireRoom(caller.transaction)
      await store(caller.transaction, [stored])
      // If it is rolled back, nobody ever asks for it.
      this.#handOver(stored)
      return id
    }
    const line = this.#line(caller.tenantId)
    if (line.waiting.length >= this.#longest) throw this.#tooLong()
    await new Promise<void>((resolve, reject) => {
      line.waiting.push({ ...stored, resolve, reject })
      this.#flush(caller.tenantId)
    })
    return id
  }

  #line(tenantId: string) {
    const known = this.#tenants.get(tenantId)
    if (known !== undefined) return known
    const made = { waiting: [], busy: false, length: 0, lengthAt: Number.NEGATIVE_INFINITY }
    this.#tenants.set(tenantId, made)
    return made
  }

  #flush(tenantId: string): void {
    const line = this.#line(tenantId)
    if (line.busy || line.waiting.length === 0) return
    const batch = line.waiting.splice(0, limits.batch)
    line.busy = true
    this.#commit(tenantId, batch)
      .then(
        () => {
          for (const waiting of batch) {
            this.#handOver(waiting)
            waiting.resolve()
          }
        },
        (error: unknown) => batch.forEach(({ reject }) => void reject(error)),
      )
      .finally(() => {
        line.busy = false
        if (line.waiting.length === 0) this.#tenants.delete(tenantId)
        else this.#flush(tenantId)
      })
  }

  /** Just as it is stored: what may have been replaced to be storable is read again. */
  #handOver({ id, payload, printed }: Stored): void {
    if (!printed.includes('\ufffd')) this.#handover.keep(id, { payload, items: itemsIn(payload) })
  }

  async #commit(tenantId: string, batch: readonly Waiting[]): Promise<void> {
    await this.#database.transaction({ tenantId }, async (tx) => {
      await this.#requireRoom(tx)
      await store(tx, batch)
    })
  }

  /** Who writes faster than can be applied is told so, instead of a queue that grows without end. */
  async #requireRoom(tx: Transaction): Promise<void> {
    const line = this.#line(tx.tenantId)
    if (performance.now() - line.lengthAt > limits.lengthFreshMs) {
      line.length = await queueLength(tx, this.#longest)
      line.lengthAt = performance.now()
    }
    if (line.length >= this.#longest) throw this.#tooLong()
  }

  #tooLong(): Problem {
    const detail = `${this.#longest} accepted writes wait to be applied: send more later`
    return new Problem('overloaded', detail, { retryAfter: 5 })
  }
}

async function store(tx: Transaction, batch: readonly Stored[]): Promise<void> {
  await insertOperations(
    tx,
    batch.map(({ id, kind, payload, printed, caller }) => ({
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
    })),
  )
  await recordAll(
    tx,
    batch.map(({ id, caller, action, target }) => ({
      who: caller,
      action,
      target: target ?? `operation/${id}`,
      detail: { statusId: id },
    })),
  )
  tx.signal(operationsTopic)
}

function itemsIn(payload: unknown): number {
  const { items, ids } = payload as { items?: unknown[]; ids?: unknown[] }
  return items?.length ?? ids?.length ?? 1
}
