import type { Entity, managementStates, reachabilityStates } from '@millwright/api/inventory/inventory.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { type Statement, statement } from '../../../platform/database/statement.ts'
import type { RelationRow } from '../relations/relation.ts'
import { columnsOf } from '../relations/relation-store.ts'
import { type Groups, isReadable, isReadableRow, wasReadableAt } from '../visibility.ts'
import type { Direction } from './graph.ts'

type HopDirection = Exclude<Direction, 'both'>

type Shape = { direction: Direction; someTime: boolean; somePredicates: boolean }

/**
 * Returns a sub-query that selects the relations of the frontier, from one table and in one direction. Each sub-query
 * has its own limit, so that the caller notices when the limit cut a result.
 */
function hop(
  table: 'relations' | 'ended_relations',
  direction: HopDirection,
  { someTime, somePredicates }: Shape,
): string {
  const [near, far] = direction === 'out' ? ['subject', 'object'] : ['object', 'subject']
  const existedThen = table === 'relations' ? 'and r.created_at <= $7' : 'and r.created_at <= $7 and r.ended_at > $7'
  return `(select '${table} ${direction}' as branch, ${columnsOf('r')}
     from unnest($2::text[], $3::uuid[]) as f (type, id)
     join ${table} r on r.tenant_id = $1 and r.${near}_id = f.id and r.${near}_type = f.type
     where (r.${far}_type = 'node' or ${someTime ? wasReadableAt(`r.${far}_id`, '$4', '$7') : isReadable(`r.${far}_id`, '$4')})
       and ${somePredicates ? 'r.predicate = any($6::text[])' : '$6::text[] is null'}
       ${someTime ? existedThen : ''}
     limit $5)`
}

function hopStatement(shape: Shape): Statement<RelationRow & { branch: string }> {
  const directions: HopDirection[] = shape.direction === 'both' ? ['out', 'in'] : [shape.direction]
  const tables = shape.someTime ? (['relations', 'ended_relations'] as const) : (['relations'] as const)
  return statement(
    directions.flatMap((direction) => tables.map((table) => hop(table, direction, shape))).join(' union all '),
  )
}

const both = [true, false]
const hopStatements = new Map(
  (['out', 'in', 'both'] as const).flatMap((direction) =>
    both.flatMap((someTime) =>
      both.map((somePredicates) => {
        const shape = { direction, someTime, somePredicates }
        return [nameOf(shape), hopStatement(shape)] as const
      }),
    ),
  ),
)

function nameOf({ direction, someTime, somePredicates }: Shape): string {
  return `${direction} ${someTime} ${somePredicates}`
}

/** The visible part of the graph, limited by access groups, direction, predicates and time. */
export type View = {
  groups: Groups
  direction: Direction
  predicates: readonly string[] | undefined
  /** The point in time; undefined means now. */
  at: string | undefined
}

/** The relations of one step. `cut` is true if the limit left some relations out. */
export type Hops = { rows: RelationRow[]; cut: boolean }

/** Reads the relations of all nodes of the frontier. If a direction has more than `limit` relations, `cut` is true. */
export async function findHops(
  handle: Handle,
  frontier: readonly Entity[],
  { groups, direction, predicates, at, limit }: View & { limit: number },
): Promise<Hops> {
  const shape = { direction, someTime: at !== undefined, somePredicates: predicates !== undefined }
  const hops = hopStatements.get(nameOf(shape))
  if (hops === undefined || frontier.length === 0) return { rows: [], cut: false }
  const types = frontier.map(({ type }) => type)
  const ids = frontier.map(({ id }) => id)
  const values = [types, ids, groups, limit + 1, predicates ?? null]
  const rows = await handle.rows(hops, ...values, ...(at === undefined ? [] : [at]))
  const counts = new Map<string, number>()
  for (const { branch } of rows) counts.set(branch, (counts.get(branch) ?? 0) + 1)
  return { rows, cut: [...counts.values()].some((count) => count > limit) }
}

const readableAtStatement = statement<{ id: string }>(
  `select a.id from assets a
   where a.tenant_id = $1 and a.id = $2 and ${wasReadableAt('a.id', '$3', '$4')} and a.created_at <= $4
   union all
   select d.asset_id from asset_history d
   where d.tenant_id = $1 and d.asset_id = $2 and ${wasReadableAt('d.asset_id', '$3', '$4')}
     and d.change = 'deleted' and d.time > $4
     and exists (select from asset_history e where e.tenant_id = $1 and e.asset_id = $2 and e.time <= $4)
     and not exists (select from assets a where a.tenant_id = $1 and a.id = $2)
   limit 1`,
)

/** Returns whether an asset existed at a time and its state at that time is readable with these groups. */
export async function wasReadable(
  handle: Handle,
  { id, groups, at }: { id: string; groups: Groups; at: string },
): Promise<boolean> {
  return (await handle.row(readableAtStatement, id, groups, at)) !== undefined
}

export type Description = {
  id: string
  name: string | null
  type: string | null
  family: string | null
  product: string | null
  manufacturer: string | null
  managementState: (typeof managementStates)[number] | null
  reachabilityState: (typeof reachabilityStates)[number] | null
}

const describeStatement = statement<Description>(
  `select id, name, type, product_family as family, product_name as product, manufacturer, management_state as "managementState", reachability_state as "reachabilityState"
   from assets a
   where tenant_id = $1 and id = any($2::uuid[]) and ${isReadableRow('a', '$3')}`,
)
const describeAtStatement = statement<Description>(
  `select f.id, h.document ->> 'name' as name, h.document ->> 'functional_object_type' as type,
          h.document #>> '{product_instance_information,manufacturer_product,product_family}' as family,
          h.document #>> '{product_instance_information,manufacturer_product,product_name}' as product,
          h.document #>> '{product_instance_information,manufacturer_product,manufacturer,name}' as manufacturer,
          h.document #>> '{management_state,state_value}' as "managementState",
          h.document #>> '{reachability_state,state_value}' as "reachabilityState"
   from unnest($2::uuid[]) as f (id)
   cross join lateral (
     select e.document from asset_history e where e.tenant_id = $1 and e.asset_id = f.id and e.time <= $4
     order by e.time desc, e.version desc limit 1) as h
   where ${wasReadableAt('f.id', '$3', '$4')}`,
)

/** Returns name, type and states of assets by id, now or at a time. */
export async function describeAssets(
  handle: Handle,
  ids: readonly string[],
  { groups, at }: Pick<View, 'groups' | 'at'>,
): Promise<Map<string, Description>> {
  const rows =
    at === undefined
      ? await handle.rows(describeStatement, ids, groups)
      : await handle.rows(describeAtStatement, ids, groups, at)
  return new Map(rows.map((row) => [row.id, row]))
}

const deletedSinceStatement = statement<{ id: string }>(
  `select distinct d.asset_id as id from asset_history d
   where d.tenant_id = $1 and d.time > $3 and d.change = 'deleted'
     and ${wasReadableAt('d.asset_id', '$2', '$3')}
     and exists (select from asset_history e where e.tenant_id = $1 and e.asset_id = d.asset_id and e.time <= $3)
     and not exists (select from assets a where a.tenant_id = $1 and a.id = d.asset_id)
   limit $4`,
)

/** Returns the assets that existed at a time and have been deleted since then. */
export async function findDeletedSince(
  handle: Handle,
  { groups, at, limit }: { groups: Groups; at: string; limit: number },
): Promise<string[]> {
  return (await handle.rows(deletedSinceStatement, groups, at, limit)).map(({ id }) => id)
}

const versionsNow = statement<{ id: string; version: number }>(
  'select id, version from assets where tenant_id = $1 and id = any($2::uuid[])',
)

const versionsAt = statement<{ id: string; version: number }>(
  `select f.id, h.version from unnest($2::uuid[]) as f (id)
   cross join lateral (
     select e.version from asset_history e where e.tenant_id = $1 and e.asset_id = f.id and e.time <= $3
     order by e.time desc, e.version desc limit 1) as h`,
)

/** Returns the version of each of these assets by id, now or at a time. */
export async function findVersions(
  handle: Handle,
  ids: readonly string[],
  at: string | undefined,
): Promise<Map<string, number>> {
  const rows = at === undefined ? await handle.rows(versionsNow, ids) : await handle.rows(versionsAt, ids, at)
  return new Map(rows.map(({ id, version }) => [id, version]))
}

export type AssetVersion = {
  id: string
  version: number
  accessGroup: string | null
  document: Record<string, unknown>
}

const versionsStatement = statement<AssetVersion>(
  `select h.asset_id as id, h.version, g.name as "accessGroup", h.document
   from unnest($2::uuid[], $3::bigint[]) as f (id, version)
   join asset_history h on h.tenant_id = $1 and h.asset_id = f.id and h.version = f.version
   left join access_groups g on g.tenant_id = $1 and g.id = h.access_group_id
   where h.document is not null
   order by h.asset_id, h.version`,
)

/** Reads the complete documents of these versions of assets. */
export async function readVersions(
  handle: Handle,
  versions: readonly { id: string; version: number }[],
): Promise<AssetVersion[]> {
  if (versions.length === 0) return []
  const ids = versions.map(({ id }) => id)
  return handle.rows(
    versionsStatement,
    ids,
    versions.map(({ version }) => version),
  )
}
