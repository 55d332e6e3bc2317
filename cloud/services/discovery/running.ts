import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import type { JobKinds } from '../../platform/jobs/jobs.ts'
import type { Context } from '../../platform/service.ts'
import { isActive, showRun } from './discovery.ts'
import {
  type Cause,
  countMissed,
  findDiscovery,
  findRun,
  insertRun,
  lockDiscovery,
  type RunRow,
  setWorkflowJob,
} from './store.ts'

export const discoveryWorkflow = 'discovery'
/** The kind under which the platform keeps the schedules of discoveries. */
export const scheduleKind = 'discovery.scheduled'
const startKind = 'discovery.start'

/** A new run, in the transaction of its cause; the gateway's job is made right after the commit. */
export async function beginRun(
  context: Context,
  tx: Transaction,
  { discoveryId, cause }: { discoveryId: string; cause: Cause },
): Promise<RunRow> {
  const run = await insertRun(tx, { id: newId(), discoveryId, cause })
  await context.jobs.enqueue(tx, { kind: startKind, key: run.id, payload: { runId: run.id } })
  await tellRun(tx, 'created', run)
  return run
}

export async function tellRun(tx: Transaction, what: string, run: RunRow): Promise<void> {
  await emit(tx, {
    type: `discovery.run.${what}`,
    subject: `discovery/${run.discoveryId}`,
    data: { run: showRun(run) },
  })
}

/** The platform, for the tenant of a job. */
export async function systemOf({ tenants }: Context, tenantId: string): Promise<Caller> {
  const tenant = await tenants.byId(tenantId)
  return systemCaller({ tenantId, tenantName: tenant?.name ?? '' })
}

export function runningJobs(context: Context): JobKinds {
  const { database } = context
  return {
    [startKind]: {
      async run({ tenantId, payload }) {
        const { runId } = payload as { runId: string }
        const caller = await systemOf(context, tenantId)
        const wanted = await database.read(caller, async (handle) => {
          const run = await findRun(handle, runId)
          const discovery = run === undefined ? undefined : await findDiscovery(handle, run.discoveryId)
          return run === undefined || discovery === undefined ? undefined : { run, discovery }
        })
        if (wanted === undefined || wanted.run.workflowJobId !== null || !isActive(wanted.run)) return
        const { gatewayId, assetLinkId, deviceClass, filters, options } = wanted.discovery
        const job = await context.peers(workflows, caller).createJob({
          body: {
            clientId: gatewayId,
            workflow: discoveryWorkflow,
            tags: [discoveryWorkflow],
            definition: { runId, discoveryId: wanted.discovery.id, assetLinkId, deviceClass, filters, options },
          },
          headers: { 'idempotency-key': `${startKind}.${runId}` },
        })
        await database.transaction(caller, (tx) => setWorkflowJob(tx, runId, job.id))
      },
    },
    [scheduleKind]: {
      async run(job) {
        await database.transaction({ tenantId: job.tenantId }, async (tx) => {
          const discovery = await lockDiscovery(tx, job.key)
          if (discovery !== undefined) {
            const latest = discovery.latestRunId === null ? undefined : await findRun(tx, discovery.latestRunId)
            // One scan of a discovery at a time: what comes due meanwhile is missed, and counted.
            if (isActive(latest)) await countMissed(tx, discovery.id)
            else await beginRun(context, tx, { discoveryId: discovery.id, cause: 'schedule' })
          }
          await job.complete(tx)
        })
      },
    },
  }
}
