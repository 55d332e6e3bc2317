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

/** What is asked for, of what the caller may read. */
export type Selection = {
  /** Conditions on `a` (the asset) and `g` (its access group). */
  where: string
  /** Sets that it must be in as well. */
  sets: AssetSet[]
  /** The parameters of all of them, from `$2`. */
  values: unknown[]
  /** The access groups that may be read; null is all of them. */
  groups: Groups
  /**
   * What it comes to, where that is known without counting (everything in these groups, or what has one of these values)
   * or need not be counted again (what has relations of these predicates).
   */
  known: 'everything' | { facet: FacetColumn; values: string[] } | { predicates: string[] } | undefined
}

export async function selectionOf(
  handle: Handle,
  query: Query,
  caller: Pick<Caller, 'tenantId' | 'rights'>,
): Promise<Selection> {
  const { filter, relationsFilter, depth = 1, caseInsensitive = false, q } = query
  if (depth > 1 && relationsFilter === undefined)
    throw new Problem('invalid_query', 'depth says how far relationsFilter goes: send both, or none of them')
  const groups = readableGroups(caller)
  const selection: Selection = {
    where: readableWhere(groups),
    sets: [],
    values: groups === null ? [] : [groups],
    groups,
    known: knownOf(query, groups),
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
    const words = queryTokens(q)
    const values = words.length === 0 ? [] : [tokenQuery(caller.tenantId, words)]
    if (words.length === 0) narrow(selection, nothing)
    else narrowToSet(selection, { ...assetsWithTokens(`$${next()}`, { areRare: words.some(isRare) }), values })
  }
  return selection
}

/** Without the gateways of other groups it is a plain condition on the group, which an index answers. */
function readableWhere(groups: Groups): string {
  if (groups === null) return 'true'
  return containsGateways(groups) ? isReadableRow('a', '$2') : 'a.access_group_id = any($2::uuid[])'
}

/** There is no asset with a word that has neither letters nor digits. */
const nothing: Fragment = { sql: 'false', values: [] }

function narrow(selection: Selection, { sql, values }: { sql: string; values: readonly unknown[] }): void {
  selection.where = selection.where === 'true' ? sql : `${selection.where} and ${sql}`
  selection.values.push(...values)
}

function narrowToSet(selection: Selection, { values, ...set }: AssetSet & { values: unknown[] }): void {
  selection.sets.push(set)
  selection.values.push(...values)
}

function knownOf(query: Query, groups: Selection['groups']): Selection['known'] {
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
