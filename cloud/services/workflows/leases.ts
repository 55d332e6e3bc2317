import { Problem } from '@millwright/api/problem.ts'
import type { WorkflowJob, workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { isNews, type JobRow, showJob } from './job.ts'
import { changeStatus } from './job-change.ts'
import { findJob, lockJob } from './job-store.ts'
import { claimJob, findLease, holdJob, renewLease } from './lease-store.ts'
import { reached } from './side.ts'
import { moved, stateWhenTaken } from './transition.ts'
import type { Waiters } from './waiters.ts'
import { workflowOf } from './workflow-lookup.ts'

type Names = 'takeJob' | 'renewLease' | 'readLease' | 'moveJob' | 'awaitJob'

type Taken = { job: WorkflowJob; lease: { id: string; expiresTimestamp: string } }

/** Jobs as our own services handle them: held by a lease, so that one whose agent died is offered again. */
export function leaseHandlers({ database }: Context, waiters: Waiters): Pick<Handlers<typeof workflows>, Names> {
  return {
    async takeJob({ body: { data: wish } }, caller) {
      const { clientId, workflows } = wish
      const until = performance.now() + waitMs(wish.waitSeconds, caller)
      const isOver = () => waiters.isStopping || performance.now() >= until
      for (;;) {
        const place = waiters.join(caller.tenantId, { clientId, workflows }, until)
        try {
          const taken = await database.transaction(caller, (tx) => take(tx, caller, wish))
          if (taken === undefined && !isOver()) await place.woken
          if (taken === undefined && !isOver()) continue
          // Whoever has a job, or no time left, does not look again: what it was woken for is for the next in line.
          place.passOn()
          return { data: taken ?? null }
        } finally {
          place.leave()
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
          context: row.context ?? undefined,
        }
        const { state } = row
        if (isNews(row, state, report))
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
        const row = reached(id, await lockJob(tx, id), {})
        const workflow = await workflowOf(tx, row)
        if (data.lease !== undefined && data.lease !== row.leaseId) throw lost(id)
        if (data.state === row.state) return showJob(row, workflow)
        const state = moved(workflow, { from: row.state, to: data.state, as: data.as })
        const { progress, message, context } = data
        const said = { clientId: data.as === 'CLIENT' ? row.clientId : undefined, progress, message, context }
        const after = await changeStatus(tx, { row, workflow, state, report: state === data.state ? said : {} })
        await recordMove(tx, caller, { action: 'workflows.moveJob', before: row, after })
        return showJob(after, workflow)
      })
    },

    async awaitJob({ params: { id }, query: { waitSeconds = 0, unlike } }, caller) {
      const until = performance.now() + waitMs(waitSeconds, caller)
      for (;;) {
        const place = waiters.join(caller.tenantId, { jobId: id, unlike }, until)
        try {
          const found = await database.read(caller, async (handle) => {
            const row = reached(id, await findJob(handle, id), {})
            return { job: showJob(row, await workflowOf(handle, row)), isFinal: row.isFinal }
          })
          const isThere = found.isFinal || (unlike !== undefined && found.job.status.state !== unlike)
          if (isThere || performance.now() >= until || waiters.isStopping) return found
          await place.woken
        } finally {
          place.leave()
        }
      }
    },
  }
}

/** Whoever is in a transaction does not wait: it would hold its connection and its locks. */
function waitMs(seconds: number, { transaction }: Caller): number {
  return transaction === undefined ? seconds * 1_000 : 0
}

type Wanted = { clientId: string; workflows: string[]; leaseSeconds: number }

/** The oldest job there is to take, now held; a new one begins with that. */
async function take(tx: Transaction, caller: Caller, wanted: Wanted): Promise<Taken | undefined> {
  const id = await claimJob(tx, wanted)
  if (id === undefined) return undefined
  const leaseId = newId()
  const expiresTimestamp = await holdJob(tx, id, { id: leaseId, seconds: wanted.leaseSeconds })
  const before = reached(id, await findJob(tx, id), { clientIds: [wanted.clientId] })
  const workflow = await workflowOf(tx, before)
  const state = stateWhenTaken(workflow, before.state)
  const lease = { id: leaseId, expiresTimestamp }
  if (state === before.state) return { job: showJob(before, workflow), lease }
  const after = await changeStatus(tx, { row: before, workflow, state, report: { clientId: wanted.clientId } })
  await recordMove(tx, caller, { action: 'workflows.takeJob', before, after })
  return { job: showJob(after, workflow), lease }
}

type Moved = { action: string; before: JobRow; after: JobRow }

/** Who moved a job where. Reports of progress are not in the audit trail. */
export async function recordMove(tx: Transaction, caller: Caller, { action, before, after }: Moved): Promise<void> {
  if (before.state === after.state) return
  const detail = { workflow: after.workflow, client: after.clientId, from: before.state, to: after.state }
  await record(tx, caller, { action, target: `job/${after.id}`, detail })
}

function lost(id: string): Problem {
  return new Problem('lease_lost', `The job ${id} is not held by this lease any more: leave it, and ask for another`)
}
