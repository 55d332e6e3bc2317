import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { parseSort } from '../../../platform/filter/filter.ts'
import type { InventoryContext } from '../context.ts'
import { totalWith } from '../search/facet-store.ts'
import { QueryHints } from '../search/query-hints.ts'
import { assetProperties } from './filter.ts'
import * as store from './list-store.ts'
import { pageMeta, rangesOf, type SortKey, sortKey, totalFromPage, totalOrder, writeCursor } from './listing.ts'
import { NodeSets } from './node-sets.ts'
import { type Query, type Selection, selectionOf } from './selection.ts'

/** The parameters of a list of assets. */
export type AssetPageQuery = Omit<Query, 'nodes' | 'otherThanNodes'> & {
  sort?: string
  cursor?: string
  count?: boolean
  limit?: number
  offset?: number
  hierarchyNode?: string
  includeBelow?: boolean
  unassignedIn?: string
}

type AssetPage = { rows: store.ListedAsset[]; meta: ReturnType<typeof pageMeta> }

/** Returns a function that reads a page of the assets that the caller can read. */
export function assetPages({ database, context }: Pick<InventoryContext, 'database' | 'context'>) {
  const hints = new QueryHints()
  const nodeSets = new NodeSets(context)
  return async (query: AssetPageQuery, caller: Caller): Promise<AssetPage> => {
    const { limit = 50, offset = 0, count = true } = query
    const sort = sortOf(query)
    const { filter, relationsFilter, depth, caseInsensitive, q } = query
    const { hierarchyNode, includeBelow = false, unassignedIn } = query
    const nodes = { hierarchyNode, includeBelow, unassignedIn }
    const identity = JSON.stringify([filter, relationsFilter, depth, caseInsensitive, query.sort, q, nodes])
    const resolved = await nodeSets.resolve(caller, nodes)
    return database.read(caller, async (handle) => {
      const selected = { ...query, ...resolved }
      const selection = await selectionOf(handle, selected, caller)
      const position = { cursor: query.cursor, query: identity, order: totalOrder(sort) }
      const ranges = rangesOf(position, selection.values.length + 2)
      const hintKey = JSON.stringify([caller.tenantId, selection.groups, identity, count])
      const isLargeSet = hints.isLargeSet(hintKey)
      const page = { ranges, sort, limit, offset, count, isLargeSet }
      const { rows, total: found, ...set } = await store.listAssets(handle, selection, page)
      if (set.isLargeSet === true && !isLargeSet) hints.noteLargeSet(hintKey)
      const lastPageTotal = query.cursor === undefined ? totalFromPage(rows, { limit, offset }) : undefined
      const total = count
        ? (found ??
          lastPageTotal ??
          (await totalWithoutNode(handle, { query: selected, caller, hints })) ??
          (await totalOf(handle, selection, hints)))
        : undefined
      const last = rows.length === limit ? rows.at(-1) : undefined
      const nextCursor = last === undefined ? undefined : writeCursor(identity, store.placeOf(last, sort))
      return { rows, meta: pageMeta({ total, elements: rows.length, offset, nextCursor }) }
    })
  }
}

function sortOf({ sort }: { sort?: string }): SortKey[] {
  return sort === undefined ? [] : parseSort(sort, assetProperties).map(sortKey)
}

/**
 * Returns the total of a selection. The totals of selections without a filter and of facet values are stored. The
 * totals of related assets are cached. Other totals are counted.
 */
function totalOf(handle: Handle, selection: Selection, hints: QueryHints): Promise<number> {
  const { totalSource, groups } = selection
  if (totalSource === undefined) return store.countAssets(handle, selection)
  if (totalSource !== 'everything' && 'predicates' in totalSource)
    return hints.totalRelated(handle, totalSource, () => store.countAssets(handle, selection))
  return totalSource === 'everything'
    ? store.totalAssets(handle, groups)
    : totalWith(handle, { ...totalSource, groups })
}

type TotalQuery = { query: Query; caller: Caller; hints: QueryHints }

/**
 * Returns the total of assets without a node: all matching assets except those with a node. Both numbers are cheaper than a
 * search for the relations of each asset. Returns `undefined` for other queries.
 */
async function totalWithoutNode(handle: Handle, { query, caller, hints }: TotalQuery): Promise<number | undefined> {
  const { otherThanNodes, ...rest } = query
  if (otherThanNodes === undefined || rest.nodes !== undefined) return undefined
  const all = await totalOf(handle, await selectionOf(handle, rest, caller), hints)
  const assigned = await selectionOf(handle, { ...rest, nodes: otherThanNodes }, caller)
  return Math.max(0, all - (await totalOf(handle, assigned, hints)))
}
