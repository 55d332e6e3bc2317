import type { Handle } from '../../platform/database/database.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'
import { type Fragment, orderBy, type SortKey, type Stretches } from './listing.ts'

/** An asset as it is shown: its document as text, and what is put in front of it. */
export type ShownAsset = { id: string; accessGroup: string; version: number; document: string }

export type ListedAsset = ShownAsset & { keys: (string | null)[] }

export type Selection = {
  /** Conditions on `a` (the asset) and `g` (its access group); parameters start at `$2`. */
  where: Fragment
  /** The parts of it to look in, one after the other; their parameters follow those of `where`. */
  stretches: Stretches
  sort: readonly SortKey[]
  limit: number
  offset: number
}

const from = `assets a join access_groups g on g.tenant_id = $1 and g.id = a.access_group_id`

/** Without the access group where nobody asks about it: then an index may know all that is wanted. */
function fromFor(...parts: readonly string[]): string {
  return parts.some((part) => /\bg\./.test(part)) ? from : 'assets a'
}

const columns = `a.id, g.name as "accessGroup", a.version, a.document::text as document`

/** First the ids, on the index; then the documents of these few. */
export function listAssets(
  handle: Handle,
  { where, stretches, sort, limit, offset }: Selection,
): Promise<ListedAsset[]> {
  const keys = sort.map(({ column, cast }) =>
    cast === 'timestamptz' ? `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')` : `${column}::text`,
  )
  const next = where.values.length + stretches.values.length + 2
  const order = orderBy(sort)
  const ids = stretches.conditions.map(
    (condition) =>
      `(select a.id from ${fromFor(where.sql, order)} where a.tenant_id = $1 and ${where.sql} and ${condition}
        order by ${order} limit $${next} offset $${next + 1})`,
  )
  return handle.rows(
    dynamicStatement<ListedAsset>(
      `select ${columns}, array[${[...keys, 'a.id::text'].join(', ')}] as keys from ${from}
       where a.tenant_id = $1 and a.id = any(array(${ids.join(' union all ')}))
       order by ${order} limit $${next}`,
    ),
    ...where.values,
    ...stretches.values,
    limit,
    offset,
  )
}

export async function countAssets(handle: Handle, where: Fragment): Promise<number> {
  const counting = dynamicStatement<{ total: number }>(
    `select count(*) as total from ${fromFor(where.sql)} where a.tenant_id = $1 and ${where.sql}`,
  )
  return (await handle.row(counting, ...where.values))?.total ?? 0
}

const totals = statement<{ total: number }>(
  `select coalesce(sum(assets), 0)::bigint as total from asset_counts where tenant_id = $1 and ($2::uuid[] is null or access_group_id = any($2))`,
)

/** The total of some access groups, or of all, without counting. */
export async function totalAssets(handle: Handle, groups: readonly string[] | null): Promise<number> {
  return (await handle.row(totals, groups))?.total ?? 0
}

const one = statement<ShownAsset & { accessGroupId: string }>(
  `select ${columns}, a.access_group_id as "accessGroupId" from ${from} where a.tenant_id = $1 and a.id = $2`,
)

export function findAsset(handle: Handle, id: string): Promise<(ShownAsset & { accessGroupId: string }) | undefined> {
  return handle.row(one, id)
}

export type FacetRow = { value: string | null; count: number }

export function countBy(
  handle: Handle,
  { column, where, limit }: { column: string; where: Fragment; limit: number },
): Promise<FacetRow[]> {
  return handle.rows(
    dynamicStatement<FacetRow>(
      `select ${column}::text as value, count(*) as count from ${fromFor(column, where.sql)} where a.tenant_id = $1 and ${where.sql}
       group by 1 order by 2 desc, 1 limit $${where.values.length + 2}`,
    ),
    ...where.values,
    limit,
  )
}

export type HistoryEntryRow = {
  version: number
  time: string
  change: 'created' | 'updated' | 'deleted'
  principal: string | null
  principalName: string
  sourceType: string
  sourceValue: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

const historyPage = statement<HistoryEntryRow>(
  `select h.version, h.time, h.change, h.principal_id as principal, h.principal_name as "principalName",
          h.source_type as "sourceType", h.source_value as "sourceValue", h.document as after, b.document as before
   from asset_history h
   left join asset_history b on b.tenant_id = $1 and b.asset_id = h.asset_id and b.version = h.version - 1
   where h.tenant_id = $1 and h.asset_id = $2
   order by h.version desc limit $3 offset $4`,
)
const historyCount = statement<{ total: number }>(
  'select count(*) as total from asset_history where tenant_id = $1 and asset_id = $2',
)

export async function listHistory(handle: Handle, id: string, { limit, offset }: { limit: number; offset: number }) {
  const rows = await handle.rows(historyPage, id, limit, offset)
  return { rows, total: (await handle.row(historyCount, id))?.total ?? 0 }
}

const atTime = statement<{
  document: string | null
  accessGroupId: string
  accessGroup: string | null
  version: number
}>(
  `select h.document::text as document, h.access_group_id as "accessGroupId", g.name as "accessGroup", h.version
   from asset_history h
   left join access_groups g on g.tenant_id = $1 and g.id = h.access_group_id
   where h.tenant_id = $1 and h.asset_id = $2 and h.time <= $3
   order by h.time desc, h.version desc limit 1`,
)

/** The asset as it was; its document is null when it was deleted by then. */
export function findAssetAt(handle: Handle, id: string, at: string) {
  return handle.row(atTime, id, at)
}

const lastGroup = statement<{ accessGroupId: string }>(
  `select access_group_id as "accessGroupId" from asset_history
   where tenant_id = $1 and asset_id = $2 order by version desc limit 1`,
)

/** The access group that an asset is in, or was in when it was deleted. */
export async function findLastGroup(handle: Handle, id: string): Promise<string | undefined> {
  return (await handle.row(lastGroup, id))?.accessGroupId
}
