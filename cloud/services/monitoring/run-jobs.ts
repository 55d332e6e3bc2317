import { Problem } from '@millwright/api/problem.ts'
import { workflowLimits } from '@millwright/api/workflow-shapes.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import type { JobRow } from './run-store.ts'

/** The jobs of runs in the workflow engine, one per gateway. */

export const monitoringWorkflow = 'monitoring'

export type JobStatus = { id: string; isFinal: boolean; isLeased: boolean; status: { state: string; message?: string } }

/** Returns the states of jobs. Missing jobs are left out. */
export async function readJobs(context: Context, caller: Caller, jobs: readonly JobRow[]): Promise<JobStatus[]> {
  const client = context.peers(workflows, systemCaller(caller))
  const statuses: JobStatus[] = []
  for (let start = 0; start < jobs.length; start += workflowLimits.jobsPerRead) {
    const ids = jobs.slice(start, start + workflowLimits.jobsPerRead).map(({ jobId }) => jobId)
    statuses.push(...(await client.readJobs({ body: { data: { ids } } })).data)
  }
  return statuses
}

/** Cancels jobs. A gateway that works on its job confirms the cancellation. */
export async function cancelJobs(context: Context, caller: Caller, jobs: readonly JobRow[]): Promise<void> {
  for (const { jobId } of jobs) {
    if (!(await moveJob(context, caller, { jobId, state: 'CANCELED' })))
      await moveJob(context, caller, { jobId, state: 'CANCELING' })
  }
}

/** Cancels a job without waiting for the confirmation of its gateway. */
export async function stopJob(context: Context, caller: Caller, jobId: string): Promise<void> {
  if (await moveJob(context, caller, { jobId, state: 'CANCELED' })) return
  await moveJob(context, caller, { jobId, state: 'CANCELING' })
  await moveJob(context, caller, { jobId, state: 'CANCELED' })
}

/** Moves a job as the platform. Returns false if the transition is not allowed, or the job does not exist. */
async function moveJob(
  context: Context,
  caller: Caller,
  { jobId, state }: { jobId: string; state: string },
): Promise<boolean> {
  try {
    await context
      .peers(workflows, systemCaller(caller))
      .moveJob({ params: { id: jobId }, body: { data: { state, as: 'WFX' } } })
    return true
  } catch (error) {
    if (error instanceof Problem && (error.code === 'invalid_transition' || error.code === 'not_found')) return false
    throw error
  }
}
