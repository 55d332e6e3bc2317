import type { JobStatus, Workflow } from '@millwright/api/workflows.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { isId, timeOfId } from '../../platform/database/id.ts'
import { jsonText, storableText } from '../../platform/database/json.ts'
import { firstTime, statement } from '../../platform/database/statement.ts'
import { traceHeaders } from '../../platform/work.ts'
import { type JobRow, type PastRow, type Report, stateColumns } from './job.ts'

const tagsColumn = `array(select t.tag from workflow_job_tags t where t.tenant_id = $1 and t.job_id = j.id order by t.tag) as tags`
const timeColumns = `j.created_at as "createdAt", j.started_at as "startedAt", j.modified_at as "modifiedAt"`
/** The columns of a job, with the table alias `j`. */
export const jobColumns = `j.id, j.client_id as "clientId", j.principal_id as "principalId", j.workflow, j.definition, j.definition_hash as "definitionHash",
  j.state, j.phase, j.is_final as "isFinal", j.awaits_client as "awaitsClient", j.reported_by as "reportedBy", j.progress,
  j.message, j.context, j.version, j.lease_id as "leaseId", j.lease_until as "leaseUntil", ${timeColumns}, ${tagsColumn}`

const findStatement = statement<JobRow>(
  `select ${jobColumns} from workflow_jobs j where j.tenant_id = $1 and j.id = $2`,
)
const lockStatement = statement<{ id: string }>(
  `select id from workflow_jobs where tenant_id = $1 and id = $2 for update`,
)

/** Returns a job. The engine accepts any text as an id. Ids of jobs are UUIDs, so other text matches no job. */
export async function findJob(handle: Handle, id: string): Promise<JobRow | undefined> {
  const lower = id.toLowerCase()
  return isId(lower) ? handle.row(findStatement, lower) : undefined
}

/** Returns a job and locks it until the end of the transaction. */
export async function lockJob(tx: Transaction, id: string): Promise<JobRow | undefined> {
  const lower = id.toLowerCase()
  if (!isId(lower) || (await tx.row(lockStatement, lower)) === undefined) return undefined
  return findJob(tx, id)
}

const reportLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 7262))`)

/** Makes other transactions that report the same job wait until the end of this one, also if the job does not exist yet. */
export async function lockReports(tx: Transaction, id: string): Promise<void> {
  await tx.run(reportLockStatement, id)
}

const findAllStatement = statement<JobRow>(
  `select ${jobColumns} from workflow_jobs j where j.tenant_id = $1 and j.id = any($2::uuid[])`,
)

export function findJobs(handle: Handle, ids: readonly string[]): Promise<JobRow[]> {
  return handle.rows(findAllStatement, ids)
}

const insertStatement = statement(
  `insert into workflow_jobs (tenant_id, id, client_id, workflow, definition, definition_hash, state, state_group, phase,
                              is_final, awaits_client, reported_by, created_at, modified_at, principal_id, traceparent)
   values ($1, $2, $3, $4, $5::json, $6, $7, $8, $9, $10, $11, $3, $12, $12, $13, $14)`,
)

export type NewJob = {
  id: string
  clientId: string
  definition: Record<string, unknown>
  definitionHash: string
  state: string
  tags: readonly string[]
  /** The principal that started a job of the platform itself. */
  principalId?: string
}

export async function insertJob(tx: Transaction, job: NewJob, workflow: Workflow): Promise<void> {
  const { state, group, phase, isFinal, awaitsClient } = stateColumns(workflow, job.state)
  const own = [job.id, storableText(job.clientId), workflow.name, jsonText(job.definition), job.definitionHash]
  // `createdAt` is the time in the id, so that lists by time and lists by id have the same order.
  const createdAt = new Date(timeOfId(job.id)).toISOString()
  const { traceparent = null } = traceHeaders()
  const origin = [createdAt, job.principalId ?? null, traceparent]
  await tx.run(insertStatement, ...own, state, group, phase, isFinal, awaitsClient, ...origin)
  await insertTags(tx, job.id, job.tags)
}

const insertTagsStatement = statement(
  `insert into workflow_job_tags (tenant_id, tag, job_id) select $1, tag, $2 from unnest($3::text[]) as tag
   on conflict (tenant_id, tag, job_id) do nothing`,
)

export async function insertTags(tx: Transaction, id: string, tags: readonly string[]): Promise<void> {
  if (tags.length > 0) await tx.run(insertTagsStatement, id, [...new Set(tags.map(storableText))])
}

const deleteTagsStatement = statement(
  `delete from workflow_job_tags where tenant_id = $1 and job_id = $2 and tag = any($3::text[])`,
)

export async function deleteTags(tx: Transaction, id: string, tags: readonly string[]): Promise<void> {
  await tx.run(deleteTagsStatement, id, tags.map(storableText))
}

const touchStatement = statement(`update workflow_jobs set modified_at = now() where tenant_id = $1 and id = $2`)

export async function touchJob(tx: Transaction, id: string): Promise<void> {
  await tx.run(touchStatement, id)
}

/**
 * Sets the status of a job. If the job does not wait for its client, its lease ends, but the id of the last lease stays.
 */
const statusText = (startedAt: string) =>
  `update workflow_jobs
   set state = $3, state_group = $4, phase = $5, is_final = $6, awaits_client = $7, reported_by = $8, progress = $9,
       message = $10, context = $11::json, version = version + $12, modified_at = now(), started_at = ${startedAt},
       lease_until = case when $7 then lease_until end
   where tenant_id = $1 and id = $2`
const setStatusStatement = statement(statusText('started_at'))
const startStatement = statement(statusText(firstTime('started_at')))

export type NewStatus = { state: string; report: Report; hasHistoryEntry: boolean }

/** Sets the status of a job. The first status after the time of waiting is the start of the work, unless the job was canceled. */
export async function setStatus(
  tx: Transaction,
  { id, phase: phaseBefore }: Pick<JobRow, 'id' | 'phase'>,
  status: NewStatus & { workflow: Workflow },
): Promise<void> {
  const { state, group, phase, isFinal, awaitsClient } = stateColumns(status.workflow, status.state)
  const { clientId = null, progress = null, message, context } = status.report
  const report = [
    clientId,
    progress,
    message === undefined ? null : storableText(message),
    context === undefined ? null : jsonText(context),
  ]
  const version = status.hasHistoryEntry ? 1 : 0
  const isStart = phaseBefore === 'waiting' && phase !== 'waiting' && phase !== 'canceled'
  const text = isStart ? startStatement : setStatusStatement
  await tx.run(text, id, state, group, phase, isFinal, awaitsClient, ...report, version)
}

const setDefinitionStatement = statement(
  `update workflow_jobs set definition = $3::json, definition_hash = $4, version = version + 1, modified_at = now()
   where tenant_id = $1 and id = $2`,
)

export async function setDefinition(
  tx: Transaction,
  id: string,
  { definition, hash }: { definition: Record<string, unknown>; hash: string },
): Promise<void> {
  await tx.run(setDefinitionStatement, id, jsonText(definition), hash)
}

const rememberStatement = statement(
  `insert into workflow_job_history (tenant_id, job_id, number, modified_at, status, definition)
   values ($1, $2, $3, $4, $5::json, $6::json)`,
)
const forgetStatement = statement(
  `delete from workflow_job_history where tenant_id = $1 and job_id = $2 and number <= $3`,
)

type Past = { status?: JobStatus; definition?: Record<string, unknown> }

/** Stores the current values of a job in its history before they are replaced. Deletes history entries above the limit. */
export async function remember(tx: Transaction, row: JobRow, past: Past & { limit: number }): Promise<void> {
  const { status, definition, limit } = past
  const texts = [status, definition].map((value) => (value === undefined ? null : jsonText(value)))
  await tx.run(rememberStatement, row.id, row.version, row.modifiedAt, ...texts)
  if (row.version >= limit) await tx.run(forgetStatement, row.id, row.version - limit)
}

const pastStatement = statement<PastRow>(
  `select number, modified_at as "modifiedAt", status, definition from workflow_job_history
   where tenant_id = $1 and job_id = $2 order by number desc`,
)

/** Returns the history of a job, newest first. */
export function listPast(handle: Handle, id: string): Promise<PastRow[]> {
  return handle.rows(pastStatement, id)
}

const deleteStatement = statement(`delete from workflow_jobs where tenant_id = $1 and id = $2`)

export async function deleteJob(tx: Transaction, id: string): Promise<void> {
  await tx.run(deleteStatement, id)
}

const pruneStatement = statement(
  `delete from workflow_jobs where tenant_id = $1 and id = any(array(
     select id from workflow_jobs
     where tenant_id = $1 and is_final and modified_at < now() - make_interval(days => $2) order by modified_at limit $3))`,
)

/** Deletes jobs that have been final for this number of days. Returns how many were deleted. */
export function pruneJobs(tx: Transaction, { days, limit }: { days: number; limit: number }): Promise<number> {
  return tx.run(pruneStatement, days, limit)
}

/** Returns a row if a job has been final for longer than `workflowLimits.keptDays`. */
export const anyOver = statement(
  `select id from workflow_jobs where tenant_id = $1 and is_final and modified_at < now() - interval '90 days'
   order by modified_at limit 1`,
)
