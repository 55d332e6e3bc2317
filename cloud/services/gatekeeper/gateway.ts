import { Problem } from '@millwright/api/problem.ts'
import { type WorkflowJob, workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'

export function requireGateway({ principal }: Caller): void {
  if (principal.kind === 'gateway') return
  throw new Problem('forbidden', 'Only gateways can call this operation')
}

/** Returns a job of this gateway. Missing jobs and jobs of other gateways return the same error. */
export async function ownJob(context: Context, caller: Caller, id: string): Promise<WorkflowJob> {
  return context.peers(workflows, caller).getJob({ params: { id }, query: {} })
}
