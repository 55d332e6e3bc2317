import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { highestId, lowestId, lowestIdAt } from '../../../platform/database/id.ts'
import type { Context } from '../../../platform/service.ts'
import type { Task } from '../../../platform/tasks/task.ts'
import { firstAbove, nextLog, type PrunedRows, prune } from './pruning-store.ts'

/** The maximum number of rows that one transaction deletes. */
const batch = 1_000
const dayMs = 24 * 60 * 60 * 1_000

/**
 * Deletes old rows of the log of each subscription: successes after some days and above a number, dead letters after the
 * time for which events are kept, and all rows of deleted subscriptions. Events that wait for a retry are kept.
 */
export async function pruneDeliveries({ database }: Pick<Context, 'database'>, task: Task): Promise<void> {
  const { tenantId, signal } = task
  const removeAll = async (subscriptionId: string, rows: PrunedRows, before: string) => {
    for (let after: string = lowestId; !signal.aborted; ) {
      const range = { subscriptionId, after, before, limit: batch }
      const deleted = await database.transaction({ tenantId }, (tx) => prune(tx, rows, range))
      if (deleted.length < batch) return
      after = deleted.toSorted().at(-1) ?? before
    }
  }
  for (let after: string = lowestId; !signal.aborted; ) {
    const from = after
    const log = await database.read({ tenantId }, (handle) => nextLog(handle, from))
    if (log === undefined) return
    const { subscriptionId } = log
    after = subscriptionId
    if (!log.exists) {
      await removeAll(subscriptionId, 'all', highestId)
      continue
    }
    const above = await database.read({ tenantId }, (handle) =>
      firstAbove(handle, subscriptionId, subscriptionLimits.logged),
    )
    const old = lowestIdAt(Date.now() - subscriptionLimits.logDays * dayMs)
    await removeAll(subscriptionId, 'ended', above !== undefined && above > old ? above : old)
    await removeAll(subscriptionId, 'dead letters', lowestIdAt(Date.now() - subscriptionLimits.deadLetterDays * dayMs))
  }
}
