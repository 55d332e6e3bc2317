import type { discovery } from '@millwright/api/discovery.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { endRun, keepUpload } from './ingesting.ts'
import { tellRun } from './running.ts'
import { findDiscovery, findRun, noteRun } from './store.ts'

type Names = 'recordUpload' | 'noteRun' | 'endRun'

/** What the gatekeeper tells about the work of gateways. */
export function runHandlers(context: Context): Pick<Handlers<typeof discovery>, Names> {
  const { database } = context
  return {
    async recordUpload({ params: { id }, body: { data } }, caller) {
      const { gatewayId, jobId, lease, sequence, assets, errors, uses = [] } = data
      const tried = uses.length === 0 ? {} : { tried: { jobId, uses } }
      await requireOwn(context, caller, { runId: id, gatewayId })
      await keepUpload(context, caller, { place: { runId: id, lease, sequence }, upload: { assets, errors, ...tried } })
      return answer(202, { data: { accepted: assets.length } })
    },

    async noteRun({ params: { id }, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const run = await noteRun(tx, id, data)
        if (run !== undefined) await tellRun(tx, 'progressed', run)
        return answer(204)
      })
    },

    async endRun({ params: { id }, body: { data } }, caller) {
      await endRun(context, caller, { runId: id, ending: data.state, message: data.message })
      return { data: { state: data.state } }
    },
  }
}

async function requireOwn(
  { database }: Context,
  caller: Caller,
  { runId, gatewayId }: { runId: string; gatewayId: string },
): Promise<void> {
  const found = await database.read(caller, async (handle) => {
    const run = await findRun(handle, runId)
    return run === undefined ? undefined : findDiscovery(handle, run.discoveryId)
  })
  if (found?.gatewayId !== gatewayId) throw new Problem('not_found', `There is no run ${runId} of this gateway`)
}
