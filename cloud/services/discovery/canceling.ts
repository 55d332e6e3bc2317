import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { isActive } from './discovery.ts'
import { endRun } from './ingesting.ts'
import { systemOf } from './running.ts'
import { settleRun } from './settling.ts'
import { findRun } from './store.ts'
import { moveJob } from './workflow-job.ts'

const giveUpKind = 'discovery.give-up'
/** How long a gateway may take to hear of it; then it is canceled without it. */
const patienceMs = 60_000

/** Cancels a run that is under way; false when it is none. What was found until then stays. */
export async function cancelRun(context: Context, caller: Caller, runId: string): Promise<boolean> {
  const read = () => context.database.read(caller, (handle) => findRun(handle, runId))
  const run = await read()
  if (run === undefined || !isActive(run)) return false
  const system = systemCaller(caller)
  const end = () =>
    endRun(context, system, { runId, ending: 'canceled', message: `Canceled by ${caller.principal.name}` })
  if (run.workflowJobId === null) {
    await end()
    // Its job may have been made at the same moment.
    const jobId = (await read())?.workflowJobId ?? null
    if (jobId !== null && !(await moveJob(context, system, { jobId, state: 'CANCELED' })))
      await askToStop(context, system, { runId, jobId })
    return true
  }
  if (await moveJob(context, system, { jobId: run.workflowJobId, state: 'CANCELED' })) {
    await end()
    return true
  }
  if (await askToStop(context, system, { runId, jobId: run.workflowJobId })) return true
  return settleRun(context, system, run)
}

/** False when nobody works on the job. */
async function askToStop(
  context: Context,
  system: Caller,
  payload: { runId: string; jobId: string },
): Promise<boolean> {
  const { runId, jobId } = payload
  if (!(await moveJob(context, system, { jobId, state: 'CANCELING' }))) return false
  await context.database.transaction(system, (tx) =>
    context.tasks.enqueue(tx, { kind: giveUpKind, key: runId, payload, runAt: new Date(Date.now() + patienceMs) }),
  )
  return true
}

export function cancelingTasks(context: Context): TaskKinds {
  return {
    [giveUpKind]: {
      async run({ tenantId, payload }) {
        const { runId, jobId } = payload as { runId: string; jobId: string }
        const caller = await systemOf(context, tenantId)
        if (!(await moveJob(context, caller, { jobId, state: 'CANCELED' }))) return
        await endRun(context, caller, { runId, ending: 'canceled', message: 'Canceled; the gateway did not answer' })
      },
    },
  }
}
