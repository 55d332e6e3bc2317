import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import { isActive } from './discovery.ts'
import { endRun } from './ingestion.ts'
import type { RunRow } from './store.ts'
import { endOfJob } from './workflow-job.ts'

/**
 * Ends a run whose job has ended, although the discovery service was not notified. This happens when another caller
 * ended or deleted the job, or when a process crashed before the notification. Returns true if it ended the run.
 * Without this function, the discovery could neither be canceled nor run again.
 */
export async function settleRun(context: Context, system: Caller, run: RunRow | undefined): Promise<boolean> {
  if (run === undefined || !isActive(run) || run.ending !== null || run.workflowJobId === null) return false
  const end = await endOfJob(context, system, run.workflowJobId)
  if (end === undefined) return false
  await endRun(context, system, { runId: run.id, ...end })
  return true
}
