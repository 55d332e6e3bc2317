import { type JobStatus, type jobActions, type Workflow, workflowLimits } from '@millwright/api/workflows.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { anyJob, hashOf, type JobRow, needsHistoryEntry, type Report, statusOf } from './job.ts'
import * as store from './job-store.ts'
import { firstState } from './transition.ts'

/**
 * Functions for all changes of a job. Each change stores history, emits an event, and signals waiting requests after the
 * commit.
 */

export type JobAction = (typeof jobActions)[number]

/**
 * The data of a job event. It omits the definition and the result of a job, because they can be large or confidential.
 */
export type JobEventData = {
  action: JobAction
  job: ReturnType<typeof anyJob>
  status: Omit<JobStatus, 'context'>
  /** The principal that started a job of the platform itself. */
  principalId?: string
}

/**
 * Prefixes of topics. A topic with `offeredTopic` is signalled when a client can take a job. A topic with `movedTopic`
 * is signalled when a job changes its state or is deleted.
 */
const offeredTopic = 'workflows.offered:'
const movedTopic = 'workflows.moved:'

export type Wake = { kind: 'offered'; clientId: string; workflow: string } | { kind: 'moved'; jobId: string }

/** Parses a topic. Returns `undefined` for topics of other services. */
export function wakeOf(topic: string): Wake | undefined {
  if (topic.startsWith(movedTopic)) return { kind: 'moved', jobId: topic.slice(movedTopic.length) }
  if (!topic.startsWith(offeredTopic)) return undefined
  // Names of workflows contain no colon, but client ids may contain one.
  const rest = topic.slice(offeredTopic.length)
  const end = rest.indexOf(':')
  return { kind: 'offered', workflow: rest.slice(0, end), clientId: rest.slice(end + 1) }
}

type NewJob = {
  id?: string
  clientId: string
  principalId?: string
  definition: Record<string, unknown>
  tags: readonly string[]
}

export async function createJob(tx: Transaction, workflow: Workflow, job: NewJob): Promise<JobRow> {
  const { id = newId() } = job
  const state = firstState(workflow)
  await store.insertJob(tx, { ...job, id, definitionHash: hashOf(job.definition), state }, workflow)
  return changed(tx, id, 'CREATE')
}

export type Move = { row: JobRow; workflow: Workflow; state: string; report: Report }

/** Sets a new status of a job: another state, or new progress in the same state. */
export async function changeStatus(tx: Transaction, { row, workflow, state, report }: Move): Promise<JobRow> {
  const hasHistoryEntry = needsHistoryEntry(row, state, report)
  if (hasHistoryEntry) await store.remember(tx, row, { status: statusOf(row), limit: workflowLimits.history })
  await store.setStatus(tx, row, { workflow, state, report, hasHistoryEntry })
  if (state !== row.state) tx.signal(movedTopic + row.id)
  return changed(tx, row.id, 'UPDATE_STATUS')
}

export async function changeDefinition(
  tx: Transaction,
  row: JobRow,
  definition: Record<string, unknown>,
): Promise<JobRow> {
  await store.remember(tx, row, { definition: row.definition, limit: workflowLimits.history })
  await store.setDefinition(tx, row.id, { definition, hash: hashOf(definition) })
  return changed(tx, row.id, 'UPDATE_DEFINITION')
}

export async function changeTags(
  tx: Transaction,
  row: JobRow,
  { action, tags }: { action: 'ADD_TAGS' | 'DELETE_TAGS'; tags: readonly string[] },
): Promise<JobRow> {
  await (action === 'ADD_TAGS' ? store.insertTags(tx, row.id, tags) : store.deleteTags(tx, row.id, tags))
  await store.touchJob(tx, row.id)
  return changed(tx, row.id, action)
}

export async function deleteJob(tx: Transaction, row: JobRow): Promise<void> {
  await store.deleteJob(tx, row.id)
  await emitChange(tx, 'DELETE', row)
  tx.signal(movedTopic + row.id)
}

async function changed(tx: Transaction, id: string, action: JobAction): Promise<JobRow> {
  const row = await store.findJob(tx, id)
  if (row === undefined) throw new Error(`Job ${id} was deleted while it was changed`)
  await emitChange(tx, action, row)
  if (!row.isFinal && row.awaitsClient && row.leaseUntil === null)
    tx.signal(`${offeredTopic}${row.workflow}:${row.clientId}`)
  return row
}

const eventNames = { CREATE: 'created', DELETE: 'deleted' } as const

async function emitChange(tx: Transaction, action: JobAction, row: JobRow): Promise<void> {
  const eventName = action === 'CREATE' || action === 'DELETE' ? eventNames[action] : 'updated'
  const { context: _, ...status } = statusOf(row)
  const { principalId } = row
  const data: JobEventData = { action, job: anyJob(row), status, ...(principalId === null ? {} : { principalId }) }
  await emit(tx, { type: `workflows.job.${eventName}`, subject: `job/${row.id}`, data })
}
