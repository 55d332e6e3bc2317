import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { dynamicStatement, firstTime, statement } from '../../platform/database/statement.ts'
import type { Parameter } from './parameter.ts'

export type RunState = 'created' | 'running' | 'finished' | 'failed' | 'canceled'
export type RunEnding = Exclude<RunState, 'created' | 'running'>
export type Cause = 'person' | 'schedule'

export type RunRow = {
  id: string
  discoveryId: string
  number: number
  cause: Cause
  workflowJobId: string | null
  state: RunState
  ending: RunEnding | null
  progress: number
  message: string | null
  found: number
  created: number
  updated: number
  unchanged: number
  gone: number
  /** The devices that are gone and that the compared run found. */
  newlyGone: number
  errors: number
  createdAt: string
  startedAt: string | null
  /** When the last attempt began. Null for a run that was not interrupted. */
  restartedAt: string | null
  endedAt: string | null
  /** The number of the run with which this run was compared. Null if there was no such run. */
  comparedRun: number | null
  /** Null for a run of an older version. */
  scope: RunScope | null
}

/** The filters and options with which a run started. The scan can get others later. */
export type RunScope = { filters: Parameter[]; options: Parameter[] }

export type DiscoveryRow = {
  id: string
  gatewayId: string
  assetLinkId: string
  deviceClass: string | null
  filters: Parameter[]
  options: Parameter[]
  cron: string | null
  timezone: string | null
  paused: boolean
  missedRuns: number
  runs: number
  latestRunId: string | null
  createdBy: string
  version: number
  createdAt: string
  modifiedAt: string
}

const columns = `d.id, d.gateway_id as "gatewayId", d.asset_link_id as "assetLinkId", d.device_class as "deviceClass",
  d.filters, d.options, d.cron, d.timezone, d.paused, d.missed_runs as "missedRuns", d.runs,
  d.latest_run_id as "latestRunId", d.created_by as "createdBy", d.version, d.created_at as "createdAt",
  d.modified_at as "modifiedAt"`

const runColumns = `r.id, r.discovery_id as "discoveryId", r.number, r.cause, r.workflow_job_id as "workflowJobId",
  r.state, r.ending, r.progress, r.message, r.found, r.created, r.updated, r.unchanged, r.gone,
  coalesce(r.newly_gone, r.gone) as "newlyGone", r.errors,
  r.created_at as "createdAt", r.started_at as "startedAt", r.restarted_at as "restartedAt", r.ended_at as "endedAt", r.compared_run as "comparedRun", r.scope`

const insertStatement = statement<DiscoveryRow>(
  `insert into discoveries as d
     (tenant_id, id, gateway_id, asset_link_id, device_class, filters, options, cron, timezone, created_by)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning ${columns}`,
)

type NewRow = Pick<DiscoveryRow, 'id' | 'gatewayId' | 'assetLinkId' | 'deviceClass' | 'createdBy'> &
  Pick<DiscoveryRow, 'filters' | 'options' | 'cron' | 'timezone'>

export async function insertDiscovery(tx: Transaction, row: NewRow): Promise<DiscoveryRow> {
  const made = await tx.row(
    insertStatement,
    row.id,
    row.gatewayId,
    row.assetLinkId,
    row.deviceClass,
    jsonText(row.filters),
    jsonText(row.options),
    row.cron,
    row.timezone,
    row.createdBy,
  )
  if (made === undefined) throw new TypeError('A discovery was not stored')
  return made
}

export const findDiscoveryStatement = statement<DiscoveryRow>(
  `select ${columns} from discoveries d where d.tenant_id = $1 and d.id = $2`,
)
const actorsStatement = statement<{ gatewayId: string; linkAssetId: string | null }>(
  `select d.gateway_id as "gatewayId", l.asset_id as "linkAssetId" from discoveries d
   left join asset_links l
     on l.tenant_id = $1 and l.gateway_id = d.gateway_id and l.app_instance_id = d.asset_link_id
   where d.tenant_id = $1 and d.id = $2`,
)

/**
 * Returns the ids of the assets that run a discovery: the gateway, and the link if the gateway has reported the link.
 */
export async function findActors(handle: Handle, id: string): Promise<{ gatewayId?: string; linkAssetId?: string }> {
  const { gatewayId, linkAssetId = null } = (await handle.row(actorsStatement, id)) ?? {}
  return { ...(gatewayId === undefined ? {} : { gatewayId }), ...(linkAssetId === null ? {} : { linkAssetId }) }
}

const lockStatement = statement<DiscoveryRow>(
  `select ${columns} from discoveries d where d.tenant_id = $1 and d.id = $2 for update`,
)

export function findDiscovery(handle: Handle, id: string): Promise<DiscoveryRow | undefined> {
  return handle.row(findDiscoveryStatement, id)
}

export function lockDiscovery(tx: Transaction, id: string): Promise<DiscoveryRow | undefined> {
  return tx.row(lockStatement, id)
}

type Listing = { gatewayId?: string | undefined; assetLinkId?: string | undefined; scheduled?: boolean | undefined }

/**
 * The discoveries that a caller can read: the discoveries of these gateways, except those of links whose assets are hidden.
 */
export type Scope = { gateways: readonly string[]; hiddenLinks: readonly string[] }

/**
 * Returns the conditions of a list. The result contains only the conditions that the request needs, so that the planner
 * uses the matching index.
 */
function listed({ gatewayId, assetLinkId, scheduled }: Listing, scope: Scope | undefined) {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value) + 1}`
  const where = [
    'd.tenant_id = $1',
    ...(gatewayId === undefined ? [] : [`d.gateway_id = ${parameter(gatewayId)}`]),
    ...(assetLinkId === undefined ? [] : [`d.asset_link_id = ${parameter(assetLinkId)}`]),
    ...(scheduled === undefined ? [] : [`d.cron is ${scheduled ? 'not ' : ''}null`]),
    ...(scope === undefined ? [] : [`d.gateway_id = any(${parameter(scope.gateways)}::uuid[])`]),
    ...(scope === undefined || scope.hiddenLinks.length === 0
      ? []
      : [
          `not exists (select from asset_links l where l.tenant_id = $1 and l.gateway_id = d.gateway_id
             and l.app_instance_id = d.asset_link_id and l.asset_id = any(${parameter(scope.hiddenLinks)}::uuid[]))`,
        ]),
  ]
  return { where: where.join(' and '), values, next: values.length + 2 }
}

/** The column of each order. Ids of runs and discoveries contain the time of their creation. */
const orders = { '-created': 'd.id', '-latestRun': 'coalesce(d.latest_run_id, d.id)' } as const

type DiscoveryPage = { limit: number; offset: number; sort?: keyof typeof orders | undefined }

export async function listDiscoveries(
  handle: Handle,
  { scope, ...listing }: Listing & { scope: Scope | undefined },
  { limit, offset, sort = '-created' }: DiscoveryPage,
) {
  const { where, values, next } = listed(listing, scope)
  const list = dynamicStatement<DiscoveryRow>(
    `select ${columns} from discoveries d where ${where}
     order by ${orders[sort]} desc limit $${next} offset $${next + 1}`,
  )
  const count = dynamicStatement<{ total: number }>(`select count(*) as total from discoveries d where ${where}`)
  const rows = await handle.rows(list, ...values, limit, offset)
  return { rows, total: (await handle.row(count, ...values))?.total ?? 0 }
}

/** Returns those of the discoveries that a caller can read. */
export async function findDiscoveries(
  handle: Handle,
  ids: readonly string[],
  scope: Scope | undefined,
): Promise<DiscoveryRow[]> {
  if (ids.length === 0) return []
  const { where, values, next } = listed({}, scope)
  const text = `select ${columns} from discoveries d where ${where} and d.id = any($${next}::uuid[])`
  return handle.rows(dynamicStatement<DiscoveryRow>(text), ...values, ids)
}

const updateStatement = statement<DiscoveryRow>(
  `update discoveries d set filters = $3, options = $4, cron = $5, timezone = $6, paused = $7, version = version + 1,
     modified_at = now()
   where d.tenant_id = $1 and d.id = $2 returning ${columns}`,
)

export async function updateDiscovery(
  tx: Transaction,
  row: Pick<DiscoveryRow, 'id' | 'filters' | 'options' | 'cron' | 'timezone' | 'paused'>,
): Promise<DiscoveryRow | undefined> {
  const { id, filters, options, cron, timezone, paused } = row
  return tx.row(updateStatement, id, jsonText(filters), jsonText(options), cron, timezone, paused)
}

const deleteStatement = statement(`delete from discoveries where tenant_id = $1 and id = $2`)

export async function deleteDiscovery(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

const missedStatement = statement(
  `update discoveries set missed_runs = missed_runs + 1 where tenant_id = $1 and id = $2`,
)

export async function countMissed(tx: Transaction, id: string): Promise<void> {
  await tx.run(missedStatement, id)
}

const numberStatement = statement<RunScope & { number: number }>(
  `update discoveries set runs = runs + 1, latest_run_id = $3 where tenant_id = $1 and id = $2
   returning runs as number, filters, options`,
)
const insertRunStatement = statement<RunRow>(
  `insert into discovery_runs as r (tenant_id, id, discovery_id, number, cause, state, scope)
   values ($1, $2, $3, $4, $5, 'created', $6::json) returning ${runColumns}`,
)

export async function insertRun(
  tx: Transaction,
  { id, discoveryId, cause }: { id: string; discoveryId: string; cause: Cause },
): Promise<RunRow> {
  const numbered = await tx.row(numberStatement, discoveryId, id)
  const { number, filters, options } = numbered ?? { number: 1, filters: [], options: [] }
  const scope = jsonText({ filters: filters.toSorted(byContent), options: options.toSorted(byContent) })
  const made = await tx.row(insertRunStatement, id, discoveryId, number, cause, scope)
  if (made === undefined) throw new TypeError('A run was not stored')
  return made
}

/** Sorts parameters, so that scopes with the same parameters have the same text. */
function byContent(one: Parameter, other: Parameter): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1
}

export const findRunStatement = statement<RunRow>(
  `select ${runColumns} from discovery_runs r where r.tenant_id = $1 and r.id = $2`,
)
const lockRunStatement = statement<RunRow>(
  `select ${runColumns} from discovery_runs r where r.tenant_id = $1 and r.id = $2 for update`,
)
const findRunsStatement = statement<RunRow>(
  `select ${runColumns} from discovery_runs r where r.tenant_id = $1 and r.id = any($2)`,
)

export function findRun(handle: Handle, id: string): Promise<RunRow | undefined> {
  return handle.row(findRunStatement, id)
}

const activeRunsStatement = statement<RunRow>(
  `select ${runColumns} from discoveries d
   join discovery_runs r on r.tenant_id = $1 and r.id = d.latest_run_id
   where d.tenant_id = $1 and d.gateway_id = $2 and r.state in ('created', 'running') and r.ending is null`,
)

/** Returns those runs of a gateway that have not ended. Only the latest run of each discovery can be among them. */
export function listActiveRuns(handle: Handle, gatewayId: string): Promise<RunRow[]> {
  return handle.rows(activeRunsStatement, gatewayId)
}

export function lockRun(tx: Transaction, id: string): Promise<RunRow | undefined> {
  return tx.row(lockRunStatement, id)
}

export async function findRuns(handle: Handle, ids: readonly string[]): Promise<RunRow[]> {
  return ids.length === 0 ? [] : handle.rows(findRunsStatement, ids)
}

export const listRunsStatement = statement<RunRow>(
  `select ${runColumns} from discovery_runs r where r.tenant_id = $1 and r.discovery_id = $2
   order by r.number desc limit $3 offset $4`,
)

export function listRuns(handle: Handle, id: string, { limit, offset }: { limit: number; offset: number }) {
  return handle.rows(listRunsStatement, id, limit, offset)
}

const jobStatement = statement(
  `update discovery_runs set workflow_job_id = $3 where tenant_id = $1 and id = $2 and workflow_job_id is null`,
)

export async function setWorkflowJob(tx: Transaction, id: string, jobId: string): Promise<void> {
  await tx.run(jobStatement, id, jobId)
}

/**
 * The maximum number of leases of a run. A job gets a new lease only after the previous lease has expired, so this number
 * covers more than a day of interruptions.
 */
const leasesPerRun = 1_000

const leasedStatement = statement<{ isLeased: boolean }>(
  `select leases is null or $3::uuid = any(leases) as "isLeased" from discovery_runs
   where tenant_id = $1 and id = $2 and workflow_job_id = $4`,
)

/**
 * Returns whether this lease was issued for the job of the run. The lease may have expired and the run may have ended.
 */
export async function wasLeased(
  handle: Handle,
  id: string,
  { jobId, lease }: { jobId: string; lease: string },
): Promise<boolean> {
  return (await handle.row(leasedStatement, id, lease, jobId))?.isLeased === true
}

const repeatStatement = statement<{ isRepeat: boolean }>(
  `select cardinality(leases) > 0 and $3::uuid <> all(leases) as "isRepeat" from discovery_runs
   where tenant_id = $1 and id = $2 and state in ('created', 'running') for update`,
)

/**
 * Locks the run and returns whether this lease begins another attempt, unless the gateway continues its scan: the run has leases, and
 * this lease is not among them.
 */
export async function lockForAttempt(tx: Transaction, id: string, lease: string): Promise<{ isRepeat: boolean }> {
  return { isRepeat: (await tx.row(repeatStatement, id, lease))?.isRepeat === true }
}

const latestAttemptStatement = statement<{ isLatest: boolean }>(
  `select coalesce(array_position(leases, $3::uuid) >= array_position(leases, attempt_lease),
     leases[cardinality(leases)] = $3::uuid, true) as "isLatest" from discovery_runs
   where tenant_id = $1 and id = $2 for update`,
)

/**
 * Locks the run and returns whether this lease belongs to its latest attempt. Without the first lease of the attempt, only the latest
 * lease belongs to it. Runs without recorded leases have only one attempt.
 */
export async function lockLatestAttempt(tx: Transaction, id: string, lease: string): Promise<{ isLatest: boolean }> {
  return { isLatest: (await tx.row(latestAttemptStatement, id, lease))?.isLatest === true }
}

// A run that began under the last release has recorded leases, but not the first lease of its attempt.
const noteStatement = statement<RunRow>(
  `update discovery_runs r set state = 'running', started_at = ${firstTime('r.started_at')},
     workflow_job_id = coalesce(r.workflow_job_id, $3), progress = coalesce($4, r.progress),
     message = coalesce($5, r.message), attempt_lease = coalesce(r.attempt_lease, r.leases[cardinality(r.leases)], $6::uuid),
     leases = case when r.leases is null or $6::uuid is null or $6::uuid = any(r.leases) then r.leases
       else (r.leases || $6::uuid)[greatest(cardinality(r.leases) - $7::integer + 2, 1):] end
   where r.tenant_id = $1 and r.id = $2 and r.state in ('created', 'running') returning ${runColumns}`,
)

/** Records that a gateway works on the run. This can happen before the id of the job is stored. */
export function noteRun(
  tx: Transaction,
  id: string,
  { jobId, lease, progress, message }: { jobId: string; lease?: string; progress?: number; message?: string },
): Promise<RunRow | undefined> {
  return tx.row(noteStatement, id, jobId, progress ?? null, message ?? null, lease ?? null, leasesPerRun)
}

const endingStatement = statement(
  `update discovery_runs set ending = $3, message = coalesce($4, message)
   where tenant_id = $1 and id = $2 and ending is null and state in ('created', 'running')`,
)

/** Stores how the run ended. Only the first ending is stored. */
export async function setEnding(
  tx: Transaction,
  id: string,
  { ending, message }: { ending: RunEnding; message: string | undefined },
): Promise<void> {
  await tx.run(endingStatement, id, ending, message ?? null)
}

const addStatement = statement<RunRow>(
  `update discovery_runs r set state = case when r.state = 'created' then 'running' else r.state end,
     started_at = ${firstTime('r.started_at')}, found = r.found + $3, created = r.created + $4,
     updated = r.updated + $5, unchanged = r.unchanged + $6, errors = r.errors + $7
   where r.tenant_id = $1 and r.id = $2 returning ${runColumns}`,
)

const restartStatement = statement(
  `with cleared as (delete from discovery_errors where tenant_id = $1 and run_id = $2)
   update discovery_runs set errors = 0, progress = 0, restarted_at = now(), attempt_lease = $3::uuid
   where tenant_id = $1 and id = $2`,
)

/**
 * Records that another attempt of a run begins under this lease. Deletes the device errors and the progress of the run: the attempt visits all
 * devices again. The found devices stay.
 */
export async function restartRun(tx: Transaction, id: string, lease: string): Promise<void> {
  await tx.run(restartStatement, id, lease)
}

export type Counts = { created: number; updated: number; unchanged: number; errors: number }

export function addToRun(tx: Transaction, id: string, counts: Counts): Promise<RunRow | undefined> {
  const { created, updated, unchanged, errors } = counts
  return tx.row(addStatement, id, created + updated + unchanged, created, updated, unchanged, errors)
}

const finishStatement = statement<RunRow>(
  `update discovery_runs r set state = r.ending, ended_at = now(), gone = $3, newly_gone = $4, compared_run = $5,
     progress = case when r.ending = 'finished' then 100 else r.progress end
   where r.tenant_id = $1 and r.id = $2 and r.ending is not null and r.state in ('created', 'running')
   returning ${runColumns}`,
)

/** The comparison of a run with the earlier finished runs that have the same filters. */
export type Comparison = { gone: number; newlyGone: number; comparedRun: number | null }

export function finishRun(
  tx: Transaction,
  id: string,
  { gone, newlyGone, comparedRun }: Comparison,
): Promise<RunRow | undefined> {
  return tx.row(finishStatement, id, gone, newlyGone, comparedRun)
}
