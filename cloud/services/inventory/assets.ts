import type { AssetDocument, inventory } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith, mayIn } from '../../platform/access/rights.ts'
import type { Handle } from '../../platform/database/database.ts'
import { compileFilter, parseFilter, parseSort } from '../../platform/filter/filter.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { answer, type Handlers, JsonText } from '../../platform/service.ts'
import { assetProperties, facetNames } from './asset-filter.ts'
import * as store from './asset-list-store.ts'
import { identifiersOf } from './asset-store.ts'
import { after, everything, type Fragment, readCursor, type SortKey, writeCursor } from './listing.ts'
import { momentOf } from './moment.ts'
import { findReachedCondition } from './reach.ts'
import { findRelationsCondition } from './relation-filter.ts'
import { requireKept } from './retention.ts'
import type { Desk } from './service.ts'

type Names = 'listAssets' | 'readAsset' | 'readIdentifiers' | 'readHistory' | 'readFacets'

export function assetHandlers({ database }: Desk): Pick<Handlers<typeof inventory>, Names> {
  return {
    async listAssets({ query }, caller) {
      const { limit = 50, offset = 0, count = true } = query
      const sort = sortOf(query)
      const { filter, relationsFilter, depth, caseInsensitive, q } = query
      const identity = JSON.stringify([filter, relationsFilter, depth, caseInsensitive, query.sort, q])
      return database.read(caller, async (handle) => {
        const where = await selectionOf(handle, query, caller)
        const stretches =
          query.cursor === undefined
            ? everything
            : after(sort, readCursor(query.cursor, identity, sort.length + 1), where.values.length + 2)
        const rows = await store.listAssets(handle, { where, stretches, sort, limit, offset })
        const total = count ? await totalOf(handle, { query, caller, where }) : undefined
        const last = rows.length === limit ? rows.at(-1)?.keys : undefined
        const meta = {
          ...(total === undefined ? {} : { totalElements: total }),
          elements: rows.length,
          offset,
          ...(last === undefined || query.q !== undefined ? {} : { nextCursor: writeCursor(identity, last) }),
        }
        const shown = rows.map((row) => projected(row, query.fields)).join(',')
        return new JsonText(`{"data":[${shown}],"meta":${JSON.stringify(meta)}}`)
      })
    },

    async readAsset({ params: { id }, query: { fields, at } }, caller) {
      const asset = await database.glance(caller, (handle) =>
        at === undefined ? store.findAsset(handle, id) : assetAt(handle, id, at),
      )
      if (asset === undefined || !mayRead(caller, asset.accessGroupId)) throw missing()
      return answer(200, new JsonText(`{"data":${projected(asset, fields)}}`), { etag: etagOf(asset.version) })
    },

    async readIdentifiers({ params: { id } }, caller) {
      return database.read(caller, async (handle) => {
        const asset = await store.findAsset(handle, id)
        if (asset === undefined || !mayRead(caller, asset.accessGroupId)) throw missing()
        return { data: (await identifiersOf(handle, [id])).get(id) ?? [] }
      })
    },

    async readHistory({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      return database.read(caller, async (handle) => {
        const group = await store.findLastGroup(handle, id)
        if (group === undefined || !mayRead(caller, group)) throw missing()
        const { rows, total } = await store.listHistory(handle, id, { limit, offset })
        const data = rows.map(({ sourceType, sourceValue, ...row }) => ({
          ...row,
          source: { type: sourceType, ...(sourceValue === null ? {} : { value: sourceValue }) },
        }))
        return { data, meta: { totalElements: total, elements: rows.length, offset } }
      })
    },

    async readFacets({ query }, caller) {
      const { by, limit = 50 } = query
      if (!(facetNames as readonly string[]).includes(by)) {
        throw new Problem('unknown_property', `Assets cannot be counted by ${by}; they can by ${facetNames.join(', ')}`)
      }
      const property = assetProperties.find(by)
      if (property === undefined || property.kind === 'array')
        throw new Problem('unknown_property', `There is no property ${by}`)
      return database.read(caller, async (handle) => {
        const where = await selectionOf(handle, query, caller)
        return { data: await store.countBy(handle, { column: property.column, where, limit }) }
      })
    },
  }
}

function mayRead(caller: Caller, accessGroupId: string): boolean {
  return mayIn(caller, 'inventory_read_asset_data', accessGroupId)
}

function missing(): Problem {
  return new Problem('not_found', 'There is no such asset')
}

type Query = {
  filter?: string
  relationsFilter?: string
  depth?: number
  caseInsensitive?: boolean
  q?: string
  sort?: string
  cursor?: string
}

/** What matches, of what the caller may read. */
async function selectionOf(handle: Handle, query: Query, caller: Caller): Promise<Fragment> {
  const { filter, relationsFilter, depth = 1, caseInsensitive = false, q } = query
  if (depth > 1 && relationsFilter === undefined)
    throw new Problem('invalid_query', 'depth says how far relationsFilter goes: send both, or none of them')
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  let where: Fragment =
    groups === 'all' ? { sql: 'true', values: [] } : { sql: 'a.access_group_id = any($2::uuid[])', values: [groups] }
  if (filter !== undefined) {
    where = and(
      where,
      compileFilter(parseFilter(filter), assetProperties, { caseInsensitive, firstParameter: where.values.length + 2 }),
    )
  }
  if (relationsFilter !== undefined) {
    const options = {
      caseInsensitive,
      firstParameter: where.values.length + 2,
      groups: groups === 'all' ? null : groups,
    }
    where = and(
      where,
      depth === 1
        ? await findRelationsCondition(handle, relationsFilter, options)
        : await findReachedCondition(handle, relationsFilter, { ...options, depth }),
    )
  }
  for (const word of q
    ?.toLowerCase()
    .split(/\s+/)
    .filter((part) => part !== '') ?? []) {
    where = and(where, {
      sql: `a.search like $${where.values.length + 2}`,
      values: [`%${word.replace(/[\\%_]/g, '\\$&')}%`],
    })
  }
  return where
}

function and(first: Fragment, second: { sql: string; values: readonly unknown[] }): Fragment {
  return { sql: `${first.sql} and ${second.sql}`, values: [...first.values, ...second.values] }
}

const casts = { text: 'text', number: 'numeric', boolean: 'boolean', time: 'timestamptz', uuid: 'uuid' } as const

function sortOf({ sort }: Query): SortKey[] {
  if (sort === undefined) return []
  return parseSort(sort, assetProperties).map(({ column, descending, nullable, kind }) => ({
    column,
    descending,
    nullable,
    cast: casts[kind],
  }))
}

type Counting = { query: Query; caller: Caller; where: Fragment }

/** Without a filter the total is known; with one it is counted. */
function totalOf(handle: Parameters<typeof store.countAssets>[0], { query, caller, where }: Counting): Promise<number> {
  if (query.filter !== undefined || query.relationsFilter !== undefined || query.q !== undefined)
    return store.countAssets(handle, where)
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  return store.totalAssets(handle, groups === 'all' ? null : groups)
}

async function assetAt(handle: Parameters<typeof store.findAssetAt>[0], id: string, at: string) {
  const time = momentOf(at)
  await requireKept(handle, time)
  const was = await store.findAssetAt(handle, id, time)
  if (was === undefined || was.document === null) return undefined
  return { ...was, id, document: was.document, accessGroup: was.accessGroup ?? '' }
}

/** The document is passed through as text; only a projection has to look inside. */
function projected(
  { id, accessGroup, document }: Omit<store.ShownAsset, 'version'>,
  fields: string | undefined,
): string {
  const whole = `{"id":"${id}","access_group":${JSON.stringify(accessGroup)},${document.slice(1)}`
  if (fields === undefined) return whole
  const asset = JSON.parse(whole) as AssetDocument
  const names = fields.split(',').map((name) => name.trim())
  return JSON.stringify(
    Object.fromEntries(names.filter((name) => Object.hasOwn(asset, name)).map((name) => [name, asset[name]])),
  )
}
