import { LruMap } from 'toad-cache'
import type { Handle } from '../../../platform/database/database.ts'
import { changesOf } from '../relations/relation-count-store.ts'

const manyForMs = 60_000
const mostRemembered = 1_000

/**
 * What earlier questions brought to light. That a set has many members may be wrong by now: then its page is found the
 * longer way. A total counts only as long as nothing came or went of what was counted.
 */
export class AskedBefore {
  readonly #ofMany = new LruMap<true>(mostRemembered, manyForMs)
  readonly #totals = new LruMap<{ changes: number; total: number }>(mostRemembered)

  isOfMany(question: string): boolean {
    return this.#ofMany.get(question) === true
  }

  noteMany(question: string): void {
    this.#ofMany.set(question, true)
  }

  /** The total of what has relations of these predicates; counted when they changed since. */
  async totalRelated(handle: Handle, predicates: readonly string[], count: () => Promise<number>): Promise<number> {
    const question = JSON.stringify([handle.tenantId, predicates])
    // Read before it is counted: what changes meanwhile makes the total look older than it is, and never newer.
    const changes = await changesOf(handle, predicates)
    const known = this.#totals.get(question)
    if (known?.changes === changes) return known.total
    const total = await count()
    this.#totals.set(question, { changes, total })
    return total
  }
}
