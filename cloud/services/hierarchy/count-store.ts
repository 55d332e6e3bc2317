import type { Handle, Transaction } from '../../platform/database/database.ts'
import { lowestId } from '../../platform/database/id.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'
import { extent } from '../../platform/events/store.ts'

/**
 * The projection of the assigned assets, and the counts per node and access group. Both change in the same transaction,
 * with the hierarchy locked, so the counts always equal the counted rows of `hierarchy_assets`.
 */

/** The access group of the rows that contain the counts of all groups. It is never the id of a group. */
export const allGroups = lowestId

/**
 * The access groups whose counts a caller sees. `[allGroups]` means all assets. With `gateways`, the groups contain
 * `allGroups`, of which only the gateways and links count.
 */
export type CountScope = { groups: readonly string[]; gateways: boolean }

/** An assigned asset in the projection. */
export type ProjectedAsset = {
  hierarchyId: string
  assetId: string
  nodeId: string
  accessGroupId: string
  isGateway: boolean
  reachabilityState: string
  isUndecided: boolean
  changedAt: string
  isRecent: boolean
}

const columns = `a.hierarchy_id as "hierarchyId", a.asset_id as "assetId", a.node_id as "nodeId",
  a.access_group_id as "accessGroupId", a.is_gateway as "isGateway", a.reachability_state as "reachabilityState",
  a.is_undecided as "isUndecided", a.changed_at as "changedAt", a.is_recent as "isRecent"`

const ofAssetsStatement = statement<ProjectedAsset>(
  `select ${columns} from hierarchy_assets a where a.tenant_id = $1 and a.asset_id = any($2::uuid[])`,
)

/** Returns the projected rows of assets, in all hierarchies. */
export function listProjected(handle: Handle, assetIds: readonly string[]): Promise<ProjectedAsset[]> {
  return assetIds.length === 0 ? Promise.resolve([]) : handle.rows(ofAssetsStatement, arrayOf('uuid', assetIds))
}

const projectedIdsStatement = statement<{ id: string }>(
  `select a.asset_id as id from hierarchy_assets a
   where a.tenant_id = $1 and a.hierarchy_id = $2 and a.asset_id > $3 order by a.asset_id limit $4`,
)

/** Returns the next projected assets of a hierarchy, in the order of their ids. */
export async function listProjectedIds(
  handle: Handle,
  hierarchyId: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  return (await handle.rows(projectedIdsStatement, hierarchyId, after, limit)).map(({ id }) => id)
}

const agedStatement = statement<{ id: string }>(
  `select a.asset_id as id from hierarchy_assets a
   where a.tenant_id = $1 and a.is_recent and a.changed_at < $2 order by a.changed_at limit $3`,
)

/** Returns assets that are counted as changed in the last 24 hours, but changed before the time. */
export async function listAged(handle: Handle, before: string, limit: number): Promise<string[]> {
  return (await handle.rows(agedStatement, before, limit)).map(({ id }) => id)
}

const keyColumns = { hierarchyId: 'uuid', assetId: 'uuid' } as const
const keys = rowset<Pick<ProjectedAsset, 'hierarchyId' | 'assetId'>>(keyColumns)
const deleteStatement = statement(
  `delete from hierarchy_assets a using ${keys.rows}
   where a.tenant_id = $1 and a.hierarchy_id = r."hierarchyId" and a.asset_id = r."assetId"`,
)

const rows = rowset<Record<keyof ProjectedAsset, string | number>>({
  ...keyColumns,
  nodeId: 'uuid',
  accessGroupId: 'uuid',
  isGateway: 'integer',
  reachabilityState: 'text',
  isUndecided: 'integer',
  changedAt: 'timestamptz',
  isRecent: 'integer',
})
const putStatement = statement<{ assetId: string }>(
  `insert into hierarchy_assets (tenant_id, hierarchy_id, asset_id, node_id, access_group_id, is_gateway,
                                 reachability_state, is_undecided, changed_at, is_recent)
   select $1, "hierarchyId", "assetId", "nodeId", "accessGroupId", "isGateway" = 1, "reachabilityState",
          "isUndecided" = 1, "changedAt", "isRecent" = 1
   from ${rows.rows}
   on conflict (tenant_id, hierarchy_id, asset_id) do update set
     node_id = excluded.node_id, access_group_id = excluded.access_group_id, is_gateway = excluded.is_gateway,
     reachability_state = excluded.reachability_state, is_undecided = excluded.is_undecided,
     changed_at = excluded.changed_at, is_recent = excluded.is_recent
   returning asset_id as "assetId"`,
)

/** One row of counts that changes. All numbers are differences. */
type CountChange = {
  nodeId: string
  accessGroupId: string
  isGateway: boolean
  hierarchyId: string
  assets: number
  online: number
  offline: number
  undecided: number
  changed: number
}

/**
 * Replaces rows of the projection and changes the counts of their nodes and of all nodes above. The hierarchies must be
 * locked. A row without `after` is deleted.
 */
export async function replaceProjected(
  tx: Transaction,
  changes: readonly { before?: ProjectedAsset | undefined; after?: ProjectedAsset | undefined }[],
): Promise<void> {
  const deleted = changes.flatMap(({ before, after }) => (before !== undefined && after === undefined ? [before] : []))
  const put = changes.flatMap(({ after }) => (after === undefined ? [] : [after]))
  if (deleted.length > 0) await tx.run(deleteStatement, ...keys.values(deleted))
  if (put.length > 0)
    await tx.rows(
      putStatement,
      ...rows.values(
        put.map((row) => ({
          ...row,
          isGateway: Number(row.isGateway),
          isUndecided: Number(row.isUndecided),
          isRecent: Number(row.isRecent),
        })),
      ),
    )
  await changeCounts(tx, countChanges(changes))
}

/** Returns the sums of the differences per node, access group and kind. */
function countChanges(
  changes: readonly { before?: ProjectedAsset | undefined; after?: ProjectedAsset | undefined }[],
): CountChange[] {
  const sums = new Map<string, CountChange>()
  const add = (row: ProjectedAsset, sign: 1 | -1) => {
    for (const group of [row.accessGroupId, allGroups]) addTo(group, row, sign)
  }
  const addTo = (accessGroupId: string, row: ProjectedAsset, sign: 1 | -1) => {
    const { nodeId, isGateway, hierarchyId } = row
    const key = `${nodeId}${accessGroupId}${isGateway}`
    const zero = { assets: 0, online: 0, offline: 0, undecided: 0, changed: 0 }
    const sum = sums.get(key) ?? { nodeId, accessGroupId, isGateway, hierarchyId, ...zero }
    sum.assets += sign
    if (row.reachabilityState === 'reached') sum.online += sign
    if (row.reachabilityState === 'failed') sum.offline += sign
    if (row.isUndecided) sum.undecided += sign
    if (row.isRecent) sum.changed += sign
    sums.set(key, sum)
  }
  for (const { before, after } of changes) {
    if (before !== undefined) add(before, -1)
    if (after !== undefined) add(after, 1)
  }
  return [...sums.values()].filter(
    ({ assets, online, offline, undecided, changed }) =>
      assets !== 0 || online !== 0 || offline !== 0 || undecided !== 0 || changed !== 0,
  )
}

const changeRows = rowset<Omit<CountChange, 'isGateway'> & { isGateway: number }>({
  nodeId: 'uuid',
  accessGroupId: 'uuid',
  isGateway: 'integer',
  hierarchyId: 'uuid',
  assets: 'bigint',
  online: 'bigint',
  offline: 'bigint',
  undecided: 'bigint',
  changed: 'bigint',
})

const addToCounts = `on conflict (tenant_id, node_id, access_group_id, is_gateway) do update set
  assets_here = k.assets_here + excluded.assets_here, assets = k.assets + excluded.assets,
  online = k.online + excluded.online, offline = k.offline + excluded.offline,
  undecided = k.undecided + excluded.undecided, changed = k.changed + excluded.changed
  returning k.node_id as "nodeId"`

const countColumns = `tenant_id, node_id, access_group_id, is_gateway, hierarchy_id, assets_here, assets, online, offline,
  undecided, changed`

const changeStatement = statement<{ nodeId: string }>(
  `insert into hierarchy_counts as k (${countColumns})
   with recursive changes as (
     select r."nodeId" as node_id, r."accessGroupId" as access_group_id, r."isGateway" = 1 as is_gateway,
            r."hierarchyId" as hierarchy_id, r.assets as assets_here, r.assets, r.online, r.offline, r.undecided, r.changed
     from ${changeRows.rows}
     union all
     select n.parent_id, c.access_group_id, c.is_gateway, c.hierarchy_id, 0, c.assets, c.online, c.offline, c.undecided,
            c.changed
     from changes c join hierarchy_nodes n on n.tenant_id = $1 and n.id = c.node_id
     where n.parent_id <> n.hierarchy_id
   )
   select $1, node_id, access_group_id, is_gateway, hierarchy_id, sum(assets_here), sum(assets), sum(online),
          sum(offline), sum(undecided), sum(changed)
   from changes group by node_id, access_group_id, is_gateway, hierarchy_id
   order by node_id, access_group_id, is_gateway
   ${addToCounts}`,
)

async function changeCounts(tx: Transaction, changes: readonly CountChange[]): Promise<void> {
  if (changes.length === 0) return
  const values = changeRows.values(changes.map((change) => ({ ...change, isGateway: Number(change.isGateway) })))
  await tx.rows(changeStatement, ...values)
}

const shiftStatement = statement<{ nodeId: string }>(
  `insert into hierarchy_counts as k (${countColumns})
   select $1, p.id, c.access_group_id, c.is_gateway, c.hierarchy_id, 0, p.sign * c.assets, p.sign * c.online,
          p.sign * c.offline, p.sign * c.undecided, p.sign * c.changed
   from unnest($3::uuid[], $4::integer[]) as p (id, sign)
   join hierarchy_counts c on c.tenant_id = $1 and c.node_id = $2
   ${addToCounts}`,
)

/**
 * Adds the counts of a node to the nodes above its new place and subtracts them from the nodes above its old place. The
 * hierarchy must be locked.
 */
export async function shiftCounts(
  tx: Transaction,
  { nodeId, from, to }: { nodeId: string; from: readonly string[]; to: readonly string[] },
): Promise<void> {
  const added = to.filter((id) => !from.includes(id))
  const subtracted = from.filter((id) => !to.includes(id))
  if (added.length + subtracted.length === 0) return
  const signs = [...added.map(() => 1), ...subtracted.map(() => -1)]
  await tx.rows(shiftStatement, nodeId, arrayOf('uuid', [...added, ...subtracted]), arrayOf('integer', signs))
}

const deleteCountsStatement = statement(
  `delete from hierarchy_counts where tenant_id = $1 and node_id = any($2::uuid[])`,
)
const deleteOfNodesStatement = statement(
  `delete from hierarchy_assets where tenant_id = $1 and node_id = any($2::uuid[])`,
)

/** Deletes the counts and the projected assets of nodes. */
export async function deleteProjected(tx: Transaction, nodeIds: readonly string[]): Promise<void> {
  const ids = arrayOf('uuid', nodeIds)
  await tx.run(deleteCountsStatement, ids)
  await tx.run(deleteOfNodesStatement, ids)
}

const clearCountsStatement = statement(`delete from hierarchy_counts where tenant_id = $1 and hierarchy_id = $2`)
const recountStatement = statement<{ nodeId: string }>(
  `insert into hierarchy_counts as k (${countColumns})
   with recursive own as (
     select a.node_id, coalesce(a.access_group_id, '${allGroups}') as access_group_id, a.is_gateway, count(*) as assets,
            count(*) filter (where a.reachability_state = 'reached') as online,
            count(*) filter (where a.reachability_state = 'failed') as offline,
            count(*) filter (where a.is_undecided) as undecided, count(*) filter (where a.is_recent) as changed
     from hierarchy_assets a where a.tenant_id = $1 and a.hierarchy_id = $2
     group by grouping sets ((a.node_id, a.access_group_id, a.is_gateway), (a.node_id, a.is_gateway))
   ), all_levels as (
     select o.node_id, o.access_group_id, o.is_gateway, o.assets as assets_here, o.assets, o.online, o.offline,
            o.undecided, o.changed from own o
     union all
     select n.parent_id, l.access_group_id, l.is_gateway, 0, l.assets, l.online, l.offline, l.undecided, l.changed
     from all_levels l join hierarchy_nodes n on n.tenant_id = $1 and n.id = l.node_id
     where n.parent_id <> n.hierarchy_id
   )
   select $1, node_id, access_group_id, is_gateway, $2::uuid, sum(assets_here), sum(assets), sum(online), sum(offline),
          sum(undecided), sum(changed)
   from all_levels group by node_id, access_group_id, is_gateway
   ${addToCounts}`,
)

/** Computes the counts of a hierarchy again from its projected assets. The hierarchy must be locked. */
export async function recount(tx: Transaction, hierarchyId: string): Promise<void> {
  await tx.run(clearCountsStatement, hierarchyId)
  await tx.rows(recountStatement, hierarchyId)
}

/** The state of the projection: the position of the last projected event, and the number of stored steps. */
export type Progress = { position: number; steps: number }

const progressStatement = statement<Progress>(
  `select p.position, p.steps from hierarchy_positions p where p.tenant_id = $1`,
)
const startStatement = statement(
  `insert into hierarchy_positions (tenant_id, position) values ($1, $2) on conflict (tenant_id) do nothing`,
)
const advanceStatement = statement(
  `update hierarchy_positions set steps = steps + 1, position = greatest(position, $3) where tenant_id = $1 and steps = $2`,
)

/** Returns the state of the projection, or undefined if the tenant has never had a hierarchy. */
export function readProgress(handle: Handle): Promise<Progress | undefined> {
  return handle.row(progressStatement)
}

/** Starts the projection with the next event. */
export async function startProjection(tx: Transaction): Promise<void> {
  await tx.run(startStatement, (await extent(tx)).newest)
}

/**
 * Counts a step and moves the position forward. Returns false if another step was stored since `steps` was read. Other steps
 * wait until the end of the transaction.
 */
export async function advance(tx: Transaction, { steps, position }: Progress): Promise<boolean> {
  return (await tx.run(advanceStatement, steps, position)) > 0
}

/** A statement that returns a row if there are events that the projection does not contain. */
export const anyUnprojected = statement(
  `select p.position from hierarchy_positions p join event_positions e on e.tenant_id = $1
   where p.tenant_id = $1 and e.last > p.position`,
)

/** A statement that returns a row if the tenant has a projection. */
export const anyProjection = statement(`select p.position from hierarchy_positions p where p.tenant_id = $1`)

const readableStatement = statement<{ assets: number }>(
  `select count(*) as assets from hierarchy_assets a where a.tenant_id = $1 and a.node_id = any($2::uuid[])
     and ($3::uuid[] is null or a.access_group_id = any($3) or (a.is_gateway and $4::boolean))`,
)

/** Returns the number of projected assets of nodes that a caller can read. */
export async function countReadable(handle: Handle, nodeIds: readonly string[], scope: CountScope): Promise<number> {
  return (await handle.row(readableStatement, arrayOf('uuid', nodeIds), scope.groups, scope.gateways))?.assets ?? 0
}
