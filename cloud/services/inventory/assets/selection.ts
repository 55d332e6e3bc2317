import { assignmentPredicate } from '@millwright/api/hierarchy.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { compileFilter, parseFilter, valuesAlone } from '../../../platform/filter/filter.ts'
import { reachedCondition } from '../graph/relation-path.ts'
import { assetsOfNodes, isUnassigned } from '../relations/node-assignment-store.ts'
import { assetsRelatedBy, parseRelationFilter, predicatesAlone } from '../relations/relation-filter.ts'
import type { FacetColumn } from '../search/facet-store.ts'
import type { RelatedAssets } from '../search/query-hints.ts'
import { assetsWithTokens, tokenQuery } from '../search/search-index-store.ts'
import { isRare, queryTokens } from '../search/search-tokens.ts'
import { containsGateways, type Groups, isReadableRow, readableGroups } from '../visibility.ts'
import { assetProperties, facetColumnOf } from './filter.ts'
import type { AssetSet, Fragment } from './listing.ts'
import type { NodeSet } from './node-sets.ts'

export type Query = {
  filter?: string
  relationsFilter?: string
  depth?: number
  caseInsensitive?: boolean
  q?: string
  /** The asset must be assigned to one of these nodes. */
  nodes?: NodeSet
  /** The asset must be assigned to none of these nodes. */
  otherThanNodes?: NodeSet
}

/** The assets that a query selects, among those that the caller can read. */
export type Selection = {
  /** Conditions on `a` (the asset) and `g` (its access group). */
  where: string
  /** Sets of which the asset must also be a member. */
  sets: AssetSet[]
  /** The parameters of `where` and `sets`, numbered from `$2`. */
  values: unknown[]
  /** The access groups that the caller can read; null means all groups. */
  groups: Groups
  /**
   * The source of the total, if the assets need not be counted. The totals of all assets of the groups and of assets
   * with one of these facet values are stored. The total of assets with relations of these predicates is cached.
   * `undefined` means that the assets must be counted.
   */
  totalSource: 'everything' | { facet: FacetColumn; values: string[] } | RelatedAssets | undefined
}

export async function selectionOf(
  handle: Handle,
  query: Query,
  caller: Pick<Caller, 'tenantId' | 'rights'>,
): Promise<Selection> {
  const { filter, relationsFilter, depth = 1, caseInsensitive = false, q, nodes, otherThanNodes } = query
  if (depth > 1 && relationsFilter === undefined)
    throw new Problem('invalid_query', 'depth requires relationsFilter. Send both parameters or neither of them')
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
  if (nodes !== undefined) narrowToSet(selection, { ...assetsOfNodes(nodes, `$${next()}`), values: [nodes.ids] })
  if (otherThanNodes !== undefined) narrow(selection, isUnassigned(otherThanNodes, `$${next()}`))
  if (q !== undefined) {
    const tokens = queryTokens(q)
    const values = tokens.length === 0 ? [] : [tokenQuery(caller.tenantId, tokens)]
    if (tokens.length === 0) narrow(selection, nothing)
    else narrowToSet(selection, { ...assetsWithTokens(`$${next()}`, { areRare: tokens.some(isRare) }), values })
  }
  return selection
}

/**
 * Returns the condition for readable assets. If `groups` does not contain `gatewayMark`, it is a plain condition on the
 * group, which can use an index.
 */
function readableWhere(groups: Groups): string {
  if (groups === null) return 'true'
  return containsGateways(groups) ? isReadableRow('a', '$2') : 'a.access_group_id = any($2::uuid[])'
}

/** The condition for a search text without letters and digits: it matches no asset. */
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
  const { filter, relationsFilter, depth = 1, caseInsensitive = false, q, nodes, otherThanNodes } = query
  if (nodes !== undefined || otherThanNodes !== undefined) {
    const isAlone = [filter, relationsFilter, q, otherThanNodes].every((other) => other === undefined)
    if (nodes === undefined || !isAlone || groups !== null) return undefined
    return { predicates: [assignmentPredicate], nodeSet: nodes.identity }
  }
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
