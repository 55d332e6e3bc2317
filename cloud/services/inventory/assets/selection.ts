import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { compileFilter, parseFilter, valuesAlone } from '../../../platform/filter/filter.ts'
import { reachedCondition } from '../graph/relation-path.ts'
import { assetsRelatedBy, parseRelationFilter, predicatesAlone } from '../relations/relation-filter.ts'
import type { FacetColumn } from '../search/facet-store.ts'
import { assetsWithTokens, tokenQuery } from '../search/search-index-store.ts'
import { isRare, queryTokens } from '../search/search-tokens.ts'
import { containsGateways, type Groups, isReadableRow, readableGroups } from '../visibility.ts'
import { assetProperties, facetColumnOf } from './filter.ts'
import type { AssetSet, Fragment } from './listing.ts'

export type Query = {
  filter?: string
  relationsFilter?: string
  depth?: number
  caseInsensitive?: boolean
  q?: string
}

/** The assets that a query selects, among those that the caller can read. */
export type Selection = {
  /** Conditions on `a` (the asset) and `g` (its access group). */
  where: string
  /** Sets that the asset must be in too. */
  sets: AssetSet[]
  /** The parameters of `where` and `sets`, from `$2`. */
  values: unknown[]
  /** The access groups that the caller can read; null means all groups. */
  groups: Groups
  /**
   * Set for selections whose total need not be counted: all assets of the groups, assets with one of these facet values
   * (both totals are stored), or assets with relations of these predicates (the total is cached).
   */
  totalSource: 'everything' | { facet: FacetColumn; values: string[] } | { predicates: string[] } | undefined
}

export async function selectionOf(
  handle: Handle,
  query: Query,
  caller: Pick<Caller, 'tenantId' | 'rights'>,
): Promise<Selection> {
  const { filter, relationsFilter, depth = 1, caseInsensitive = false, q } = query
  if (depth > 1 && relationsFilter === undefined)
    throw new Problem('invalid_query', 'depth applies to relationsFilter. Send both parameters or neither')
  const groups = readableGroups(caller)
  const selection: Selection = {
    where: readableWhere(groups),
    sets: [],
    values: groups === null ? [] : [groups],
    groups,
    totalSource: totalSourceOf(query, groups),
  }
  const next = () => selection.values.length + 2
  if (filter !== undefined)
    narrow(selection, compileFilter(parseFilter(filter), assetProperties, { caseInsensitive, firstParameter: next() }))
  if (relationsFilter !== undefined) {
    const options = { caseInsensitive, firstParameter: next(), groups }
    if (depth === 1) narrowToSet(selection, assetsRelatedBy(relationsFilter, options))
    else narrow(selection, await reachedCondition(handle, relationsFilter, { ...options, depth }))
  }
  if (q !== undefined) {
    const tokens = queryTokens(q)
    const values = tokens.length === 0 ? [] : [tokenQuery(caller.tenantId, tokens)]
    if (tokens.length === 0) narrow(selection, nothing)
    else narrowToSet(selection, { ...assetsWithTokens(`$${next()}`, { areRare: tokens.some(isRare) }), values })
  }
  return selection
}

/** The condition for readable assets. Without `gatewayMark` it is a plain condition on the group, which uses an index. */
function readableWhere(groups: Groups): string {
  if (groups === null) return 'true'
  return containsGateways(groups) ? isReadableRow('a', '$2') : 'a.access_group_id = any($2::uuid[])'
}

/** A search text without letters and digits matches no asset. */
const nothing: Fragment = { sql: 'false', values: [] }

function narrow(selection: Selection, { sql, values }: { sql: string; values: readonly unknown[] }): void {
  selection.where = selection.where === 'true' ? sql : `${selection.where} and ${sql}`
  selection.values.push(...values)
}

function narrowToSet(selection: Selection, { values, ...set }: AssetSet & { values: unknown[] }): void {
  selection.sets.push(set)
  selection.values.push(...values)
}

function totalSourceOf(query: Query, groups: Selection['groups']): Selection['totalSource'] {
  const { filter, relationsFilter, depth = 1, caseInsensitive = false, q } = query
  if (q !== undefined || depth > 1 || containsGateways(groups)) return undefined
  if (filter === undefined && relationsFilter === undefined) return 'everything'
  if (caseInsensitive || (filter !== undefined && relationsFilter !== undefined)) return undefined
  if (relationsFilter !== undefined) {
    const predicates = predicatesAlone(parseRelationFilter(relationsFilter, { caseInsensitive }))
    return groups === null && predicates !== undefined ? { predicates } : undefined
  }
  const alone = valuesAlone(parseFilter(filter ?? ''))
  const facet = alone === undefined ? undefined : facetColumnOf(alone.property)
  if (alone === undefined || facet === undefined) return undefined
  return { facet: facet.name, values: alone.values.map(facet.normalise) }
}
