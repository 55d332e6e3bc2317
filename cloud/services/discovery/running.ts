import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { isActive, showRun } from './discovery.ts'
import {
  type Cause,
  findActors,
  findDiscovery,
  findRun,
  insertRun,
  lockRun,
  type RunRow,
  setWorkflowJob,
} from './store.ts'
import { moveJob } from './workflow-job.ts'

export const discoveryWorkflow = 'discovery'
const startKind = 'discovery.start'

/** Creates a run in the transaction of its cause. The job for the gateway is created after the commit. */
export async function beginRun(
  context: Context,
  tx: Transaction,
  { discoveryId, cause }: { discoveryId: string; cause: Cause },
): Promise<RunRow> {
  const run = await insertRun(tx, { id: newId(), discoveryId, cause })
  await context.tasks.enqueue(tx, { kind: startKind, key: run.id, payload: { runId: run.id } })
  await tellRun(tx, 'created', run)
  return run
}

/** The event names the gateway and the asset of the link: readers who cannot read one of them do not get it. */
export async function tellRun(tx: Transaction, what: string, run: RunRow): Promise<void> {
  await emit(tx, {
    type: `discovery.run.${what}`,
    subject: `discovery/${run.discoveryId}`,
    data: { ...(await findActors(tx, run.discoveryId)), run: showRun(run) },
  })
}

/** The platform, for the tenant of a job. */
export async function systemOf({ tenants }: Context, tenantId: string): Promise<Caller> {
  const tenant = await tenants.byId(tenantId)
  return systemCaller({ tenantId, tenantName: tenant?.name ?? '' })
}

export function runningTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    [startKind]: {
      async run({ tenantId, payload }) {
        const { runId } = payload as { runId: string }
        const caller = await systemOf(context, tenantId)
        const wanted = await database.read(caller, async (handle) => {
          const run = await findRun(handle, runId)
          const discovery = run === undefined ? undefined : await findDiscovery(handle, run.discoveryId)
          if (run === undefined || discovery === undefined) return undefined
          return { run, discovery, linkAssetId: (await findActors(handle, discovery.id)).linkAssetId }
        })
        if (wanted === undefined || wanted.run.workflowJobId !== null || !isWanted(wanted.run)) return
        const { gatewayId, assetLinkId, deviceClass, filters, options } = wanted.discovery
        const job = await context.peers(workflows, caller).createJob({
          body: {
            clientId: gatewayId,
            workflow: discoveryWorkflow,
            // Callers who cannot read the link get neither events of the job nor its definition.
            tags: [discoveryWorkflow, ...(wanted.linkAssetId === undefined ? [] : [`asset/${wanted.linkAssetId}`])],
            definition: {
              runId,
              discoveryId: wanted.discovery.id,
              assetLinkId,
              linkAssetId: wanted.linkAssetId,
              deviceClass,
              filters,
              options,
            },
          },
          headers: { 'idempotency-key': `${startKind}.${runId}` },
        })
        const run = await database.transaction(caller, async (tx) => {
          await setWorkflowJob(tx, runId, job.id)
          return lockRun(tx, runId)
        })
        // The run was canceled while its job was created: the cancellation found no job that it could cancel.
        if (run === undefined || !isWanted(run)) await moveJob(context, caller, { jobId: job.id, state: 'CANCELED' })
      },
    },
  }
}

/** A run that was canceled before its job is created needs no job. */
function isWanted(run: RunRow): boolean {
  return isActive(run) && run.ending === null
}
