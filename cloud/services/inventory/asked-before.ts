import type { Handle } from '../../platform/database/database.ts'
import { changesOf } from './relation-count-store.ts'

const manyForMs = 60_000
const mostRemembered = 1_000

/**
 * What earlier questions brought to light. That a set has many members may be wrong by now: then its page is found the
 * longer way. A total counts only as long as nothing came or went of what was counted.
 */
export class AskedBefore {
  readonly #manyUntil = new Map<string, number>()
  readonly #totals = new Map<string, { changes: number; total: number }>()

  isOfMany(question: string): boolean {
    return (this.#manyUntil.get(question) ?? 0) > Date.now()
  }

  noteMany(question: string): void {
    remember(this.#manyUntil, question, Date.now() + manyForMs)
  }

  /** The total of what has relations of these predicates; counted when they changed since. */
  async totalRelated(handle: Handle, predicates: readonly string[], count: () => Promise<number>): Promise<number> {
    const question = JSON.stringify([handle.tenantId, predicates])
    // Read before it is counted: what changes meanwhile makes the total look older than it is, and never newer.
    const changes = await changesOf(handle, predicates)
    const known = this.#totals.get(question)
    if (known?.changes === changes) return known.total
    const total = await count()
    remember(this.#totals, question, { changes, total })
    return total
  }
}

/** The oldest is forgotten first. */
function remember<Value>(known: Map<string, Value>, question: string, value: Value): void {
  known.delete(question)
  known.set(question, value)
  if (known.size > mostRemembered) for (const [oldest] of known.entries().take(1)) known.delete(oldest)
}
