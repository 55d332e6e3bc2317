import { updateLimits } from '@millwright/api/updates.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { campaignsTopic } from './campaign-report.ts'
import { anyDue, anyExpired, deleteCampaign, listDue, nextExpired, postpone } from './campaign-store.ts'
import { deleteDevices } from './device-store.ts'
import { advanceCampaign } from './executor.ts'

/**
 * The background work of campaigns. The task of a tenant runs after each change and at an interval, and continues the
 * campaigns that are due. One process runs the task of a tenant at a time.
 */

const everyMs = 1_000
/** The shortest pause between two runs, so that many changes cause one run. */
const minPauseMs = 100
const campaignsPerRun = 20
/** The pause after an error, so that one campaign does not block the others. */
const errorMs = 5_000
const pruneMs = 3_600_000

export function campaignTasks(context: Context): TaskKinds {
  const { database, log } = context
  return {
    'updates.campaigns': {
      periodic: { everyMs, wakeOn: campaignsTopic, minPauseMs, pending: anyDue },
      async run({ tenantId, signal }) {
        const now = new Date().toISOString()
        const ids = await database.read({ tenantId }, (handle) => listDue(handle, now, campaignsPerRun))
        for (const id of ids) {
          if (signal.aborted) return
          await advanceCampaign(context, { tenantId, id, signal }).catch(async (error: unknown) => {
            log.error({ error, campaign: id }, 'A campaign could not be continued')
            const later = new Date(Date.now() + errorMs).toISOString()
            await database.transaction({ tenantId }, (tx) => postpone(tx, id, later))
          })
        }
      },
    },
    'updates.prune-campaigns': {
      periodic: { everyMs: pruneMs, pending: anyExpired },
      async run({ tenantId, signal }) {
        const before = new Date(Date.now() - updateLimits.campaignDays * 86_400_000).toISOString()
        while (!signal.aborted) {
          const id = await database.read({ tenantId }, (handle) => nextExpired(handle, before))
          if (id === undefined) return
          await database.transaction({ tenantId }, async (tx) => {
            await deleteDevices(tx, id)
            await deleteCampaign(tx, id)
          })
        }
      },
    },
  }
}
