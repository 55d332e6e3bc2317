import type { MonitoredState, MonitoredValue, ReportError } from '@millwright/api/monitoring.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { lowestId } from '../../platform/database/id.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf, rowset } from '../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'

/** Statements on the last results of monitored assets. */

/** A gateway through which an asset can be read, with the links to try in order. */
export type Route = {
  gatewayId: string
  links: string[]
  /** Whether the result of a gateway before this one was `unknown`. */
  isUncertain?: boolean
}

export type ResultRow = {
  monitoringId: string
  assetId: string
  assetName: string | null
  runId: string
  isPending: boolean
  gatewayId: string | null
  routes: Route[]
  state: MonitoredState
  sinceAt: string
  checkedAt: string | null
  isChanged: boolean
  message: string | null
  firmwareVersion: string | null
  values: MonitoredValue[]
  checkedGatewayId: string | null
  assetLinkId: string | null
  instanceId: string | null
  reportDigest: string | null
  reportError: ReportError | null
}

const targetColumns = `t.monitoring_id as "monitoringId", t.asset_id as "assetId", t.asset_name as "assetName",
  t.run_id as "runId", t.is_pending as "isPending", t.gateway_id as "gatewayId", t.routes`
const stateColumns = `t.state, t.since_at as "sinceAt", t.checked_at as "checkedAt", t.is_changed as "isChanged", t.message,
  t.firmware_version as "firmwareVersion", t.property_values as values`
const sourceColumns = `t.checked_gateway_id as "checkedGatewayId", t.asset_link_id as "assetLinkId",
  t.instance_id as "instanceId", t.report_digest as "reportDigest", t.report_error as "reportError"`
const columns = `${targetColumns}, ${stateColumns}, ${sourceColumns}`

/** The order of results: unreachable assets first, then changed ones, then the others. */
export function rankOf({ state, isChanged }: Pick<ResultRow, 'state' | 'isChanged'>): number {
  return state === 'failed' ? 0 : isChanged ? 1 : 2
}

export type NewTarget = { assetId: string; assetName: string | null; routes: Route[] }

type TargetRow = {
  assetId: string
  monitoringId: string
  runId: string
  assetName: string | null
  gatewayId: string | null
  routes: string
  now: string
}
const targetRows = rowset<TargetRow>({
  assetId: 'uuid',
  monitoringId: 'uuid',
  runId: 'uuid',
  assetName: 'text',
  gatewayId: 'uuid',
  routes: 'json',
  now: 'timestamptz',
})
const putTargetsStatement = statement(
  `insert into monitoring_results (tenant_id, monitoring_id, asset_id, asset_name, run_id, is_pending, gateway_id, routes,
     rank, state, since_at, is_changed, property_values)
   select $1, r."monitoringId", r."assetId", r."assetName", r."runId", true, r."gatewayId", r.routes, 2, 'unknown', r.now,
     false, '[]'::json from ${targetRows.rows}
   on conflict (tenant_id, monitoring_id, asset_id) do update
   set asset_name = excluded.asset_name, run_id = excluded.run_id, is_pending = true, gateway_id = excluded.gateway_id,
     routes = excluded.routes`,
)

/** Stores the targets of a run. The previous results of assets stay until their new results arrive. */
export async function putTargets(
  tx: Transaction,
  { monitoringId, runId, now }: { monitoringId: string; runId: string; now: string },
  targets: readonly NewTarget[],
): Promise<void> {
  const rows = targets
    .map(({ assetId, assetName, routes }) => {
      const gatewayId = routes[0]?.gatewayId ?? null
      return { assetId, monitoringId, runId, assetName, gatewayId, routes: jsonText(routes), now }
    })
    .toSorted(byAsset)
  await tx.run(putTargetsStatement, ...targetRows.values(rows))
}

function byAsset(a: { assetId: string }, b: { assetId: string }): number {
  return a.assetId < b.assetId ? -1 : 1
}

export const pendingStatement = statement<ResultRow>(
  `select ${columns} from monitoring_results t
   where t.tenant_id = $1 and t.run_id = $2 and t.gateway_id = $3 and t.is_pending and t.asset_id > $4
   order by t.asset_id limit $5`,
)

/** Returns the next targets of a gateway that have no result in the run, in the order of their assets. */
export function listPending(
  handle: Handle,
  { runId, gatewayId }: { runId: string; gatewayId: string },
  { after = lowestId, limit }: { after?: string | undefined; limit: number },
): Promise<ResultRow[]> {
  return handle.rows(pendingStatement, runId, gatewayId, after, limit)
}

const withoutGatewayStatement = statement<ResultRow>(
  `select ${columns} from monitoring_results t
   where t.tenant_id = $1 and t.run_id = $2 and t.gateway_id is null and t.is_pending order by t.asset_id limit $3`,
)

/** Returns the next targets of a run that no gateway can read. */
export function listPendingWithoutGateway(handle: Handle, runId: string, limit: number): Promise<ResultRow[]> {
  return handle.rows(withoutGatewayStatement, runId, limit)
}

export const pendingGatewaysStatement = statement<{ gatewayId: string | null; targets: number }>(
  `select t.gateway_id as "gatewayId", count(*) as targets from monitoring_results t
   where t.tenant_id = $1 and t.run_id = $2 and t.is_pending group by t.gateway_id`,
)

/** Returns the gateways of targets that have no result in the run, with the number of these targets. */
export function countPending(handle: Handle, runId: string) {
  return handle.rows(pendingGatewaysStatement, runId)
}

const ofAssets = `select ${columns} from monitoring_results t
   where t.tenant_id = $1 and t.monitoring_id = $2 and t.run_id = $3 and t.asset_id = any($4::uuid[]) and t.is_pending
   order by t.asset_id`
export const findPendingStatement = statement<ResultRow>(ofAssets)
const lockPendingStatement = statement<ResultRow>(`${ofAssets} for update`)

/** Returns those of the assets that have no result in the run. */
export function findPending(
  handle: Handle,
  { monitoringId, runId }: { monitoringId: string; runId: string },
  assetIds: readonly string[],
): Promise<ResultRow[]> {
  return handle.rows(findPendingStatement, monitoringId, runId, arrayOf('uuid', assetIds))
}

/** Locks those of the assets that have no result in the run. */
export function lockPending(
  tx: Transaction,
  { monitoringId, runId }: { monitoringId: string; runId: string },
  assetIds: readonly string[],
): Promise<ResultRow[]> {
  return tx.rows(lockPendingStatement, monitoringId, runId, arrayOf('uuid', assetIds))
}

const storedRows = rowset<Record<string, unknown>>({
  assetId: 'uuid',
  gatewayId: 'uuid',
  routes: 'json',
  isPending: 'integer',
  rank: 'integer',
  state: 'text',
  sinceAt: 'timestamptz',
  checkedAt: 'timestamptz',
  isChanged: 'integer',
  message: 'text',
  firmwareVersion: 'text',
  values: 'json',
  checkedGatewayId: 'uuid',
  assetLinkId: 'text',
  instanceId: 'uuid',
  reportDigest: 'text',
  reportError: 'json',
})
const updateStatement = statement(
  `update monitoring_results t set gateway_id = r."gatewayId", routes = r.routes, is_pending = r."isPending" = 1,
     rank = r.rank, state = r.state, since_at = r."sinceAt", checked_at = r."checkedAt", is_changed = r."isChanged" = 1,
     message = r.message, firmware_version = r."firmwareVersion", property_values = r.values,
     checked_gateway_id = r."checkedGatewayId", asset_link_id = r."assetLinkId", instance_id = r."instanceId",
     report_digest = r."reportDigest", report_error = r."reportError"
   from ${storedRows.rows}
   where t.tenant_id = $1 and t.monitoring_id = $19 and t.asset_id = r."assetId"`,
)

/** Stores changed rows of one monitoring, which the transaction has locked. */
export async function updateResults(tx: Transaction, monitoringId: string, rows: readonly ResultRow[]): Promise<void> {
  if (rows.length === 0) return
  const stored = rows.map((row) => ({
    ...row,
    routes: jsonText(row.routes),
    values: jsonText(row.values),
    reportError: row.reportError === null ? null : jsonText(row.reportError),
    isPending: Number(row.isPending),
    isChanged: Number(row.isChanged),
    rank: rankOf(row),
  }))
  await tx.run(updateStatement, ...storedRows.values(stored), monitoringId)
}

const forgetStatement = statement(
  `update monitoring_results set is_pending = false, routes = '[]'::json where tenant_id = $1 and run_id = $2 and is_pending`,
)

/** Removes the remaining targets of a run that ended early. The previous results of these assets stay. */
export async function dropPending(tx: Transaction, runId: string): Promise<void> {
  await tx.run(forgetStatement, runId)
}

const forgetInstancesStatement = statement(
  `update monitoring_results set instance_id = null
   where tenant_id = $1 and monitoring_id = $2 and instance_id is not null`,
)

/** Removes the credential instances with which the devices of a monitoring were read. */
export async function forgetInstances(tx: Transaction, monitoringId: string): Promise<void> {
  await tx.run(forgetInstancesStatement, monitoringId)
}

type Listing = {
  monitoringId: string
  state: MonitoredState | undefined
  changed: boolean | undefined
  /** The assets that the caller can read. Undefined means all. */
  assetIds: readonly string[] | undefined
  limit: number
  offset: number
}

/** Returns a page of results: unreachable assets first, then changed ones, then by name. */
export async function listResults(
  handle: Handle,
  { monitoringId, state, changed, assetIds, limit, offset }: Listing,
): Promise<{ rows: ResultRow[]; total: number }> {
  const values: unknown[] = [monitoringId]
  const conditions = ['t.tenant_id = $1', 't.monitoring_id = $2']
  if (state !== undefined) conditions.push(`t.state = $${values.push(state) + 1}`)
  if (changed !== undefined) conditions.push(`t.is_changed = $${values.push(changed) + 1}`)
  if (assetIds !== undefined)
    conditions.push(`t.asset_id = any($${values.push(arrayOf('uuid', assetIds)) + 1}::uuid[])`)
  const where = conditions.join(' and ')
  const next = values.length + 2
  const rows = await handle.rows(
    dynamicStatement<ResultRow>(
      `select ${columns} from monitoring_results t where ${where}
       order by t.rank, t.asset_name, t.asset_id limit $${next} offset $${next + 1}`,
    ),
    ...values,
    limit,
    offset,
  )
  const counted = await handle.row(
    dynamicStatement<{ total: number }>(`select count(*) as total from monitoring_results t where ${where}`),
    ...values,
  )
  return { rows, total: counted?.total ?? 0 }
}

const assetsStatement = statement<{ assetId: string }>(
  `select distinct asset_id as "assetId" from monitoring_results where tenant_id = $1 and monitoring_id = any($2::uuid[])`,
)

/** Returns the assets of monitorings. */
export async function assetsOf(handle: Handle, monitoringIds: readonly string[]): Promise<string[]> {
  return (await handle.rows(assetsStatement, monitoringIds)).map(({ assetId }) => assetId)
}

export type ResultCount = { monitoringId: string; state: MonitoredState; isChanged: boolean; assets: number }

const countedColumns = `monitoring_id as "monitoringId", state, is_changed as "isChanged", count(*) as assets`
const countStatement = statement<ResultCount>(
  `select ${countedColumns} from monitoring_results where tenant_id = $1 and monitoring_id = any($2::uuid[])
   group by monitoring_id, state, is_changed`,
)
const countAmongStatement = statement<ResultCount>(
  `select ${countedColumns} from monitoring_results
   where tenant_id = $1 and monitoring_id = any($2::uuid[]) and asset_id = any($3::uuid[])
   group by monitoring_id, state, is_changed`,
)

/** Counts the results of monitorings, by state. `among` limits them to these assets. */
export async function countResults(
  handle: Handle,
  monitoringIds: readonly string[],
  among: readonly string[] | undefined,
): Promise<ResultCount[]> {
  if (monitoringIds.length === 0) return []
  return among === undefined
    ? handle.rows(countStatement, monitoringIds)
    : handle.rows(countAmongStatement, monitoringIds, arrayOf('uuid', among))
}

export const resultsOfAssetStatement = statement<ResultRow>(
  `select ${columns} from monitoring_results t where t.tenant_id = $1 and t.asset_id = $2 order by t.monitoring_id`,
)

export function resultsOfAsset(handle: Handle, assetId: string): Promise<ResultRow[]> {
  return handle.rows(resultsOfAssetStatement, assetId)
}

export type MonitoredAsset = { assetId: string; state: MonitoredState; sinceAt: string | null }

const monitoredColumns = `t.asset_id as "assetId", coalesce(a.state, 'unknown') as state, a.from_at as "sinceAt"`
/** The current state of an asset is the newest result of all its monitorings. Before the first result, there is none. */
const withState = `left join asset_availability a on a.tenant_id = $1 and a.asset_id = t.asset_id and a.to_at is null`
const monitoredStatement = statement<MonitoredAsset>(
  `select distinct ${monitoredColumns} from monitoring_results t ${withState} where t.tenant_id = $1`,
)
export const monitoredAmongStatement = statement<MonitoredAsset>(
  `select distinct ${monitoredColumns} from monitoring_results t ${withState}
   where t.tenant_id = $1 and t.asset_id = any($2::uuid[])`,
)

/** Returns the assets that a monitoring checks, with their current states. `among` limits them to these assets. */
export function monitoredAssets(handle: Handle, among?: readonly string[]): Promise<MonitoredAsset[]> {
  if (among === undefined) return handle.rows(monitoredStatement)
  return handle.rows(monitoredAmongStatement, arrayOf('uuid', among))
}

const failedStatement = statement<{ assetId: string; sinceAt: string }>(
  `select a.asset_id as "assetId", a.from_at as "sinceAt" from asset_availability a
   where a.tenant_id = $1 and a.to_at is null and a.state = 'failed'
     and exists (select from monitoring_results t where t.tenant_id = $1 and t.asset_id = a.asset_id)
   order by a.from_at desc, a.asset_id`,
)

/** Returns the monitored assets whose current state is `failed`, latest outage first. */
export function failedAssets(handle: Handle): Promise<{ assetId: string; sinceAt: string }[]> {
  return handle.rows(failedStatement)
}

export type FailedCheck = { assetId: string; assetName: string | null; monitoringId: string; monitoringName: string }

const failedChecksStatement = statement<FailedCheck>(
  `select t.asset_id as "assetId", t.asset_name as "assetName", t.monitoring_id as "monitoringId", m.name as "monitoringName"
   from monitoring_results t join monitorings m on m.tenant_id = $1 and m.id = t.monitoring_id
   where t.tenant_id = $1 and t.asset_id = any($2::uuid[]) and t.state = 'failed' order by m.name, m.id`,
)

/** Returns the last results of assets that are `failed`, with the names of their monitorings. */
export async function failedChecks(handle: Handle, assetIds: readonly string[]): Promise<FailedCheck[]> {
  return assetIds.length === 0 ? [] : handle.rows(failedChecksStatement, arrayOf('uuid', assetIds))
}

type LastCheck = { assetId: string; checkedAt: string | null }

const lastChecksStatement = statement<LastCheck>(
  `select asset_id as "assetId", checked_at as "checkedAt" from monitoring_results
   where tenant_id = $1 and monitoring_id = $2`,
)

/** Returns the assets of a monitoring with the times of their last checks. */
export function lastChecks(handle: Handle, monitoringId: string): Promise<LastCheck[]> {
  return handle.rows(lastChecksStatement, monitoringId)
}

export const otherChecksStatement = statement<{ assetId: string; checkedAt: string }>(
  `select asset_id as "assetId", max(checked_at) as "checkedAt" from monitoring_results
   where tenant_id = $1 and asset_id = any($2::uuid[]) and monitoring_id <> $3 and state <> 'unknown'
     and checked_at is not null
   group by asset_id`,
)

/** Returns when other monitorings last reported that an asset is reached or failed. */
export async function checksByOthers(
  handle: Handle,
  monitoringId: string,
  assetIds: readonly string[],
): Promise<Map<string, string>> {
  if (assetIds.length === 0) return new Map()
  const rows = await handle.rows(otherChecksStatement, arrayOf('uuid', assetIds), monitoringId)
  return new Map(rows.map(({ assetId, checkedAt }) => [assetId, checkedAt]))
}

const deleteStaleStatement = statement<LastCheck>(
  `delete from monitoring_results where tenant_id = $1 and monitoring_id = $2 and run_id <> $3
   returning asset_id as "assetId", checked_at as "checkedAt"`,
)

/** Deletes the results of assets that the run did not select, because they are no longer targets. */
export function deleteStale(tx: Transaction, monitoringId: string, runId: string) {
  return tx.rows(deleteStaleStatement, monitoringId, runId)
}
