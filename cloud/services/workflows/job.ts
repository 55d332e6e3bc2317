import { createHash } from 'node:crypto'
import { isBuiltInWorkflow } from '@millwright/api/built-in-workflows.ts'
import type { AnyJob, AnyJobInFull, JobPhase } from '@millwright/api/jobs.ts'
import type { JobStatus, Workflow, WorkflowJob } from '@millwright/api/workflows.ts'
import { phaseOf } from './phase.ts'
import { awaitsClient } from './transition.ts'
import { groupOf, isFinal } from './workflow.ts'

type Free = Record<string, unknown>

/** A stored job. */
export type JobRow = {
  id: string
  clientId: string
  /** The principal that started a job of the platform itself. Null for the jobs of gateways. */
  principalId: string | null
  workflow: string
  definition: Free
  definitionHash: string
  state: string
  phase: JobPhase
  isFinal: boolean
  awaitsClient: boolean
  reportedBy: string | null
  progress: number | null
  message: string | null
  context: Free | null
  version: number
  leaseId: string | null
  leaseUntil: string | null
  createdAt: string
  startedAt: string | null
  modifiedAt: string
  tags: string[]
}

export type PastRow = { number: number; modifiedAt: string; status: JobStatus | null; definition: Free | null }

/** The fields of a status other than the state. Absent fields are cleared. */
export type Report = {
  clientId?: string | undefined
  progress?: number | undefined
  message?: string | undefined
  context?: Free | undefined
}

/** Returns the columns that depend on the state of a job and its workflow. */
export function stateColumns(workflow: Workflow, state: string) {
  return {
    state,
    group: groupOf(workflow, state) ?? null,
    phase: phaseOf(workflow, state),
    isFinal: isFinal(workflow, state),
    awaitsClient: awaitsClient(workflow, state),
  }
}

export function statusOf(row: JobRow): JobStatus {
  return {
    state: row.state,
    ...(row.reportedBy === null ? {} : { clientId: row.reportedBy }),
    ...(row.progress === null ? {} : { progress: row.progress }),
    ...(row.message === null ? {} : { message: row.message }),
    definitionHash: row.definitionHash,
    ...(row.context === null ? {} : { context: row.context }),
  }
}

export function showJob(row: JobRow, workflow: Workflow): WorkflowJob {
  return {
    id: row.id,
    clientId: row.clientId,
    workflow,
    tags: row.tags,
    definition: row.definition,
    status: statusOf(row),
    stime: row.createdAt,
    mtime: row.modifiedAt,
  }
}

/** Returns the history in the format of wfx, newest first. */
export function showHistory(past: readonly PastRow[]): NonNullable<WorkflowJob['history']> {
  return past.map(({ modifiedAt, status, definition }) => ({
    mtime: modifiedAt,
    ...(status === null ? {} : { status }),
    ...(definition === null ? {} : { definition }),
  }))
}

export function anyJob(row: JobRow): AnyJob {
  return {
    id: row.id,
    type: row.workflow,
    gatewayId: row.clientId,
    phase: row.phase,
    state: row.state,
    ...(row.progress === null ? {} : { progress: row.progress }),
    ...(row.message === null ? {} : { message: row.message }),
    ...startedBy(row),
    ...triggerOf(row),
    ...runOf(row),
    tags: row.tags,
    createdTimestamp: row.createdAt,
    ...(row.startedAt === null ? {} : { startedTimestamp: row.startedAt }),
    lastModifiedTimestamp: row.modifiedAt,
  }
}

/** Only the platform writes the definition of the job of a scan. It is empty if it names an asset that the caller cannot read. */
function runOf({ workflow, definition: { runId } }: JobRow): { runId?: string } {
  return workflow === 'discovery' && typeof runId === 'string' && /^[0-9a-f-]{36}$/.test(runId) ? { runId } : {}
}

/** Only the platform writes the definition of a job of a built-in workflow, so only its author is known. */
function startedBy({ workflow, definition: { askedBy } }: JobRow): { startedBy?: string } {
  return isBuiltInWorkflow(workflow) && typeof askedBy === 'string' ? { startedBy: askedBy } : {}
}

/** Only the platform writes the definition of a job of a built-in workflow, so only its trigger is known. */
function triggerOf({ workflow, definition: { trigger } }: JobRow): Pick<AnyJob, 'trigger'> {
  return isBuiltInWorkflow(workflow) && (trigger === 'person' || trigger === 'schedule') ? { trigger } : {}
}

/** Returns a job with its history, oldest entry first. The current status is the last entry. */
export function anyJobInFull(row: JobRow, past: readonly PastRow[]): AnyJobInFull {
  const before = past
    .toReversed()
    .flatMap(({ modifiedAt, status }) => (status === null ? [] : [entry(modifiedAt, status)]))
  return {
    ...anyJob(row),
    definition: row.definition,
    ...(row.context === null ? {} : { context: row.context }),
    history: [...before, entry(row.modifiedAt, statusOf(row))],
  }
}

function entry(timestamp: string, { state, progress, message }: JobStatus): AnyJobInFull['history'][number] {
  return {
    timestamp,
    state,
    ...(progress === undefined ? {} : { progress }),
    ...(message === undefined ? {} : { message }),
  }
}

/** Returns a hash of a definition. It does not depend on the order of fields. */
export function hashOf(definition: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(ordered(definition)))
    .digest('hex')
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, field]) => [name, ordered(field)] as const)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns whether a report gets a history entry. A report that changes only the progress replaces the previous report. */
export function needsHistoryEntry(row: JobRow, state: string, report: Report): boolean {
  return (
    row.state !== state ||
    row.message !== (report.message ?? null) ||
    JSON.stringify(row.context) !== JSON.stringify(report.context ?? null)
  )
}

/** Returns whether a report changes the job. */
export function changesJob(row: JobRow, state: string, report: Report): boolean {
  return (
    needsHistoryEntry(row, state, report) ||
    row.progress !== (report.progress ?? null) ||
    row.reportedBy !== (report.clientId ?? null)
  )
}
