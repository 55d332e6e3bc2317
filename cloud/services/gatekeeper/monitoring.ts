import type { gatekeeper } from '@millwright/api/gatekeeper.ts'
import { monitoring } from '@millwright/api/monitoring.ts'
import { Problem } from '@millwright/api/problem.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { ownJob, requireGateway } from './gateway.ts'
import type { GatewayPresence } from './presence.ts'

export const monitoringWorkflow = 'monitoring'

type Operations = 'listMonitoringTargets' | 'uploadMonitoringResults'

/** Handlers that pass the targets and results of monitoring jobs. A gateway has access only to jobs whose lease it holds. */
export function monitoringHandlers(
  context: Context,
  presence: GatewayPresence,
): Pick<Handlers<typeof gatekeeper>, Operations> {
  const client = (caller: Caller) => context.peers(monitoring, systemCaller(caller))
  return {
    async listMonitoringTargets({ params: { id }, body: { data } }, caller) {
      const { lease, ...page } = data
      await requireLease(context, caller, { jobId: id, lease })
      await presence.note(caller)
      const body = { data: { gatewayId: caller.principal.id, ...page } }
      return client(caller).listRunTargets({ params: { jobId: id }, body })
    },

    async uploadMonitoringResults({ params: { id }, body: { data } }, caller) {
      const { lease, results } = data
      await requireLease(context, caller, { jobId: id, lease })
      await presence.note(caller)
      const body = { data: { gatewayId: caller.principal.id, results } }
      return client(caller).recordRunResults({ params: { jobId: id }, body })
    },
  }
}

/** Requires that the gateway holds this lease of a monitoring job. */
async function requireLease(
  context: Context,
  caller: Caller,
  { jobId, lease }: { jobId: string; lease: string },
): Promise<void> {
  requireGateway(caller)
  const { workflow } = await ownJob(context, caller, jobId)
  if (workflow.name !== monitoringWorkflow) throw new Problem('not_found', `Job ${jobId} is not a monitoring job`)
  const { data: current } = await context.peers(workflows, systemCaller(caller)).readLease({
    params: { id: jobId },
    query: { clientId: caller.principal.id },
  })
  if (current?.id === lease) return
  throw new Problem('lease_lost', `The lease of job ${jobId} has expired or was replaced. Stop working on the job.`)
}
