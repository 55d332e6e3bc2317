import { LruMap } from 'toad-cache'
import type { Handle } from '../../../platform/database/database.ts'
import { changesOf } from '../relations/relation-count-store.ts'

const largeSetMs = 60_000
const maxHints = 1_000

/**
 * Assets that have relations of these predicates. `nodeSet` identifies the nodes at the other end of the relations, and
 * the version of these nodes.
 */
export type RelatedAssets = { predicates: string[]; nodeSet?: string }

/**
 * `QueryHints` caches facts that earlier list queries found. The fact that a query selects a large set may be outdated.
 * Finding the page then takes longer, but the result is the same. A cached total is used only while the counted relations
 * have not changed.
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

  /**
   * Returns the number of assets that have relations of these predicates. With `nodeSet`, counts only relations to the
   * nodes of that set. The assets are counted again when the relations have changed.
   */
  async totalRelated(
    handle: Handle,
    { predicates, nodeSet }: RelatedAssets,
    count: () => Promise<number>,
  ): Promise<number> {
    const key = JSON.stringify([handle.tenantId, predicates, nodeSet])
    // The number of changes is read before counting. If relations change in between, the cached total gets an old number of
    // changes and is counted again next time.
    const changes = await changesOf(handle, predicates)
    const cached = this.#totals.get(key)
    if (cached?.changes === changes) return cached.total
    const total = await count()
    this.#totals.set(key, { changes, total })
    return total
  }
}
