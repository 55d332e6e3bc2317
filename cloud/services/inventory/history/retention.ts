import { Problem } from '@millwright/api/problem.ts'
import type { Database, Handle } from '../../../platform/database/database.ts'
import type { TaskKinds } from '../../../platform/tasks/tasks.ts'
import * as store from './retention-store.ts'

/** The topic that starts the retention run at once after the setting has changed. */
export const retentionTopic = 'inventory.retention'

const everyMs = 3_600_000
/** The limits of one transaction: the number of changes of assets, and the number of other rows that are deleted. */
const batch = { changes: 200, rows: 1_000 } as const

/** Refuses times before the start of the retained history, because the answer would be incomplete. */
export async function requireRetained(handle: Handle, ...times: readonly (string | undefined)[]): Promise<void> {
  const earliest = times.filter((time) => time !== undefined).toSorted()[0]
  if (earliest === undefined) return
  const from = await store.findHistoryFromAfter(handle, earliest)
  if (from === undefined) return
  throw new Problem(
    'history_gone',
    `History before ${from} has been deleted, so the state at ${earliest} is not available`,
  )
}

type RetentionOptions = { tenantId: string; now: Date; signal: AbortSignal }

/**
 * Deletes history that is older than the tenant's retention period. It first moves the start of the readable history, then
 * deletes in small transactions. The next run deletes the rows that this run does not reach.
 */
export async function deleteExpiredHistory(
  database: Database,
  { tenantId, now, signal }: RetentionOptions,
): Promise<void> {
  const scope = { tenantId }
  const until = await database.transaction(scope, (tx) => store.moveHistoryFrom(tx, now.toISOString()))
  if (until === undefined) return
  await repeat(signal, () =>
    database.transaction(scope, async (tx) => {
      const after = await store.lockPrunedTo(tx)
      const end = await store.findRangeEnd(tx, { after, until, changes: batch.changes })
      if (end !== undefined) await store.clearHistory(tx, { after, until: end })
      return end !== undefined
    }),
  )
  for (const clear of [store.clearMerges, store.clearEnded]) {
    await repeat(signal, () =>
      database.transaction(scope, async (tx) => (await clear(tx, { until, limit: batch.rows })) === batch.rows),
    )
  }
}

async function repeat(signal: AbortSignal, work: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted && (await work()));
}

export function retentionTasks({ database }: { database: Database }): TaskKinds {
  return {
    'inventory.forget': {
      periodic: { everyMs, wakeOn: retentionTopic, pending: store.retentionPending },
      async run({ tenantId, signal }) {
        await deleteExpiredHistory(database, { tenantId, now: new Date(), signal })
      },
    },
  }
}
