import { uploadFeatures } from '@millwright/api/gatekeeper.ts'
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

/**
 * Creates a run in the transaction of the caller. A background task creates the job for the gateway after the commit.
 * `startedBy` is the name of the user that starts the run, and absent for a run of the schedule.
 */
export async function beginRun(
  context: Context,
  tx: Transaction,
  { discoveryId, cause, startedBy }: { discoveryId: string; cause: Cause; startedBy?: string },
): Promise<RunRow> {
  const run = await insertRun(tx, { id: newId(), discoveryId, cause })
  await context.tasks.enqueue(tx, { kind: startKind, key: run.id, payload: { runId: run.id, startedBy } })
  await emitRunEvent(tx, 'created', run)
  return run
}

/**
 * Emits an event of a run. The event names the gateway and the asset of the link, so that only callers who can read both
 * get the event.
 */
export async function emitRunEvent(tx: Transaction, event: string, run: RunRow): Promise<void> {
  await emit(tx, {
    type: `discovery.run.${event}`,
    subject: `discovery/${run.discoveryId}`,
    data: { ...(await findActors(tx, run.discoveryId)), run: showRun(run) },
  })
}

/** Returns the platform as caller in a tenant. */
export async function systemOf({ tenants }: Context, tenantId: string): Promise<Caller> {
  const tenant = await tenants.byId(tenantId)
  return systemCaller({ tenantId, tenantName: tenant?.name ?? '' })
}

export function runStartTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    [startKind]: {
      async run({ tenantId, payload }) {
        const { runId, startedBy } = payload as { runId: string; startedBy?: string }
        const caller = await systemOf(context, tenantId)
        const start = await database.read(caller, async (handle) => {
          const run = await findRun(handle, runId)
          const discovery = run === undefined ? undefined : await findDiscovery(handle, run.discoveryId)
          if (run === undefined || discovery === undefined) return undefined
          return { run, discovery, linkAssetId: (await findActors(handle, discovery.id)).linkAssetId }
        })
        if (start === undefined || start.run.workflowJobId !== null || !needsJob(start.run)) return
        const { gatewayId, assetLinkId, deviceClass, createdBy } = start.discovery
        // The scan can have got other filters after the run was created.
        const { filters, options } = start.run.scope ?? start.discovery
        const job = await context.peers(workflows, caller).createJob({
          body: {
            clientId: gatewayId,
            workflow: discoveryWorkflow,
            // The tag hides the job's events and definition from callers who cannot read the link.
            tags: [discoveryWorkflow, ...(start.linkAssetId === undefined ? [] : [`asset/${start.linkAssetId}`])],
            definition: {
              runId,
              discoveryId: start.discovery.id,
              assetLinkId,
              linkAssetId: start.linkAssetId,
              deviceClass,
              filters,
              options,
              askedBy: startedBy ?? createdBy,
              trigger: start.run.cause,
              accepts: uploadFeatures,
            },
          },
          headers: { 'idempotency-key': `${startKind}.${runId}` },
        })
        const run = await database.transaction(caller, async (tx) => {
          await setWorkflowJob(tx, runId, job.id)
          return lockRun(tx, runId)
        })
        // The run was canceled while its job was created. The cancellation found no job, so the job is canceled here.
        if (run === undefined || !needsJob(run)) await moveJob(context, caller, { jobId: job.id, state: 'CANCELED' })
      },
    },
  }
}

/** Returns whether a run needs a job. A run that was canceled before its job was created needs none. */
function needsJob(run: RunRow): boolean {
  return isActive(run) && run.ending === null
}
