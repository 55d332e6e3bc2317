import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../database/id.ts'
import { forgetRetiredDataKeys } from '../secrets/key-store.ts'
import * as store from './store.ts'
import type { TaskKinds } from './task.ts'

const hourMs = 3_600_000
const requestsKeptMs = 24 * hourMs
const failedTasksKeptMs = 30 * 24 * hourMs
/**
 * How long retired keys are kept. A process may have read a value just before the value was sealed with a new key.
 * The process has opened the value long before this time ends.
 */
const retiredKeysKeptMs = hourMs
const batch = 1_000

/**
 * Creates the task that deletes stored responses after a day, failed tasks after 30 days, and data keys an hour after
 * they are retired.
 */
export function pruningTasks({ database }: { database: Database }): TaskKinds {
  return {
    'platform.prune': {
      periodic: { everyMs: hourMs, pending: store.pruneable },
      async run({ tenantId, signal }) {
        await repeat(signal, () =>
          database.transaction({ tenantId }, (tx) =>
            store.pruneRequests(tx, { olderThanMs: requestsKeptMs, limit: batch }),
          ),
        )
        await repeat(signal, () => {
          const before = lowestIdAt(Date.now() - failedTasksKeptMs)
          return database.transaction({ tenantId }, (tx) => store.pruneFailed(tx, { before, limit: batch }))
        })
        await database.transaction({ tenantId }, (tx) => forgetRetiredDataKeys(tx, retiredKeysKeptMs / 1000))
      },
    },
  }
}

/** Repeats `prune` in batches, so that each transaction is short. */
async function repeat(signal: AbortSignal, prune: () => Promise<number>): Promise<void> {
  while (!signal.aborted && (await prune()) === batch);
}
