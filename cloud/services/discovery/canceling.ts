import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { JobKinds } from '../../platform/jobs/jobs.ts'
import type { Context } from '../../platform/service.ts'
import { isActive } from './discovery.ts'
import { endRun } from './ingesting.ts'
import { systemOf } from './running.ts'
import { findRun } from './store.ts'

const giveUpKind = 'discovery.give-up'
/** How long a gateway may take to hear of it; then it is canceled without it. */
const patienceMs = 60_000

/** Cancels a run that is under way; false when it is none. What was found until then stays. */
export async function cancelRun(context: Context, caller: Caller, runId: string): Promise<boolean> {
  const run = await context.database.read(caller, (handle) => findRun(handle, runId))
  if (run === undefined || !isActive(run)) return false
  const system = systemCaller(caller)
  if (run.workflowJobId === null || (await move(context, system, { jobId: run.workflowJobId, state: 'CANCELED' }))) {
    await endRun(context, system, { runId, ending: 'canceled', message: `Canceled by ${caller.principal.name}` })
    return true
  }
  if (!(await move(context, system, { jobId: run.workflowJobId, state: 'CANCELING' }))) return false
  await context.database.transaction(caller, (tx) =>
    context.jobs.enqueue(tx, {
      kind: giveUpKind,
      key: runId,
      payload: { runId, jobId: run.workflowJobId },
      runAt: new Date(Date.now() + patienceMs),
    }),
  )
  return true
}

/** Moves the gateway's job as the engine; false when it cannot move there from where it is. */
async function move(context: Context, caller: Caller, { jobId, state }: { jobId: string; state: string }) {
  try {
    await context.peers(workflows, caller).moveJob({ params: { id: jobId }, body: { data: { state, as: 'WFX' } } })
    return true
  } catch (error) {
    if (error instanceof Problem && (error.code === 'invalid_transition' || error.code === 'not_found')) return false
    throw error
  }
}

export function cancelingJobs(context: Context): JobKinds {
  return {
    [giveUpKind]: {
      async run({ tenantId, payload }) {
        const { runId, jobId } = payload as { runId: string; jobId: string }
        const caller = await systemOf(context, tenantId)
        if (!(await move(context, caller, { jobId, state: 'CANCELED' }))) return
        await endRun(context, caller, { runId, ending: 'canceled', message: 'Canceled; the gateway did not answer' })
      },
    },
  }
}
