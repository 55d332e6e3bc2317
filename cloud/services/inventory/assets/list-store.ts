import type { Handle } from '../../../platform/database/database.ts'
import { dynamicStatement, statement } from '../../../platform/database/statement.ts'
import { type Groups, isReadableVersion, wasLastReadable, wasReadableAt } from '../visibility.ts'
import { type AssetSet, keyText, orderBy, type Ranges, type SortKey, totalOrder } from './listing.ts'
import type { Selection } from './selection.ts'

/** An asset as it is shown: its document as text, and what is put in front of it. */
export type ShownAsset = { id: string; accessGroup: string; document: string }

/** With what it is sorted by, as text. */
export type ListedAsset = ShownAsset & { [key: `k${number}`]: string | null }

/** Where an asset stands in the order of its list. */
export function placeOf(asset: ListedAsset, sort: readonly SortKey[]): (string | null)[] {
  return [...sort.map((_, index) => asset[`k${index}`] ?? null), asset.id]
}

/** Which of the selected, in which order. */
export type Page = {
  ranges: Ranges
  sort: readonly SortKey[]
  limit: number
  offset: number
  /** Whether the total will be asked for: then gathering more pays. */
  count: boolean
  /** Whether it was found to be of a set with many members a moment ago: then gathering is not what is tried first. */
  isLargeSet?: boolean
  bounds?: Bounds
}

/** Beyond so many a set is not gathered for one page of it, and so many assets are asked whether they are in a set. */
type Bounds = { gathered: number; asked: number }

const usual: Bounds = { gathered: 20_000, asked: 5_000 }
const withoutTotal: Bounds = { gathered: 2_000, asked: 5_000 }

/** A page, the total where it became known on the way, and whether it is of a set with many members. */
export type Listed = { rows: ListedAsset[]; total?: number; isLargeSet?: boolean }

const from = `assets a join access_groups g on g.tenant_id = $1 and g.id = a.access_group_id`

/** Without the access group where nobody asks about it: then an index may know all that is wanted. */
function fromFor(...parts: readonly string[]): string {
  return parts.some((part) => /\bg\./.test(part)) ? from : 'assets a'
}

const columns = `a.id, g.name as "accessGroup", a.document as "document:text"`

/**
 * Without sets, in the order of an index. Of a set with few members, these are gathered first, which also tells the
 * total. When there are many, a page is soon full if assets are asked one after the other; if it is not, all are gathered.
 */
export async function listAssets(handle: Handle, selection: Selection, page: Page): Promise<Listed> {
  const { where, sets } = selection
  if (sets.length === 0) return { rows: await pageWhere(handle, selection, { ...page, where }) }
  const quick = page.isLargeSet ? await probeInOrder(handle, selection, page) : undefined
  if (quick?.length === page.limit) return { rows: quick, isLargeSet: true }
  for (const set of sets) {
    const found = await listSmallSet(handle, selection, { ...page, set })
    if (found !== undefined) return found
  }
  const asked = quick ?? (await probeInOrder(handle, selection, page))
  if (asked.length === page.limit) return { rows: asked, isLargeSet: true }
  return { rows: await pageWhere(handle, selection, { ...page, where: matching(selection) }), isLargeSet: true }
}

/** First the ids, on the index; then the documents of these few. */
async function pageWhere(
  handle: Handle,
  selection: Selection,
  { where, ranges, sort, limit, offset }: Page & { where: string },
): Promise<ListedAsset[]> {
  const order = orderBy(totalOrder(sort))
  const values = [...selection.values, ...ranges.values]
  const stretch = stretchOf({ limit, offset }, values.length + 2)
  const groups = sort.length === 0 ? fewGroups(selection) : undefined
  const ids = ranges.conditions.map((condition) =>
    groups === undefined
      ? `(select a.id from ${fromFor(where, order)} where a.tenant_id = $1 and ${where} and ${condition}
          order by ${order} ${stretch.page})`
      : `(select a.id from (${groups
          .map(
            (
              group,
            ) => `(select a.id from assets a where a.tenant_id = $1 and a.access_group_id = ${group} and ${condition}
              order by a.id ${stretch.upToItsEnd})`,
          )
          .join(' union all ')}) as a order by a.id ${stretch.page})`,
  )
  const text = `${shown(sort, ids)} limit ${limit}`
  return inOrder(await handle.rows(dynamicStatement<ListedAsset>(text), ...values, ...stretch.values), sort)
}

/**
 * Which rows a page has. The first page has no parameter for where it begins: with one the planner expects pages far
 * behind, finds that they cost more, and plans each first page anew, which takes longer than to read it.
 */
function stretchOf({ limit, offset }: { limit: number; offset: number }, parameter: number) {
  if (offset === 0) return { page: `limit ${limit}`, upToItsEnd: `limit ${limit}`, values: [] }
  return {
    page: `limit ${limit} offset $${parameter}`,
    upToItsEnd: `limit ${limit}::bigint + $${parameter}`,
    values: [offset],
  }
}

/**
 * The access groups one by one, where nothing else is asked for and they are few: each is a stretch of an index in the
 * order of ids, which they are not together.
 */
function fewGroups({ known, groups }: Selection): string[] | undefined {
  if (known !== 'everything' || groups === null || groups.length === 0 || groups.length > 16) return undefined
  return groups.map((_, index) => `($2::uuid[])[${index + 1}]`)
}

type Few = { gathered: number; total: number } & (ListedAsset | { id: null })

/** One statement for the page and the total; nothing when the set has many members. */
async function listSmallSet(
  handle: Handle,
  { where, sets, values }: Selection,
  { set, ranges, sort, limit, offset, count, bounds = count ? usual : withoutTotal }: Page & { set: AssetSet },
): Promise<Listed | undefined> {
  const { gathered: most } = bounds
  const order = orderBy(totalOrder(sort))
  const stretch = stretchOf({ limit, offset }, values.length + ranges.values.length + 2)
  const conditions = [where, ...sets.filter((other) => other !== set).map(({ has }) => has)].join(' and ')
  const members = (name: string) => `a.tenant_id = $1 and a.id = any(array(select id from ${name}))`
  const found =
    conditions === 'true'
      ? `select ${set.once === set.ids ? '' : 'distinct'} id from gathered`
      : `select a.id from ${fromFor(conditions)} where ${members('gathered')} and ${conditions}`
  const source = sort.length === 0 ? 'found a where true' : `${fromFor(order)} where ${members('found')}`
  const ids = ranges.conditions.map(
    (condition) => `(select a.id from ${source} and ${condition} order by ${order} ${stretch.page})`,
  )
  const rows = await handle.rows(
    dynamicStatement<Few>(
      `with gathered as materialized (select s.id from (${set.ids}) as s limit ${most + 1}),
            found as materialized (${found})
       select c.gathered, c.total, p.* from
         (select (select count(*) from gathered) as gathered, (select count(*) from found) as total) as c
         left join (${shown(sort, ids)} limit case when (select count(*) from gathered) > ${most} then 0 else ${limit} end) as p on true`,
    ),
    ...values,
    ...ranges.values,
    ...stretch.values,
  )
  if (rows[0] === undefined || rows[0].gathered > most) return undefined
  return {
    rows: inOrder(
      rows.filter((row) => row.id !== null),
      sort,
    ),
    total: rows[0].total,
  }
}

/** The first that are in all sets among the next few thousand: one after the other, until the page is full. */
async function probeInOrder(
  handle: Handle,
  { where, sets, values }: Selection,
  { ranges, sort, limit, offset, bounds = usual }: Page,
): Promise<ListedAsset[]> {
  if (offset > 0) return []
  const order = orderBy(totalOrder(sort))
  const keys = sort.map(({ column }, index) => `, ${column} as k${index}`).join('')
  // By the same keys once more, under names that are known outside: so the planner sees that they are in order.
  const again = orderBy(totalOrder(sort.map((key, index) => ({ ...key, column: `a.k${index}` }))))
  const ids = ranges.conditions.map(
    (condition) =>
      `(select a.id from (
          select a.id${keys} from ${fromFor(where, order)} where a.tenant_id = $1 and ${where} and ${condition}
          order by ${order} limit ${bounds.asked}) as a
        where ${sets.map(({ has }) => has).join(' and ')} order by ${again} limit ${limit})`,
  )
  const text = `${shown(sort, ids)} limit ${limit}`
  return inOrder(await handle.rows(dynamicStatement<ListedAsset>(text), ...values, ...ranges.values), sort)
}

/** The assets with these ids, in order; those that are in the order of their ids are put into it by `inOrder`. */
function shown(sort: readonly SortKey[], ids: readonly string[]): string {
  const keys = sort.map((key, index) => `, ${keyText(key)} as k${index}`)
  return `select ${columns}${keys.join('')} from ${from}
    where a.tenant_id = $1 and a.id = any(array(${ids.join(' union all ')}))${sort.length === 0 ? '' : ` order by ${orderBy(totalOrder(sort))}`}`
}

/** To order documents the server would copy them all. */
function inOrder(rows: ListedAsset[], sort: readonly SortKey[]): ListedAsset[] {
  return sort.length === 0 ? rows.sort((one, other) => (one.id < other.id ? -1 : 1)) : rows
}

/** Counted without the assets themselves where nothing is asked of them. */
export async function countAssets(handle: Handle, { where, sets, values }: Selection): Promise<number> {
  const [only] = sets
  const counting =
    where === 'true' && sets.length === 1 && only !== undefined
      ? `select count(*) as total from (${only.once}) as found`
      : `select count(*) as total from ${fromFor(where)} where ${matching({ where, sets })}`
  return (await handle.row(dynamicStatement<{ total: number }>(counting), ...values))?.total ?? 0
}

/** The ids of the first that are selected, of those that existed and were readable at a time. */
export async function listIds(
  handle: Handle,
  selection: Selection,
  { limit, since }: { limit: number; since: string | undefined },
): Promise<string[]> {
  const next = selection.values.length + 2
  const rows = await handle.rows(
    dynamicStatement<{ id: string }>(
      `select a.id from ${fromFor(selection.where)} where ${matching(selection)}
         and ($${next}::timestamptz is null or (a.created_at <= $${next}
           and ${wasReadableAt('a.id', `$${next + 1}`, `$${next}`)}))
       order by a.id limit $${next + 2}`,
    ),
    ...selection.values,
    since ?? null,
    selection.groups,
    limit,
  )
  return rows.map(({ id }) => id)
}

function matching({ where, sets }: Pick<Selection, 'where' | 'sets'>): string {
  return ['a.tenant_id = $1', where, ...sets.map(({ ids }) => `a.id in (${ids})`)].join(' and ')
}

const totals = statement<{ total: number }>(
  `select coalesce(sum(assets), 0)::bigint as total from asset_counts where tenant_id = $1 and ($2::uuid[] is null or access_group_id = any($2))`,
)

/** The total of some access groups, or of all, without counting. */
export async function totalAssets(handle: Handle, groups: readonly string[] | null): Promise<number> {
  return (await handle.row(totals, groups))?.total ?? 0
}

const groupTotals = statement<FacetRow>(
  `select g.name as value, c.assets as count from asset_counts c
   join access_groups g on g.tenant_id = $1 and g.id = c.access_group_id
   where c.tenant_id = $1 and c.assets > 0 and ($2::uuid[] is null or c.access_group_id = any($2))
   order by 2 desc, 1 limit $3`,
)

/** The access groups and how many assets each has, without counting. */
export function totalsByGroup(handle: Handle, groups: readonly string[] | null, limit: number): Promise<FacetRow[]> {
  return handle.rows(groupTotals, groups, limit)
}

type FoundAsset = ShownAsset & { accessGroupId: string; version: number }

const one = statement<FoundAsset>(
  `select ${columns}, a.version, a.access_group_id as "accessGroupId" from ${from} where a.tenant_id = $1 and a.id = $2`,
)

export function findAsset(handle: Handle, id: string): Promise<FoundAsset | undefined> {
  return handle.row(one, id)
}

export type FacetRow = { value: string | null; count: number }

export function countBy(
  handle: Handle,
  selection: Selection,
  { column, limit }: { column: string; limit: number },
): Promise<FacetRow[]> {
  const { where, values } = selection
  return handle.rows(
    dynamicStatement<FacetRow>(
      `select ${column}::text as value, count(*) as count from ${fromFor(column, where)} where ${matching(selection)}
       group by 1 order by 2 desc, 1 limit $${values.length + 2}`,
    ),
    ...values,
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
  matchedBy: Record<string, unknown>[] | null
}

const historyPage = statement<HistoryEntryRow>(
  `select h.version, h.time, h.change, h.principal_id as principal, h.principal_name as "principalName",
          h.source_type as "sourceType", h.source_value as "sourceValue", h.document as after, b.document as before,
          h.matched_by as "matchedBy"
   from asset_history h
   left join asset_history b on b.tenant_id = $1 and b.asset_id = h.asset_id and b.version = h.version - 1
     and ${isReadableVersion('b', '$3')}
   where h.tenant_id = $1 and h.asset_id = $2 and ${isReadableVersion('h', '$3')}
   order by h.version desc limit $4 offset $5`,
)
const historyCount = statement<{ total: number }>(
  `select count(*) as total from asset_history h
   where h.tenant_id = $1 and h.asset_id = $2 and ${isReadableVersion('h', '$3')}`,
)

type PastAsset = { id: string; groups: Groups }

/**
 * The changes of an asset while it was in one of these groups, the latest first. The change that moved it there has no
 * state before: that one was in another group.
 */
export async function listHistory(
  handle: Handle,
  { id, groups }: PastAsset,
  { limit, offset }: { limit: number; offset: number },
) {
  const rows = await handle.rows(historyPage, id, groups, limit, offset)
  return { rows, total: (await handle.row(historyCount, id, groups))?.total ?? 0 }
}

const atTime = statement<{ document: string | null; accessGroup: string | null; version: number }>(
  `select h.document as "document:text", g.name as "accessGroup", h.version
   from asset_history h
   left join access_groups g on g.tenant_id = $1 and g.id = h.access_group_id
   where h.tenant_id = $1 and h.asset_id = $2 and h.time <= $3 and ${wasReadableAt('h.asset_id', '$4', '$3')}
   order by h.time desc, h.version desc limit 1`,
)

/** The asset as it was, if that is readable with these groups; its document is null when it was deleted by then. */
export function findAssetAt(handle: Handle, { id, at, groups }: PastAsset & { at: string }) {
  return handle.row(atTime, id, at, groups)
}

const lastReadable = statement<{ id: string }>(
  `select h.asset_id as id from asset_history h
   where h.tenant_id = $1 and h.asset_id = $2 and ${wasLastReadable('h.asset_id', '$3')} limit 1`,
)

/** Whether an asset is readable with these groups, or was when it was deleted. */
export async function wasReadable(handle: Handle, { id, groups }: PastAsset): Promise<boolean> {
  return (await handle.row(lastReadable, id, groups)) !== undefined
}
