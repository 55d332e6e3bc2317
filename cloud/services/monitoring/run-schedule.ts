import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { countMissed, lockMonitoring } from './monitoring-store.ts'
import { beginRun, isActive } from './run-start.ts'
import { findRun } from './run-store.ts'

/** The kind of the scheduled tasks that start runs. */
export const scheduleKind = 'monitoring.scheduled'

/** Starts a run by schedule. A run that is due while another one is active is skipped and counted. */
export function runScheduleTasks({ database }: Pick<Context, 'database'>): TaskKinds {
  return {
    [scheduleKind]: {
      async run(task) {
        await database.transaction({ tenantId: task.tenantId }, async (tx) => {
          const row = await lockMonitoring(tx, task.key)
          if (row !== undefined) {
            const latest = row.latestRunId === null ? undefined : await findRun(tx, row.latestRunId)
            if (isActive(latest)) await countMissed(tx, row.id)
            else await beginRun(tx, { monitoringId: row.id, cause: 'schedule', startedBy: null })
          }
          await task.complete(tx)
        })
      },
    },
  }
}
