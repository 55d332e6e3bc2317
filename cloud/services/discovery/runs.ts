import type { discovery } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { endRun, keepUpload } from './ingesting.ts'
import { tellRun } from './running.ts'
import { findDiscovery, findRun, listActiveRuns, noteRun, wasLeased } from './store.ts'
import { stopJob } from './workflow-job.ts'

type Names = 'recordUpload' | 'noteRun' | 'endRun' | 'endGatewayRuns'

/** What the gatekeeper tells about the work of gateways. */
export function runHandlers(context: Context): Pick<Handlers<typeof discovery>, Names> {
  const { database } = context
  return {
    async recordUpload({ params: { id }, body: { data } }, caller) {
      const { gatewayId, jobId, lease, sequence, assets, errors, uses = [] } = data
      const tried = uses.length === 0 ? {} : { tried: { jobId, uses } }
      if (!(await isOwn(context, caller, { runId: id, gatewayId })))
        throw new Problem('not_found', `There is no run ${id} of this gateway`)
      if (!(await database.read(caller, (handle) => wasLeased(handle, id, { jobId, lease }))))
        throw new Problem('lease_lost', `The job ${jobId} was never held with the lease ${lease}: lease the job first`)
      await keepUpload(context, caller, { place: { runId: id, lease, sequence }, upload: { assets, errors, ...tried } })
      return answer(202, { data: { accepted: assets.length } })
    },

    async noteRun({ params: { id }, body: { data } }, caller) {
      const { gatewayId, ...progress } = data
      if (!(await isOwn(context, caller, { runId: id, gatewayId }))) return answer(204)
      return database.transaction(caller, async (tx) => {
        const run = await noteRun(tx, id, progress)
        if (run !== undefined) await tellRun(tx, 'progressed', run)
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

/** Managers of jobs can change the definition of a job, so the run that the definition names is checked. */
async function isOwn(
  { database }: Context,
  caller: Caller,
  { runId, gatewayId }: { runId: string; gatewayId: string },
): Promise<boolean> {
  const found = await database.read(caller, async (handle) => {
    const run = await findRun(handle, runId)
    return run === undefined ? undefined : findDiscovery(handle, run.discoveryId)
  })
  return found?.gatewayId === gatewayId
}
