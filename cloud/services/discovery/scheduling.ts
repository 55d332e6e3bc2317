import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { JobKinds } from '../../platform/jobs/jobs.ts'
import type { Context } from '../../platform/service.ts'
import { isActive } from './discovery.ts'
import { beginRun, systemOf } from './running.ts'
import { settleRun } from './settling.ts'
import { countMissed, findDiscovery, findRun, lockDiscovery } from './store.ts'

/** The kind under which the platform keeps the schedules of discoveries. */
export const scheduleKind = 'discovery.scheduled'

export function schedulingJobs(context: Context): JobKinds {
  const { database } = context
  return {
    [scheduleKind]: {
      async run(job) {
        const caller = await systemOf(context, job.tenantId)
        const { gatewayId, before } = await database.read(caller, async (handle) => {
          const found = await findDiscovery(handle, job.key)
          const latest = found?.latestRunId ?? null
          return { gatewayId: found?.gatewayId, before: latest === null ? undefined : await findRun(handle, latest) }
        })
        const isSettled = await settleRun(context, caller, before)
        const isSentAway = gatewayId !== undefined && (await isGatewaySentAway(context, caller, gatewayId))
        await database.transaction(caller, async (tx) => {
          const discovery = await lockDiscovery(tx, job.key)
          if (discovery !== undefined) {
            const latest = discovery.latestRunId === null ? undefined : await findRun(tx, discovery.latestRunId)
            const isUnderWay = isActive(latest) && !(isSettled && latest?.id === before?.id)
            // One scan of a discovery at a time, and none for nobody: what comes due meanwhile is missed, and counted.
            if (isUnderWay || isSentAway) await countMissed(tx, discovery.id)
            else await beginRun(context, tx, { discoveryId: discovery.id, cause: 'schedule' })
          }
          await job.complete(tx)
        })
      },
    },
  }
}

/** A gateway that was revoked or deleted never comes for its jobs; one that is only away does. */
async function isGatewaySentAway(context: Context, caller: Caller, id: string): Promise<boolean> {
  try {
    const { data } = await context.peers(onboarding, caller).resolveGateway({ params: { id } })
    return data.state === 'revoked'
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return true
    throw error
  }
}
