import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import type { RunEnding } from './store.ts'

/** Functions for the job of a run in the workflow engine. */

/**
 * Moves the gateway's job to another state, as the platform (`WFX`). Returns false when the transition is not allowed
 * or the job does not exist.
 */
export async function moveJob(
  context: Context,
  caller: Caller,
  { jobId, state }: { jobId: string; state: string },
): Promise<boolean> {
  try {
    await context.peers(workflows, caller).moveJob({ params: { id: jobId }, body: { data: { state, as: 'WFX' } } })
    return true
  } catch (error) {
    if (error instanceof Problem && (error.code === 'invalid_transition' || error.code === 'not_found')) return false
    throw error
  }
}

/** Cancels a job without waiting for the confirmation of its gateway. */
export async function stopJob(context: Context, caller: Caller, jobId: string): Promise<void> {
  if (await moveJob(context, caller, { jobId, state: 'CANCELED' })) return
  await moveJob(context, caller, { jobId, state: 'CANCELING' })
  await moveJob(context, caller, { jobId, state: 'CANCELED' })
}

const endings: Readonly<Record<string, RunEnding>> = { FINISHED: 'finished', FAILED: 'failed', CANCELED: 'canceled' }

/** Returns how the job ended. Returns `undefined` while the job is open. */
export async function endOfJob(
  context: Context,
  caller: Caller,
  jobId: string,
): Promise<{ ending: RunEnding; message: string | undefined } | undefined> {
  try {
    const { status } = await context.peers(workflows, caller).getJob({ params: { id: jobId }, query: {} })
    const ending = endings[status.state]
    return ending === undefined ? undefined : { ending, message: status.message }
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'not_found') throw error
    return { ending: 'canceled', message: 'The job of the run was deleted' }
  }
}
