import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { isActive } from './discovery.ts'
import { incompatibility } from './link.ts'
import { findLink } from './link-store.ts'
import { settleRun } from './run-settlement.ts'
import { beginRun, systemOf } from './run-start.ts'
import { countMissed, type DiscoveryRow, findDiscovery, findRun, lockDiscovery } from './store.ts'

/** The kind of the scheduled tasks that start discovery runs. */
export const scheduleKind = 'discovery.scheduled'

export function runScheduleTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    [scheduleKind]: {
      async run(job) {
        const caller = await systemOf(context, job.tenantId)
        const { discoveryRow, before } = await database.read(caller, async (handle) => {
          const discoveryRow = await findDiscovery(handle, job.key)
          const latest = discoveryRow?.latestRunId ?? null
          return { discoveryRow, before: latest === null ? undefined : await findRun(handle, latest) }
        })
        const isSettled = await settleRun(context, caller, before)
        const isBlocked = discoveryRow !== undefined && (await cannotRun(context, caller, discoveryRow))
        await database.transaction(caller, async (tx) => {
          const discovery = await lockDiscovery(tx, job.key)
          if (discovery !== undefined) {
            const latest = discovery.latestRunId === null ? undefined : await findRun(tx, discovery.latestRunId)
            const isUnderWay = isActive(latest) && !(isSettled && latest?.id === before?.id)
            // A run counts as missed if it is due while another run is active, or if the gateway cannot execute it.
            if (isUnderWay || isBlocked) await countMissed(tx, discovery.id)
            else await beginRun(context, tx, { discoveryId: discovery.id, cause: 'schedule' })
          }
          await job.complete(tx)
        })
      },
    },
  }
}

/**
 * Returns whether the gateway can never execute the run: the gateway is revoked or deleted, or it cannot use the link.
 */
async function cannotRun(context: Context, caller: Caller, { gatewayId, assetLinkId }: DiscoveryRow): Promise<boolean> {
  try {
    const { data } = await context.peers(onboarding, caller).resolveGateway({ params: { id: gatewayId } })
    const link = await context.database.read(caller, (handle) => findLink(handle, gatewayId, assetLinkId))
    const isIncompatible = link !== undefined && incompatibility(link.report.interfaces, data.version) !== undefined
    return data.state === 'revoked' || isIncompatible
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return true
    throw error
  }
}
