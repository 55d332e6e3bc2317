import type { discovery } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { endRun, storeUpload } from './ingestion.ts'
import { emitRunEvent } from './run-start.ts'
import { findDiscovery, findRun, listActiveRuns, lockForAttempt, noteRun, restartRun, wasLeased } from './store.ts'
import { stopJob } from './workflow-job.ts'

type Operations = 'recordUpload' | 'noteRun' | 'endRun' | 'endGatewayRuns'

/** Handlers that the gatekeeper calls to report the progress of gateways. */
export function runHandlers(context: Context): Pick<Handlers<typeof discovery>, Operations> {
  const { database } = context
  return {
    async recordUpload({ params: { id }, body: { data } }, caller) {
      const { gatewayId, jobId, lease, sequence, assets, errors, uses = [], deviceAddresses } = data
      const tried = uses.length === 0 ? {} : { tried: { jobId, uses } }
      if (!(await isOwn(context, caller, { runId: id, gatewayId })))
        throw new Problem('not_found', `The gateway has no discovery run ${id}`)
      if (!(await database.read(caller, (handle) => wasLeased(handle, id, { jobId, lease }))))
        throw new Problem('lease_lost', `The lease ${lease} was never issued for job ${jobId}. Lease the job first.`)
      await storeUpload(context, caller, {
        uploadKey: { runId: id, lease, sequence },
        upload: { assets, errors, ...tried, ...(deviceAddresses === undefined ? {} : { deviceAddresses }) },
      })
      return answer(202, { data: { accepted: assets.length } })
    },

    async noteRun({ params: { id }, body: { data } }, caller) {
      const { gatewayId, isContinued = false, ...progress } = data
      if (!(await isOwn(context, caller, { runId: id, gatewayId }))) return answer(204)
      return database.transaction(caller, async (tx) => {
        const { lease } = progress
        const isNewAttempt = lease !== undefined && !isContinued && (await lockForAttempt(tx, id, lease)).isRepeat
        if (isNewAttempt) await restartRun(tx, id, lease)
        const run = await noteRun(tx, id, progress)
        if (run !== undefined) await emitRunEvent(tx, 'progressed', run)
        return answer(204)
      })
    },

    async endRun({ params: { id }, body: { data } }, caller) {
      if (await isOwn(context, caller, { runId: id, gatewayId: data.gatewayId }))
        await endRun(context, caller, { runId: id, ending: data.state, message: data.message })
      return { data: { state: data.state } }
    },

    async endGatewayRuns({ params: { gatewayId } }, caller) {
      const runs = await database.read(caller, (handle) => listActiveRuns(handle, gatewayId))
      for (const { id: runId, workflowJobId: jobId } of runs) {
        if (jobId !== null) await stopJob(context, caller, jobId)
        await endRun(context, caller, { runId, ending: 'failed', message: 'The gateway was revoked' })
      }
      return { data: { ended: runs.length } }
    },
  }
}

/**
 * Returns whether the run belongs to the gateway. The gateway names the job, so the run of the job is compared with the
 * gateway of its discovery.
 */
export async function isOwn(
  { database }: Context,
  caller: Caller,
  { runId, gatewayId }: { runId: string; gatewayId: string },
): Promise<boolean> {
  const discovery = await database.read(caller, async (handle) => {
    const run = await findRun(handle, runId)
    return run === undefined ? undefined : findDiscovery(handle, run.discoveryId)
  })
  return discovery?.gatewayId === gatewayId
}
