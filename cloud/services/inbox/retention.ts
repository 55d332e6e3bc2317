import { inboxLimits } from '@millwright/api/inbox.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { anyDecision, deleteExpired } from './decision-store.ts'
import { deleteOldRuns } from './rule-store.ts'

const everyMs = 3_600_000
const dayMs = 24 * 3_600_000
/** The maximum number of rows of one statement. */
const batch = 1_000

/** Deletes the items of decisions that can no longer be undone, old decisions, and old entries of the log of rules. */
export function retentionTasks({ database }: Context): TaskKinds {
  return {
    'inbox.prune': {
      periodic: { everyMs, pending: anyDecision },
      async run({ tenantId, signal }) {
        const now = new Date().toISOString()
        const before = new Date(Date.now() - inboxLimits.retentionDays * dayMs).toISOString()
        const step = () =>
          database.transaction({ tenantId }, async (tx) => {
            const decisions = await deleteExpired(tx, { now, before, limit: batch })
            return decisions + (await deleteOldRuns(tx, { before, limit: batch }))
          })
        while (!signal.aborted && (await step()) > 0);
      },
    },
  }
}
