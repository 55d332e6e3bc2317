import { Problem } from '@millwright/api/problem.ts'
import type { Database, Handle } from '../../../platform/database/database.ts'
import type { TaskKinds } from '../../../platform/tasks/tasks.ts'
import * as store from './retention-store.ts'

/** The topic that makes a changed retention count at once. */
export const retentionTopic = 'inventory.retention'

const everyMs = 3_600_000
/** How much one transaction forgets: changes of assets, each found by itself, and rows that lie side by side. */
const batch = { changes: 200, rows: 1_000 } as const

/** Times that are before what is kept are refused: what was then would be told wrong. */
export async function requireKept(handle: Handle, ...times: readonly (string | undefined)[]): Promise<void> {
  const earliest = times.filter((time) => time !== undefined).toSorted()[0]
  if (earliest === undefined) return
  const from = await store.findHistoryFromAfter(handle, earliest)
  if (from === undefined) return
  throw new Problem('history_gone', `The past is kept from ${from} on; what was at ${earliest} is not known any more`)
}

type Forgetting = { tenantId: string; now: Date; signal: AbortSignal }

/**
 * Forgets what the tenant does not want to be kept any more. First nobody is told it any more, then it is deleted, a
 * little in each transaction: what was not come to is come to the next time.
 */
export async function forgetPast(database: Database, { tenantId, now, signal }: Forgetting): Promise<void> {
  const scope = { tenantId }
  const until = await database.transaction(scope, (tx) => store.moveHistoryFrom(tx, now.toISOString()))
  if (until === undefined) return
  await repeat(signal, () =>
    database.transaction(scope, async (tx) => {
      const after = await store.lockPrunedTo(tx)
      const end = await store.endOfStretch(tx, { after, until, changes: batch.changes })
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
      periodic: { everyMs, wakeOn: retentionTopic, pending: store.forgetful },
      async run({ tenantId, signal }) {
        await forgetPast(database, { tenantId, now: new Date(), signal })
      },
    },
  }
}
