import type { AssetDocument, inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { mayIn } from '../../../platform/access/rights.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { exportedPage } from '../../../platform/export-page.ts'
import { answer, type Handlers, JsonText } from '../../../platform/service.ts'
import type { InventoryContext } from '../context.ts'
import { pointInTime } from '../history/point-in-time.ts'
import { requireRetained } from '../history/retention.ts'
import { isReadable } from '../relations/relation-store.ts'
import { listFacet } from '../search/facet-store.ts'
import { containsGateways, type Groups, readableGroups } from '../visibility.ts'
import { hiddenReports, withoutHiddenAuthors } from '../visibility-store.ts'
import { assetPages } from './asset-pages.ts'
import { findSources, identifiersOf } from './asset-store.ts'
import { assetTag } from './asset-tag.ts'
import { exportedDocuments } from './exported-documents.ts'
import { shownFields, shownOverruled } from './field-sources.ts'
import { assetProperties, facetColumnOf, facetNames } from './filter.ts'
import * as store from './list-store.ts'
import { type Query, type Selection, selectionOf } from './selection.ts'

type Names =
  | 'listAssets'
  | 'exportAssets'
  | 'readAsset'
  | 'readIdentifiers'
  | 'readHistory'
  | 'readFieldSources'
  | 'readFacets'

export function assetHandlers({ database, context }: InventoryContext): Pick<Handlers<typeof inventory>, Names> {
  const listPage = assetPages({ database, context })
  return {
    async listAssets({ query }, caller) {
      const { rows, meta } = await listPage(query, caller)
      const shown = rows.flatMap((row, index) => [index === 0 ? '' : ',', ...projected(row, query.fields)])
      return new JsonText('{"data":[', ...shown, `],"meta":${JSON.stringify(meta)}}`)
    },

    async exportAssets({ body: { data: query } }, caller) {
      const { rows, meta } = await listPage(query, caller)
      const { documents, nodeIds } = await database.read(caller, (handle) =>
        exportedDocuments(handle, caller, { rows, ...query }),
      )
      return exportedPage({ ...meta, ...(nodeIds && { nodeIds }) }, documents)
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
        const sources = rows.some(({ overruled }) => overruled !== null)
          ? (await findSources(handle, id))?.sources
          : null
        const reports = sources ?? {}
        const hidden = await hiddenReports(handle, { ...asset, sources: reports })
        const data = shown.map(({ sourceType, sourceValue, matchedBy, overruled, ...row }) => ({
          ...row,
          source: { type: sourceType, ...(sourceValue === null ? {} : { value: sourceValue }) },
          ...(matchedBy === null ? {} : { matchedBy }),
          ...(overruled === null ? {} : { overruled: shownOverruled(overruled, reports, hidden) }),
        }))
        return { data, meta: { totalElements: total, elements: rows.length, offset } }
      })
    },

    async readFieldSources({ params: { id } }, caller) {
      return database.read(caller, async (handle) => {
        if ((await readableAsset(handle, caller, id)) === undefined) throw missing(id)
        const { document, sources } = (await findSources(handle, id)) ?? { document: {}, sources: null }
        const reports = sources ?? {}
        const hidden = await hiddenReports(handle, { id, groups: readableGroups(caller), sources: reports })
        return { data: shownFields(document, reports, hidden) }
      })
    },

    async readFacets({ query }, caller) {
      const { by, limit = 50, ...selected } = query
      return { data: await database.read(caller, (handle) => countFacet(handle, caller, { by, limit, selected })) }
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

type FacetQuery = { by: string; limit: number; selected: Query }

/** Counts assets by the values of a property. */
export async function countFacet(handle: Handle, caller: Caller, { by, limit, selected }: FacetQuery) {
  const property = (facetNames as readonly string[]).includes(by) ? assetProperties.find(by) : undefined
  if (property === undefined)
    throw new Problem('unknown_property', `Assets cannot be counted by ${by}. Use one of ${facetNames.join(', ')}`)
  const selection = await selectionOf(handle, selected, caller)
  const stored = await storedFacet(handle, selection, { by, limit })
  return stored ?? store.countBy(handle, selection, { property, limit })
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
