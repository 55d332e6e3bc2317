import { monitoringLimits } from '@millwright/api/monitoring.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { anyExpired, deleteStates } from './availability-store.ts'
import { advanceRun } from './run-executor.ts'
import { runsTopic } from './run-start.ts'
import { anyDue, listDue, setDue } from './run-store.ts'

/** The background work of monitoring. One process runs the task of a tenant at a time. */

const everyMs = 1_000
/** The shortest pause between two runs of the task, so that many changes cause one run. */
const minPauseMs = 100
const runsPerTask = 20
/** The pause after an error, so that one run does not block the others. */
const errorMs = 5_000
const pruneMs = 3_600_000

export function runTasks(context: Context): TaskKinds {
  const { database, tenants, log } = context
  return {
    'monitoring.runs': {
      periodic: { everyMs, wakeOn: runsTopic, minPauseMs, pending: anyDue },
      async run({ tenantId, signal }) {
        const system = systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
        const now = new Date().toISOString()
        const ids = await database.read(system, (handle) => listDue(handle, now, runsPerTask))
        for (const id of ids) {
          if (signal.aborted) return
          await advanceRun(context, system, { id, signal }).catch(async (error: unknown) => {
            log.error({ error, run: id }, 'A monitoring run could not be continued')
            const later = new Date(Date.now() + errorMs).toISOString()
            await database.transaction(system, (tx) => setDue(tx, id, later))
          })
        }
      },
    },
    'monitoring.prune-availability': {
      periodic: { everyMs: pruneMs, pending: anyExpired },
      async run(task) {
        const before = new Date(Date.now() - monitoringLimits.availabilityDays * 86_400_000).toISOString()
        await database.transaction({ tenantId: task.tenantId }, async (tx) => {
          await deleteStates(tx, before)
          await task.complete(tx)
        })
      },
    },
  }
}
