import type { AssetDocument, inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { mayIn } from '../../../platform/access/rights.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { parseSort } from '../../../platform/filter/filter.ts'
import { answer, type Handlers, JsonText } from '../../../platform/service.ts'
import type { InventoryContext } from '../context.ts'
import { pointInTime } from '../history/point-in-time.ts'
import { requireRetained } from '../history/retention.ts'
import { isReadable } from '../relations/relation-store.ts'
import { listFacet, totalWith } from '../search/facet-store.ts'
import { QueryHints } from '../search/query-hints.ts'
import { containsGateways, type Groups, readableGroups } from '../visibility.ts'
import { withoutHiddenAuthors } from '../visibility-store.ts'
import { findSources, identifiersOf } from './asset-store.ts'
import { assetTag } from './asset-tag.ts'
import { shownFields } from './field-sources.ts'
import { assetProperties, facetColumnOf, facetNames } from './filter.ts'
import * as store from './list-store.ts'
import { pageMeta, rangesOf, type SortKey, sortKey, totalFromPage, totalOrder, writeCursor } from './listing.ts'
import { NodeSets } from './node-sets.ts'
import { type Query, type Selection, selectionOf } from './selection.ts'

type Names = 'listAssets' | 'readAsset' | 'readIdentifiers' | 'readHistory' | 'readFieldSources' | 'readFacets'

export function assetHandlers({ database, context }: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  const hints = new QueryHints()
  const nodeSets = new NodeSets(context)
  return {
    async listAssets({ query }, caller) {
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
        const meta = pageMeta({ total, elements: rows.length, offset, nextCursor })
        const shown = rows.flatMap((row, index) => [index === 0 ? '' : ',', ...projected(row, query.fields)])
        return new JsonText('{"data":[', ...shown, `],"meta":${JSON.stringify(meta)}}`)
      })
    },

    async readAsset({ params: { id }, query: { fields, at } }, caller) {
      const asset = await database.lookup(caller, (handle) =>
        at === undefined
          ? readableAsset(handle, caller, id)
          : assetAt(handle, { id, at, groups: readableGroups(caller) }),
      )
      if (asset === undefined) throw missing(id)
      return answer(200, new JsonText(`{"data":${projected(asset, fields).join('')}}`), { etag: assetTag(asset) })
    },

    async readIdentifiers({ params: { id } }, caller) {
      return database.read(caller, async (handle) => {
        if ((await readableAsset(handle, caller, id)) === undefined) throw missing(id)
        return { data: (await identifiersOf(handle, [id])).get(id) ?? [] }
      })
    },

    async readHistory({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      return database.read(caller, async (handle) => {
        const asset = { id, groups: readableGroups(caller) }
        if (!(await store.wasReadable(handle, asset))) throw missing(id)
        const { rows, total } = await store.listHistory(handle, asset, { limit, offset })
        const shown = await withoutHiddenAuthors(handle, rows, asset.groups)
        const data = shown.map(({ sourceType, sourceValue, matchedBy, overruled, ...row }) => ({
          ...row,
          source: { type: sourceType, ...(sourceValue === null ? {} : { value: sourceValue }) },
          ...(matchedBy === null ? {} : { matchedBy }),
          ...(overruled === null ? {} : { overruled }),
        }))
        return { data, meta: { totalElements: total, elements: rows.length, offset } }
      })
    },

    async readFieldSources({ params: { id } }, caller) {
      return database.read(caller, async (handle) => {
        if ((await readableAsset(handle, caller, id)) === undefined) throw missing(id)
        const { document, sources } = (await findSources(handle, id)) ?? { document: {}, sources: null }
        return { data: shownFields(document, sources ?? {}) }
      })
    },

    async readFacets({ query }, caller) {
      const { by, limit = 50 } = query
      if (!(facetNames as readonly string[]).includes(by)) {
        throw new Problem('unknown_property', `Assets cannot be counted by ${by}. Use one of ${facetNames.join(', ')}`)
      }
      const property = assetProperties.find(by)
      if (property === undefined || property.kind === 'array')
        throw new Problem('unknown_property', `Unknown property "${by}"`)
      return database.read(caller, async (handle) => {
        const selection = await selectionOf(handle, query, caller)
        const stored = await storedFacet(handle, selection, { by, limit })
        return { data: stored ?? (await store.countBy(handle, selection, { column: property.column, limit })) }
      })
    },
  }
}

async function readableAsset(handle: Handle, caller: Caller, id: string) {
  const asset = await store.findAsset(handle, id)
  if (asset === undefined || mayIn(caller, 'inventory_read_asset_data', asset.accessGroupId)) return asset
  const groups = readableGroups(caller)
  return containsGateways(groups) && (await isReadable(handle, { id, groups })) ? asset : undefined
}

function missing(id: string): Problem {
  return new Problem('not_found', `Asset ${id} does not exist`)
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

/**
 * Returns the stored counts of a facet. Returns `undefined` for a selection with a filter, whose assets must be counted.
 */
async function storedFacet(
  handle: Handle,
  { totalSource, groups }: Selection,
  { by, limit }: { by: string; limit: number },
) {
  if (totalSource !== 'everything') return undefined
  if (by === 'access_group') return store.totalsByGroup(handle, groups, limit)
  const facet = facetColumnOf(by)?.name
  return facet === undefined ? undefined : listFacet(handle, { facet, groups, limit })
}

async function assetAt(handle: Handle, { id, at, groups }: { id: string; at: string; groups: Groups }) {
  const time = pointInTime(at)
  await requireRetained(handle, time)
  const asset = await store.findAssetAt(handle, { id, at: time, groups })
  if (asset === undefined || asset.document === null) return undefined
  return { ...asset, id, document: asset.document, accessGroup: asset.accessGroup ?? '' }
}

/** Returns the JSON text of an asset in parts. The document is parsed only if `fields` selects some of its fields. */
function projected({ id, accessGroup, document }: store.ShownAsset, fields: string | undefined): string[] {
  const complete = [`{"id":"${id}","access_group":${JSON.stringify(accessGroup)},`, document.slice(1)]
  if (fields === undefined) return complete
  const asset = JSON.parse(complete.join('')) as AssetDocument
  const names = fields.split(',').map((name) => name.trim())
  const members = names.filter((name) => Object.hasOwn(asset, name)).map((name) => [name, asset[name]])
  return [JSON.stringify(Object.fromEntries(members))]
}
