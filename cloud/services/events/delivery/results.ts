import { newId } from '../../../platform/database/id.ts'
import type { Item, StoredDelivery } from './queue.ts'
import type { DeliveryWrite } from './runner-store.ts'

/** The result of an attempt, or a new state. Fields that are not set keep their values. */
export type DeliveryResult = Pick<DeliveryWrite, 'state' | 'nextAt'> &
  Partial<Pick<DeliveryWrite, 'isDeadLetter' | 'attempts' | 'attemptCount' | 'firstFailedAt' | 'messageId'>>

/** `Results` are stored together, in one transaction. */
export class Results {
  readonly inserts: DeliveryWrite[]
  /** The rows by their ids. A row is in one update only, because a statement changes each row once. */
  readonly #updates = new Map<string, DeliveryWrite>()
  /** True if all stored events become due. */
  dueNow: boolean
  /** When the first result was added. Undefined if there are no results. */
  firstAtMs: number | undefined

  constructor(...parts: readonly Results[]) {
    this.inserts = parts.flatMap(({ inserts }) => inserts)
    for (const { updates } of parts) for (const update of updates) this.#update(update)
    this.dueNow = parts.some(({ dueNow }) => dueNow)
    this.firstAtMs = parts.find(({ firstAtMs }) => firstAtMs !== undefined)?.firstAtMs
  }

  get size(): number {
    return this.inserts.length + this.#updates.size
  }

  get updates(): DeliveryWrite[] {
    return [...this.#updates.values()]
  }

  /** Adds a result. Returns the row of the event in the log. */
  add(item: Item, result: DeliveryResult): StoredDelivery {
    const { eventId, position, type, subject, stored } = item
    const { state, isDeadLetter = false, nextAt, attempts = '[]' } = result
    const row: StoredDelivery = {
      id: stored?.id ?? newId(),
      messageId: result.messageId ?? stored?.messageId ?? eventId,
      attemptCount: result.attemptCount ?? stored?.attemptCount ?? 0,
      firstFailedAt: result.firstFailedAt ?? stored?.firstFailedAt ?? null,
    }
    const write = { ...row, eventId, position, type, subject, state, isDeadLetter, nextAt, attempts }
    if (stored === undefined) this.inserts.push(write)
    else this.#update(write)
    this.touch()
    return row
  }

  /** Stores the progress of the subscription soon, also without results. */
  touch(): void {
    this.firstAtMs ??= performance.now()
  }

  #update(write: DeliveryWrite): void {
    const before = this.#updates.get(write.id)
    const attempts = before === undefined ? write.attempts : joinLists(before.attempts, write.attempts)
    this.#updates.set(write.id, { ...write, attempts })
  }
}

/** Joins two lists in JSON text. */
function joinLists(first: string, second: string): string {
  if (first === '[]') return second
  return second === '[]' ? first : `${first.slice(0, -1)},${second.slice(1)}`
}
