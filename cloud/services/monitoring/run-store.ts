import type { MonitoringRun } from '@millwright/api/monitoring.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the runs of monitorings and on their jobs. */

export type RunState = MonitoringRun['state']

export type RunRow = {
  id: string
  monitoringId: string
  number: number
  cause: 'person' | 'schedule'
  state: RunState
  message: string | null
  targets: number
  reached: number
  failed: number
  unknown: number
  changed: number
  leftOut: number
  cancelAt: string | null
  canceledBy: string | null
  /** The name of the user that started the run. Null for a run of the schedule. */
  startedBy: string | null
  createdAt: string
  startedAt: string | null
  endedAt: string | null
}

const columns = `r.id, r.monitoring_id as "monitoringId", r.number, r.cause, r.state, r.message, r.targets, r.reached,
  r.failed, r.unknown, r.changed, r.left_out as "leftOut", r.cancel_at as "cancelAt", r.canceled_by as "canceledBy",
  r.created_at as "createdAt", r.started_at as "startedAt", r.ended_at as "endedAt",
  r.started_by as "startedBy"`

const insertStatement = statement<RunRow>(
  `insert into monitoring_runs as r (tenant_id, id, monitoring_id, number, cause, state, created_at, due_at, started_by)
   values ($1, $2, $3, $4, $5, 'created', $6, $6, $7) returning ${columns}`,
)

type NewRun = Pick<RunRow, 'id' | 'monitoringId' | 'number' | 'cause' | 'startedBy' | 'createdAt'>

export async function insertRun(tx: Transaction, run: NewRun): Promise<RunRow> {
  const { id, monitoringId, number, cause, startedBy, createdAt } = run
  const row = await tx.row(insertStatement, id, monitoringId, number, cause, createdAt, startedBy)
  if (row === undefined) throw new TypeError('A run was not stored')
  return row
}

export const findRunStatement = statement<RunRow>(
  `select ${columns} from monitoring_runs r where r.tenant_id = $1 and r.id = $2`,
)
const findManyStatement = statement<RunRow>(
  `select ${columns} from monitoring_runs r where r.tenant_id = $1 and r.id = any($2::uuid[])`,
)
const lockStatement = statement<RunRow>(
  `select ${columns} from monitoring_runs r where r.tenant_id = $1 and r.id = $2 for update`,
)
export const listRunsStatement = statement<RunRow>(
  `select ${columns} from monitoring_runs r where r.tenant_id = $1 and r.monitoring_id = $2
   order by r.number desc limit $3 offset $4`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from monitoring_runs where tenant_id = $1 and monitoring_id = $2`,
)

export function findRun(handle: Handle, id: string): Promise<RunRow | undefined> {
  return handle.row(findRunStatement, id)
}

export async function findRuns(handle: Handle, ids: readonly string[]): Promise<RunRow[]> {
  return ids.length === 0 ? [] : handle.rows(findManyStatement, ids)
}

export function lockRun(tx: Transaction, id: string): Promise<RunRow | undefined> {
  return tx.row(lockStatement, id)
}

export async function listRuns(
  handle: Handle,
  monitoringId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: RunRow[]; total: number }> {
  const rows = await handle.rows(listRunsStatement, monitoringId, limit, offset)
  return { rows, total: (await handle.row(countStatement, monitoringId))?.total ?? 0 }
}

/** Returns a row if a run is due. */
export const anyDue = statement(`select id from monitoring_runs where tenant_id = $1 and due_at <= now() limit 1`)

const dueStatement = statement<{ id: string }>(
  `select id from monitoring_runs where tenant_id = $1 and due_at <= $2 order by due_at, id limit $3`,
)

export async function listDue(handle: Handle, now: string, limit: number): Promise<string[]> {
  return (await handle.rows(dueStatement, now, limit)).map(({ id }) => id)
}

const scheduleStatement = statement(
  `update monitoring_runs set due_at = $3 where tenant_id = $1 and id = $2 and due_at is not null`,
)

/** Stores when the background task continues a run. It has no effect on a run that has ended. */
export async function setDue(tx: Transaction, id: string, dueAt: string): Promise<void> {
  await tx.run(scheduleStatement, id, dueAt)
}

const startStatement = statement<RunRow>(
  `update monitoring_runs r set state = 'running', targets = $3, left_out = $4, started_at = $5, due_at = $5
   where r.tenant_id = $1 and r.id = $2 and r.state = 'created' returning ${columns}`,
)

export type RunStart = { targets: number; leftOut: number; now: string }

/** Starts a run whose targets are stored. Returns undefined if the run has ended or has started already. */
export function startRun(tx: Transaction, id: string, start: RunStart): Promise<RunRow | undefined> {
  return tx.row(startStatement, id, start.targets, start.leftOut, start.now)
}

export type ResultCounts = { reached: number; failed: number; unknown: number; changed: number }

const addStatement = statement(
  `update monitoring_runs set reached = reached + $3, failed = failed + $4, unknown = unknown + $5, changed = changed + $6
   where tenant_id = $1 and id = $2`,
)

export async function addCounts(tx: Transaction, id: string, counts: ResultCounts): Promise<void> {
  await tx.run(addStatement, id, counts.reached, counts.failed, counts.unknown, counts.changed)
}

const cancelStatement = statement(
  `update monitoring_runs set cancel_at = $3, canceled_by = $4, due_at = $3
   where tenant_id = $1 and id = $2 and due_at is not null and cancel_at is null`,
)

export async function requestCancellation(
  tx: Transaction,
  id: string,
  { now, by }: { now: string; by: string },
): Promise<void> {
  await tx.run(cancelStatement, id, now, by)
}

const endStatement = statement<RunRow>(
  `update monitoring_runs r set state = $3, message = $4, ended_at = $5, due_at = null
   where r.tenant_id = $1 and r.id = $2 and r.due_at is not null returning ${columns}`,
)

export type RunEnd = { state: 'finished' | 'failed' | 'canceled'; message: string | null; now: string }

/** Ends a run. Returns undefined if the run has already ended. */
export function endRun(tx: Transaction, id: string, { state, message, now }: RunEnd): Promise<RunRow | undefined> {
  return tx.row(endStatement, id, state, message, now)
}

const pruneStatement = statement(
  `delete from monitoring_runs where tenant_id = $1 and monitoring_id = $2 and number <= $3 and due_at is null`,
)

/** Deletes the ended runs of a monitoring up to a number. */
export async function deleteRuns(tx: Transaction, monitoringId: string, upTo: number): Promise<void> {
  await tx.run(pruneStatement, monitoringId, upTo)
}

export type JobRow = {
  jobId: string
  runId: string
  gatewayId: string
  isOpen: boolean
  createdAt: string
  activeAt: string
}

const jobColumns = `j.job_id as "jobId", j.run_id as "runId", j.gateway_id as "gatewayId", j.is_open as "isOpen",
  j.created_at as "createdAt", j.active_at as "activeAt"`

const insertJobStatement = statement<JobRow>(
  `insert into monitoring_jobs as j (tenant_id, job_id, run_id, gateway_id, created_at, active_at)
   values ($1, $2, $3, $4, $5, $5) returning ${jobColumns}`,
)

export async function insertJob(
  tx: Transaction,
  job: Pick<JobRow, 'jobId' | 'runId' | 'gatewayId' | 'createdAt'>,
): Promise<JobRow> {
  const row = await tx.row(insertJobStatement, job.jobId, job.runId, job.gatewayId, job.createdAt)
  if (row === undefined) throw new TypeError('A job of a run was not stored')
  return row
}

export const listJobsStatement = statement<JobRow>(
  `select ${jobColumns} from monitoring_jobs j where j.tenant_id = $1 and j.run_id = any($2::uuid[])
   order by j.created_at, j.job_id`,
)

/** Returns the jobs of runs, in the order of their creation. */
export async function listJobs(handle: Handle, runIds: readonly string[]): Promise<JobRow[]> {
  return runIds.length === 0 ? [] : handle.rows(listJobsStatement, runIds)
}

export const findJobStatement = statement<JobRow>(
  `select ${jobColumns} from monitoring_jobs j where j.tenant_id = $1 and j.job_id = $2`,
)

export function findJob(handle: Handle, jobId: string): Promise<JobRow | undefined> {
  return handle.row(findJobStatement, jobId)
}

const touchJobStatement = statement(`update monitoring_jobs set active_at = $3 where tenant_id = $1 and job_id = $2`)

/** Stores that the gateway works on a job. */
export async function touchJob(tx: Transaction, jobId: string, now: string): Promise<void> {
  await tx.run(touchJobStatement, jobId, now)
}

const closeJobStatement = statement(`update monitoring_jobs set is_open = false where tenant_id = $1 and job_id = $2`)

export async function closeJob(tx: Transaction, jobId: string): Promise<void> {
  await tx.run(closeJobStatement, jobId)
}
