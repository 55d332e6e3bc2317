import { Problem } from '@millwright/api/problem.ts'
import type { Workflow, WorkflowJob, workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { changesJob, type JobRow, showJob } from './job.ts'
import { requireJob } from './job-access.ts'
import { changeStatus } from './job-change.ts'
import { findJob, lockJob } from './job-store.ts'
import { claimJob, findLease, holdJob, renewLease } from './lease-store.ts'
import { moved, stateWhenTaken } from './transition.ts'
import type { Waiters } from './waiters.ts'
import { workflowOf } from './workflow-lookup.ts'

type Operations = 'takeJob' | 'renewLease' | 'readLease' | 'moveJob' | 'awaitJob'

type TakenJob = { job: WorkflowJob; lease: { id: string; expiresTimestamp: string }; traceparent?: string }

/**
 * Handlers that internal services use to work on jobs. An agent holds a job with a lease. If the agent stops, the lease
 * expires and the job is offered again.
 */
export function leaseHandlers({ database }: Context, waiters: Waiters): Pick<Handlers<typeof workflows>, Operations> {
  return {
    async takeJob({ body: { data: request } }, caller) {
      const { clientId, workflows } = request
      const until = performance.now() + waitMs(request.waitSeconds, caller)
      const isOver = () => waiters.isStopping || performance.now() >= until
      for (;;) {
        const wait = waiters.join(caller.tenantId, { clientId, workflows }, until)
        try {
          const taken = await database.transaction(caller, (tx) => take(tx, caller, request))
          if (taken === undefined && !isOver()) await wait.woken
          if (taken === undefined && !isOver()) continue
          // This request does not query again, so it passes its offer to the next waiting request.
          wait.passOn()
          return { data: taken ?? null }
        } finally {
          wait.leave()
        }
      }
    },

    async renewLease({ params: { id: leaseId }, body: { data } }, caller) {
      const { jobId, clientId } = data
      return database.transaction(caller, async (tx) => {
        const expiresTimestamp = await renewLease(tx, { jobId, clientId, leaseId })
        const row = expiresTimestamp === undefined ? undefined : await findJob(tx, jobId)
        if (expiresTimestamp === undefined || row === undefined) throw lost(jobId)
        const report = {
          clientId,
          progress: data.progress ?? row.progress ?? undefined,
          message: data.message ?? row.message ?? undefined,
          context: data.context ?? row.context ?? undefined,
        }
        const { state } = row
        if (changesJob(row, state, report))
          await changeStatus(tx, { row, workflow: await workflowOf(tx, row), state, report })
        return { data: { lease: { id: leaseId, expiresTimestamp }, state } }
      })
    },

    async readLease({ params: { id }, query: { clientId } }, caller) {
      const lease = await database.read(caller, (handle) => findLease(handle, { jobId: id, clientId }))
      return { data: lease ?? null }
    },

    async moveJob({ params: { id }, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = requireJob(id, await lockJob(tx, id), {})
        const workflow = await workflowOf(tx, row)
        if (data.lease !== undefined && data.lease !== row.leaseId) throw lost(id)
        if (data.state === row.state) return showJob(row, workflow)
        const state = moved(workflow, { from: row.state, to: data.state, as: data.as })
        const { progress, message, context } = data
        const report = { clientId: data.as === 'CLIENT' ? row.clientId : undefined, progress, message, context }
        const after = await changeStatus(tx, { row, workflow, state, report: state === data.state ? report : {} })
        await recordMove(tx, caller, { action: 'workflows.moveJob', before: row, after })
        return showJob(after, workflow)
      })
    },

    async awaitJob({ params: { id }, query: { waitSeconds = 0, unlike } }, caller) {
      const until = performance.now() + waitMs(waitSeconds, caller)
      for (;;) {
        const wait = waiters.join(caller.tenantId, { jobId: id, unlike }, until)
        try {
          const current = await database.read(caller, async (handle) => {
            const row = requireJob(id, await findJob(handle, id), {})
            return { job: showJob(row, await workflowOf(handle, row)), isFinal: row.isFinal }
          })
          const isReached = current.isFinal || (unlike !== undefined && current.job.status.state !== unlike)
          if (isReached || performance.now() >= until || waiters.isStopping) return current
          await wait.woken
        } finally {
          wait.leave()
        }
      }
    },
  }
}

/**
 * Returns the time to wait. A request within a transaction does not wait, because it would hold its connection and locks.
 */
function waitMs(seconds: number, { transaction }: Caller): number {
  return transaction === undefined ? seconds * 1_000 : 0
}

type TakeRequest = { clientId: string; workflows: string[]; leaseSeconds: number; activeJobs?: string[] }

/**
 * Takes the oldest available job and returns it with a lease. A new job moves to its first active state. A job that the client no longer
 * works on starts again without progress.
 */
async function take(tx: Transaction, caller: Caller, request: TakeRequest): Promise<TakenJob | undefined> {
  const id = await claimJob(tx, request)
  if (id === undefined) return undefined
  const leaseId = newId()
  const held = await holdJob(tx, id, { id: leaseId, seconds: request.leaseSeconds })
  const before = requireJob(id, await findJob(tx, id), { clientIds: [request.clientId] })
  const workflow = await workflowOf(tx, before)
  const state = stateWhenTaken(workflow, before.state)
  const lease = { id: leaseId, expiresTimestamp: held?.leaseUntil ?? '' }
  const trace = held?.traceparent == null ? {} : { traceparent: held.traceparent }
  const isContinued = request.activeJobs?.includes(id) === true
  if (state === before.state) {
    const row = isContinued ? before : await clearProgress(tx, before, workflow)
    return { job: showJob(row, workflow), lease, ...trace }
  }
  const after = await changeStatus(tx, { row: before, workflow, state, report: { clientId: request.clientId } })
  await recordMove(tx, caller, { action: 'workflows.takeJob', before, after })
  return { job: showJob(after, workflow), lease, ...trace }
}

/** Sets the progress of an earlier attempt to 0. */
async function clearProgress(tx: Transaction, row: JobRow, workflow: Workflow): Promise<JobRow> {
  if (row.progress === null || row.progress === 0) return row
  const { state, reportedBy, message, context } = row
  const report = {
    clientId: reportedBy ?? undefined,
    progress: 0,
    message: message ?? undefined,
    context: context ?? undefined,
  }
  return changeStatus(tx, { row, workflow, state, report })
}

type JobMove = { action: string; before: JobRow; after: JobRow }

/** Records in the audit trail which caller changed the state of a job. Progress reports are not recorded. */
export async function recordMove(tx: Transaction, caller: Caller, { action, before, after }: JobMove): Promise<void> {
  if (before.state === after.state) return
  const detail = { workflow: after.workflow, client: after.clientId, from: before.state, to: after.state }
  await record(tx, caller, { action, target: `job/${after.id}`, detail })
}

function lost(id: string): Problem {
  return new Problem(
    'lease_lost',
    `The lease of job ${id} has expired or was replaced. Stop working on the job and lease another one.`,
  )
}
