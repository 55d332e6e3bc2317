import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { isActive } from './discovery.ts'
import { endRun } from './ingestion.ts'
import { settleRun } from './run-settlement.ts'
import { systemOf } from './run-start.ts'
import { findRun } from './store.ts'
import { moveJob } from './workflow-job.ts'

const cancelTimeoutKind = 'discovery.give-up'
/** The time that a gateway has to confirm a cancellation. After this time, the run is canceled without the confirmation. */
const confirmationMs = 60_000

/**
 * Cancels an active run. Returns false when the run is not active. Devices that were already found stay in the inventory.
 */
export async function cancelRun(context: Context, caller: Caller, runId: string): Promise<boolean> {
  const read = () => context.database.read(caller, (handle) => findRun(handle, runId))
  const run = await read()
  if (run === undefined || !isActive(run)) return false
  const system = systemCaller(caller)
  const end = () =>
    endRun(context, system, { runId, ending: 'canceled', message: `Canceled by ${caller.principal.name}` })
  if (run.workflowJobId === null) {
    await end()
    // The run is read again, because its job may have been created in the meantime.
    const jobId = (await read())?.workflowJobId ?? null
    if (jobId !== null && !(await moveJob(context, system, { jobId, state: 'CANCELED' })))
      await requestCancellation(context, system, { runId, jobId })
    return true
  }
  if (await moveJob(context, system, { jobId: run.workflowJobId, state: 'CANCELED' })) {
    await end()
    return true
  }
  if (await requestCancellation(context, system, { runId, jobId: run.workflowJobId })) return true
  return settleRun(context, system, run)
}

/** Requests a cancellation from the gateway. Returns false when no gateway works on the job. */
async function requestCancellation(
  context: Context,
  system: Caller,
  payload: { runId: string; jobId: string },
): Promise<boolean> {
  const { runId, jobId } = payload
  if (!(await moveJob(context, system, { jobId, state: 'CANCELING' }))) return false
  await context.database.transaction(system, (tx) =>
    context.tasks.enqueue(tx, {
      kind: cancelTimeoutKind,
      key: runId,
      payload,
      runAt: new Date(Date.now() + confirmationMs),
    }),
  )
  return true
}

export function cancellationTasks(context: Context): TaskKinds {
  return {
    [cancelTimeoutKind]: {
      async run({ tenantId, payload }) {
        const { runId, jobId } = payload as { runId: string; jobId: string }
        const caller = await systemOf(context, tenantId)
        if (!(await moveJob(context, caller, { jobId, state: 'CANCELED' }))) return
        await endRun(context, caller, {
          runId,
          ending: 'canceled',
          message: 'Canceled without confirmation: the gateway did not respond',
        })
      },
    },
  }
}
