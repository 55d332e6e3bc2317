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
        const before = await database.read(caller, async (handle) => {
          const latest = (await findDiscovery(handle, job.key))?.latestRunId ?? null
          return latest === null ? undefined : findRun(handle, latest)
        })
        const isSettled = await settleRun(context, caller, before)
        await database.transaction(caller, async (tx) => {
          const discovery = await lockDiscovery(tx, job.key)
          if (discovery !== undefined) {
            const latest = discovery.latestRunId === null ? undefined : await findRun(tx, discovery.latestRunId)
            const isUnderWay = isActive(latest) && !(isSettled && latest?.id === before?.id)
            // One scan of a discovery at a time: what comes due meanwhile is missed, and counted.
            if (isUnderWay) await countMissed(tx, discovery.id)
            else await beginRun(context, tx, { discoveryId: discovery.id, cause: 'schedule' })
          }
          await job.complete(tx)
        })
      },
    },
  }
}
