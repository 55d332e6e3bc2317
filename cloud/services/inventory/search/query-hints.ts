import { LruMap } from 'toad-cache'
import type { Handle } from '../../../platform/database/database.ts'
import { changesOf } from '../relations/relation-count-store.ts'

const largeSetMs = 60_000
const maxHints = 1_000

/**
 * `QueryHints` caches what earlier list queries learned. "This query selects a large set" may be outdated: then finding the
 * page takes longer, but the result is the same. A total is used only while the counted relations have not changed.
 */
export class QueryHints {
  readonly #largeSets = new LruMap<true>(maxHints, largeSetMs)
  readonly #totals = new LruMap<{ changes: number; total: number }>(maxHints)

  isLargeSet(query: string): boolean {
    return this.#largeSets.get(query) === true
  }

  noteLargeSet(query: string): void {
    this.#largeSets.set(query, true)
  }

  /** The number of assets that have relations of these predicates. It is counted again when the relations have changed. */
  async totalRelated(handle: Handle, predicates: readonly string[], count: () => Promise<number>): Promise<number> {
    const key = JSON.stringify([handle.tenantId, predicates])
    // Read before counting: a concurrent change makes the total look older than it is, never newer.
    const changes = await changesOf(handle, predicates)
    const cached = this.#totals.get(key)
    if (cached?.changes === changes) return cached.total
    const total = await count()
    this.#totals.set(key, { changes, total })
    return total
  }
}
