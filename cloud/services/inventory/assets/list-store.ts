import type { Handle } from '../../../platform/database/database.ts'
import { dynamicStatement, statement } from '../../../platform/database/statement.ts'
import type { Property } from '../../../platform/filter/filter.ts'
import { type Groups, isReadableVersion, wasLastReadable, wasReadableAt } from '../visibility.ts'
import type { OverruledField } from './field-sources.ts'
import { type AssetSet, after, keyText, orderBy, type Ranges, type SortKey, totalOrder } from './listing.ts'
import type { Selection } from './selection.ts'

/**
 * Lists of assets, one page at a time.
 *
 * A list selects assets by conditions on their rows and by membership in sets that other tables define (relations,
 * search tokens). Without a set, an index returns the page directly. A small set is first read completely (collected),
 * which also gives the total. For a large set, the next assets in the order of the list are checked for membership
 * (probed) until the page is full. If too few of the probed assets are members, the database evaluates the whole set.
 */

/** An asset for a response. `document` is JSON text without the id and the access group, which the response adds. */
export type ShownAsset = { id: string; accessGroup: string; document: string }

/** An asset of a list, with its sort keys as text. */
export type ListedAsset = ShownAsset & { [key: `k${number}`]: string | null }

/** Returns the values of the sort keys of an asset, which the cursor contains. */
export function placeOf(asset: ListedAsset, sort: readonly SortKey[]): (string | null)[] {
  return [...sort.map((_, index) => asset[`k${index}`] ?? null), asset.id]
}

/** The page to read: order, position and size. */
export type Page = {
  ranges: Ranges
  sort: readonly SortKey[]
  limit: number
  offset: number
  /** Whether the response contains the total. If it does, collecting a larger set is worth the time. */
  count: boolean
  /** Whether an earlier query found that the set is large. If it is, probing is tried before collecting. */
  isLargeSet?: boolean
  bounds?: Bounds
}

/**
 * `collected` is the maximum size of a set that is collected. `probed` is the maximum number of assets that are probed.
 */
type Bounds = { collected: number; probed: number }

const usual: Bounds = { collected: 20_000, probed: 5_000 }
const withoutTotal: Bounds = { collected: 2_000, probed: 5_000 }

/** A page of assets. It contains the total if the query computed the total, and whether the query found a large set. */
export type Listed = { rows: ListedAsset[]; total?: number; isLargeSet?: boolean }

const from = `assets a join access_groups g on g.tenant_id = $1 and g.id = a.access_group_id`

/**
 * Returns the `from` clause. It joins the access group only if one of the parts uses it, because an index-only scan may be
 * enough without the join.
 */
export function fromFor(...parts: readonly string[]): string {
  return parts.some((part) => /\bg\./.test(part)) ? from : 'assets a'
}

const columns = `a.id, g.name as "accessGroup", a.document as "document:text"`

/** Reads a page of assets. The comment at the top of this file describes the strategies. */
export async function listAssets(handle: Handle, selection: Selection, page: Page): Promise<Listed> {
  const { where, sets } = selection
  if (sets.length === 0) return { rows: await pageWhere(handle, selection, { ...page, where }) }
  const early = page.isLargeSet ? await probeInOrder(handle, selection, page) : undefined
  if (early?.isPage) return { rows: early.rows, isLargeSet: true }
  for (const set of sets) {
    const listed = await listSmallSet(handle, selection, { ...page, set })
    if (listed !== undefined) return listed
  }
  const late = early ?? (await probeInOrder(handle, selection, page))
  if (late.isPage) return { rows: late.rows, isLargeSet: true }
  return { rows: await pageWhere(handle, selection, { ...page, where: matching(selection) }), isLargeSet: true }
}

/** Selects the ids of the page from the index first, and then reads only their documents. */
async function pageWhere(
  handle: Handle,
  selection: Selection,
  { where, ranges, sort, limit, offset }: Page & { where: string },
): Promise<ListedAsset[]> {
  const order = orderBy(totalOrder(sort))
  const values = [...selection.values, ...ranges.values]
  const slice = sliceOf({ limit, offset }, values.length + 2)
  const groups = sort.length === 0 ? fewGroups(selection) : undefined
  const ids = ranges.conditions.map((condition) =>
    groups === undefined
      ? `(select a.id from ${fromFor(where, order)} where a.tenant_id = $1 and ${where} and ${condition}
          order by ${order} ${slice.page})`
      : `(select a.id from (${groups
          .map(
            (
              group,
            ) => `(select a.id from assets a where a.tenant_id = $1 and a.access_group_id = ${group} and ${condition}
              order by a.id ${slice.throughPage})`,
          )
          .join(' union all ')}) as a order by a.id ${slice.page})`,
  )
  const text = `${shown(sort, ids)} limit ${limit}`
  return inOrder(await handle.rows(dynamicStatement<ListedAsset>(text), ...values, ...slice.values), sort)
}

/**
 * Returns the `limit` and `offset` clauses of a page. The first page has no offset parameter. With one, the planner would
 * assume a large offset, reject the generic plan as too expensive and plan each query again, which takes longer than
 * reading the page.
 */
function sliceOf({ limit, offset }: { limit: number; offset: number }, parameter: number) {
  if (offset === 0) return { page: `limit ${limit}`, throughPage: `limit ${limit}`, values: [] }
  return {
    page: `limit ${limit} offset $${parameter}`,
    throughPage: `limit ${limit}::bigint + $${parameter}`,
    values: [offset],
  }
}

/**
 * Returns the access groups of a selection that has no other condition, if the groups are few. Each group is then read as
 * its own range of an index, in which the assets of one group are sorted by id.
 */
function fewGroups({ totalSource, groups }: Selection): string[] | undefined {
  if (totalSource !== 'everything' || groups === null || groups.length === 0 || groups.length > 16) return undefined
  return groups.map((_, index) => `($2::uuid[])[${index + 1}]`)
}

type SmallSetRow = { collected: number; total: number } & (ListedAsset | { id: null })

/**
 * Reads the page and the total with one SQL statement. Returns `undefined` when the set has more than
 * `bounds.collected` assets.
 */
async function listSmallSet(
  handle: Handle,
  { where, sets, values }: Selection,
  { set, ranges, sort, limit, offset, count, bounds = count ? usual : withoutTotal }: Page & { set: AssetSet },
): Promise<Listed | undefined> {
  const { collected: max } = bounds
  const order = orderBy(totalOrder(sort))
  const slice = sliceOf({ limit, offset }, values.length + ranges.values.length + 2)
  const conditions = [where, ...sets.filter((other) => other !== set).map(({ has }) => has)].join(' and ')
  const members = (name: string) => `a.tenant_id = $1 and a.id = any(array(select id from ${name}))`
  const matches =
    conditions === 'true'
      ? `select ${set.once === set.ids ? '' : 'distinct'} id from collected`
      : `select a.id from ${fromFor(conditions)} where ${members('collected')} and ${conditions}`
  const source = sort.length === 0 ? 'found a where true' : `${fromFor(order)} where ${members('found')}`
  const ids = ranges.conditions.map(
    (condition) => `(select a.id from ${source} and ${condition} order by ${order} ${slice.page})`,
  )
  const rows = await handle.rows(
    dynamicStatement<SmallSetRow>(
      `with collected as materialized (select s.id from (${set.ids}) as s limit ${max + 1}),
            found as materialized (${matches})
       select c.collected, c.total, p.* from
         (select (select count(*) from collected) as collected, (select count(*) from found) as total) as c
         left join (${shown(sort, ids)} limit case when (select count(*) from collected) > ${max} then 0 else ${limit} end) as p on true`,
    ),
    ...values,
    ...ranges.values,
    ...slice.values,
  )
  if (rows[0] === undefined || rows[0].collected > max) return undefined
  return {
    rows: inOrder(
      rows.filter((row) => row.id !== null),
      sort,
    ),
    total: rows[0].total,
  }
}

/** The first members of the sets in the order of the list. `isPage` is false if there may be more of them on the page. */
type Probed = { rows: ListedAsset[]; isPage: boolean }

/**
 * Probes the next assets in the order of the list for membership in all sets, until the page is full. The ranges are
 * probed in order. If a range has more assets than are probed, the ranges after it are not probed, because the rest of its
 * assets precede them.
 */
async function probeInOrder(handle: Handle, selection: Selection, page: Page): Promise<Probed> {
  const { where, sets, values } = selection
  const { ranges, sort, limit, offset, bounds = usual } = page
  if (offset > 0) return { rows: [], isPage: false }
  const [set, ...others] = sets
  if (set?.check !== undefined && others.length === 0)
    return checkInOrder(handle, selection, { ...page, check: set.check })
  const { keys, order, outerOrder } = probedOrder(sort)
  const parts = ranges.conditions.map((condition, range) => {
    const next = `select a.id${keys} from ${fromFor(where, order)} where a.tenant_id = $1 and ${where} and ${condition}`
    const isReached = range === 0 ? 'true' : `(select is_reached from reached${range})`
    const isLast = range === ranges.conditions.length - 1
    const members = `members${range} as materialized (
      select a.id from (${next} and ${isReached} order by ${order} limit ${bounds.probed}) as a
      where ${sets.map(({ has }) => has).join(' and ')} order by ${outerOrder} limit ${limit})`
    const reached = `reached${range + 1} as materialized (
      select case when not ${isReached} or (select count(*) from members${range}) = ${limit} then false
        else (select count(*) from (${next} limit ${bounds.probed}) as p) < ${bounds.probed} end as is_reached)`
    return { with: isLast ? members : `${members}, ${reached}`, ids: `select id from members${range}` }
  })
  const found = shown(
    sort,
    parts.map(({ ids }) => ids),
  )
  const text = `with ${parts.map((part) => part.with).join(', ')} ${found} limit ${limit}`
  const rows = inOrder(await handle.rows(dynamicStatement<ListedAsset>(text), ...values, ...ranges.values), sort)
  return { rows, isPage: rows.length === limit }
}

/**
 * Returns the SQL for the order of probed assets. `keys` are the columns of the sub-select that reads the assets. The outer
 * query repeats the order with these columns, so that the planner knows that the rows are sorted.
 */
function probedOrder(sort: readonly SortKey[]): { keys: string; order: string; outerOrder: string } {
  return {
    keys: sort.map(({ column }, index) => `, ${column} as k${index}`).join(''),
    order: orderBy(totalOrder(sort)),
    outerOrder: orderBy(totalOrder(sort.map((key, index) => ({ ...key, column: `a.k${index}` })))),
  }
}

/** How many times as many assets as the page has are checked first. Each further step checks twice as many as the last. */
const checkedPerPage = 4

/**
 * The ids of the assets of a range in order, with the sort keys of the last one. With `range` null, pairs of the id of an
 * asset and one of its keys.
 */
type CheckedIds = { range: number | null; ids: string; [key: `k${number}`]: string | null }

const idLength = 36

/** Splits a text of ids. One text is read several times as fast as one row for each id. */
function splitIds(text: string): string[] {
  return Array.from({ length: text.length / idLength }, (_, index) =>
    text.slice(index * idLength, (index + 1) * idLength),
  )
}

/**
 * Checks the next assets in the order of the list in this process, until the page is full. The parameter of the set is not
 * sent, because it may have megabytes. The keys of all assets are read with one scan, which is faster than a scan for each
 * asset.
 */
async function checkInOrder(
  handle: Handle,
  { where, values }: Selection,
  { ranges, sort, limit, check, bounds = usual }: Page & { check: NonNullable<AssetSet['check']> },
): Promise<Probed> {
  const order = orderBy(totalOrder(sort))
  const keys = sort.map((key, index) => `, ${keyText(key)} as k${index}`).join('')
  const lastKeys = sort.map((_, index) => `, (array_agg(k${index} order by place desc))[1] as k${index}`).join('')
  const unsent = Number(check.parameter.slice(1)) - 2
  const sent = values.map((value, index) => (index === unsent ? null : value))
  const next = async ({ conditions, values: places }: Ranges, assets: number) => {
    const parts = conditions.map(
      (condition, range) => `(select a.id${keys}, ${range} as range, row_number() over (order by ${order}) as place
          from ${fromFor(where, order)}
          where a.tenant_id = $1 and ${where} and ${condition} and ${check.parameter}::uuid[] is null
          order by ${order} limit ${assets})`,
    )
    const statement = dynamicStatement<CheckedIds>(
      `with assets_to_check as materialized (${parts.join(' union all ')})
       select range, string_agg(id::text, '' order by place) as ids${lastKeys} from assets_to_check group by range
       union all select null, coalesce(string_agg(k.id::text || k.key::text, ''), '')${', null'.repeat(sort.length)}
       from (${check.keysOf('array(select id from assets_to_check)')}) as k`,
    )
    const members = new Set<string>()
    const inRanges = conditions.map((): string[] => [])
    let last: (string | null)[] | undefined
    const rows = await handle.rows(statement, ...sent, ...places)
    for (const { range, ids, ...place } of rows.toSorted((one, other) => (one.range ?? -1) - (other.range ?? -1))) {
      const split = splitIds(ids)
      if (range === null) {
        for (let index = 0; index < split.length; index += 2)
          if (check.hasKey(split[index + 1] ?? '')) members.add(split[index] ?? '')
      } else if (last === undefined) {
        inRanges[range] = split
        // If a range has more assets, they precede the assets of the next ranges.
        if (split.length === assets) last = [...sort.map((_, index) => place[`k${index}`] ?? null), split.at(-1) ?? '']
      }
    }
    return { found: inRanges.flat().filter((id) => members.has(id)), last }
  }
  const found: string[] = []
  let rest: Ranges | undefined = ranges
  for (let read = 0, step = checkedPerPage * limit; rest !== undefined && found.length < limit; step *= 2) {
    const assets = Math.min(step, bounds.probed - read)
    if (assets === 0) break
    const checked = await next(rest, assets)
    found.push(...checked.found)
    read += assets
    rest = checked.last && after(totalOrder(sort), checked.last, values.length + 2)
  }
  const isComplete = rest === undefined
  const text = `${shown(sort, ['select unnest($2::uuid[])'])} limit ${limit}`
  const rows = inOrder(await handle.rows(dynamicStatement<ListedAsset>(text), found.slice(0, limit)), sort)
  return { rows, isPage: rows.length === limit || (isComplete && found.length < limit) }
}

/**
 * Returns the SQL that selects the assets with these ids in the order of the list. If the list is sorted by id only, the
 * SQL does not sort, and `inOrder` sorts the rows.
 */
function shown(sort: readonly SortKey[], ids: readonly string[]): string {
  const keys = sort.map((key, index) => `, ${keyText(key)} as k${index}`)
  return `select ${columns}${keys.join('')} from ${from}
    where a.tenant_id = $1 and a.id = any(array(${ids.join(' union all ')}))${sort.length === 0 ? '' : ` order by ${orderBy(totalOrder(sort))}`}`
}

/** Sorts rows by id in this process, because the database server would copy all documents to sort them. */
function inOrder(rows: ListedAsset[], sort: readonly SortKey[]): ListedAsset[] {
  return sort.length === 0 ? rows.sort((one, other) => (one.id < other.id ? -1 : 1)) : rows
}

/**
 * Counts the selected assets. If membership in one set is the only condition, counts the set without reading the
 * assets.
 */
export async function countAssets(handle: Handle, { where, sets, values }: Selection): Promise<number> {
  const [only] = sets
  const counting =
    where === 'true' && sets.length === 1 && only !== undefined
      ? `select count(*) as total from (${only.once}) as found`
      : `select count(*) as total from ${fromFor(where)} where ${matching({ where, sets })}`
  return (await handle.row(dynamicStatement<{ total: number }>(counting), ...values))?.total ?? 0
}

/**
 * Returns the first ids of the selected assets. With `since`, returns only assets that existed and were readable at
 * that time.
 */
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

/** Returns those of the ids whose assets are selected. */
export async function listMatching(handle: Handle, selection: Selection, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await handle.rows(
    dynamicStatement<{ id: string }>(
      `select a.id from ${fromFor(selection.where)}
       where a.id = any($${selection.values.length + 2}::uuid[]) and ${matching(selection)}`,
    ),
    ...selection.values,
    ids,
  )
  return rows.map(({ id }) => id)
}

/** Returns the condition that asset `a` is selected. */
export function matching({ where, sets }: Pick<Selection, 'where' | 'sets'>): string {
  return ['a.tenant_id = $1', where, ...sets.map(({ ids }) => `a.id in (${ids})`)].join(' and ')
}

const totals = statement<{ total: number }>(
  `select coalesce(sum(assets), 0)::bigint as total from asset_counts where tenant_id = $1 and ($2::uuid[] is null or access_group_id = any($2))`,
)

/** Returns the stored number of assets in these access groups, or in all groups if `groups` is null. */
export async function totalAssets(handle: Handle, groups: readonly string[] | null): Promise<number> {
  return (await handle.row(totals, groups))?.total ?? 0
}

const groupTotals = statement<FacetRow>(
  `select g.name as value, c.assets as count from asset_counts c
   join access_groups g on g.tenant_id = $1 and g.id = c.access_group_id
   where c.tenant_id = $1 and c.assets > 0 and ($2::uuid[] is null or c.access_group_id = any($2))
   order by 2 desc, 1 limit $3`,
)

/** Returns the access groups with the stored number of assets in each group. */
export function totalsByGroup(handle: Handle, groups: readonly string[] | null, limit: number): Promise<FacetRow[]> {
  return handle.rows(groupTotals, groups, limit)
}

type CurrentAsset = ShownAsset & { accessGroupId: string; version: number }

const one = statement<CurrentAsset>(
  `select ${columns}, a.version, a.access_group_id as "accessGroupId" from ${from} where a.tenant_id = $1 and a.id = $2`,
)

export function findAsset(handle: Handle, id: string): Promise<CurrentAsset | undefined> {
  return handle.row(one, id)
}

export type FacetRow = { value: string | null; count: number }

/**
 * Counts the selected assets by the values of a property. For an array, an asset counts once for each different element, and
 * an asset without elements counts with the value null.
 */
export function countBy(
  handle: Handle,
  selection: Selection,
  { property, limit }: { property: Property; limit: number },
): Promise<FacetRow[]> {
  const { where, values } = selection
  const counted = `group by 1 order by 2 desc, 1 limit $${values.length + 2}`
  if (property.kind !== 'array') {
    const { column } = property
    const text = `select ${column}::text as value, count(*) as count from ${fromFor(column, where)}
      where ${matching(selection)} ${counted}`
    return handle.rows(dynamicStatement<FacetRow>(text), ...values, limit)
  }
  const { from: rows, where: isElement, itself } = property.elements
  const text = `select s.value, count(*) as count from (
      select distinct a.id, e.value from ${fromFor(where)}
      left join lateral (select ${itself?.column} as value from ${rows} where ${isElement}) as e on true
      where ${matching(selection)}) as s
    ${counted}`
  return handle.rows(dynamicStatement<FacetRow>(text), ...values, limit)
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
  overruled: OverruledField[] | null
}

const historyPage = statement<HistoryEntryRow>(
  `select h.version, h.time, h.change, h.principal_id as principal, h.principal_name as "principalName",
          h.source_type as "sourceType", h.source_value as "sourceValue", h.document as after, b.document as before,
          h.matched_by as "matchedBy", h.overruled
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
 * Returns the changes of an asset while it was in one of these groups, latest first. The change that moved the asset into
 * such a group has no previous state, because that state belongs to another group.
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

/**
 * Returns the state of an asset at a time, if the asset is readable with these groups. The document is null if the asset
 * was deleted at that time.
 */
export function findAssetAt(handle: Handle, { id, at, groups }: PastAsset & { at: string }) {
  return handle.row(atTime, id, at, groups)
}

const lastReadable = statement<{ id: string }>(
  `select h.asset_id as id from asset_history h
   where h.tenant_id = $1 and h.asset_id = $2 and ${wasLastReadable('h.asset_id', '$3')} limit 1`,
)

/**
 * Returns whether an asset is readable with these groups. For a deleted asset: whether it was readable when it was deleted.
 */
export async function wasReadable(handle: Handle, { id, groups }: PastAsset): Promise<boolean> {
  return (await handle.row(lastReadable, id, groups)) !== undefined
}
