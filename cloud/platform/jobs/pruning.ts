import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../database/id.ts'
import { forgetRetiredDataKeys } from '../secrets/key-store.ts'
import type { JobKinds } from './job.ts'
import * as store from './store.ts'

const hourMs = 3_600_000
const requestsKeptMs = 24 * hourMs
const failedJobsKeptMs = 30 * 24 * hourMs
/** Whoever read a sealed value just before it was sealed anew has long opened it. */
const retiredKeysKeptMs = hourMs
const batch = 1_000

/** Forgets answered requests after a day, failed jobs after a month, and keys an hour after nothing is sealed with them. */
export function pruningJobs({ database }: { database: Database }): JobKinds {
  return {
    'platform.prune': {
      standing: { everyMs: hourMs, pending: store.pruneable },
      async run({ tenantId, signal }) {
        await repeat(signal, () =>
          database.transaction({ tenantId }, (tx) =>
            store.pruneRequests(tx, { olderThanMs: requestsKeptMs, limit: batch }),
          ),
        )
        await repeat(signal, () => {
          const before = lowestIdAt(Date.now() - failedJobsKeptMs)
          return database.transaction({ tenantId }, (tx) => store.pruneFailed(tx, { before, limit: batch }))
        })
        await database.transaction({ tenantId }, (tx) => forgetRetiredDataKeys(tx, retiredKeysKeptMs / 1000))
      },
    },
  }
}

/** Batch after batch, so that no transaction is long. */
async function repeat(signal: AbortSignal, prune: () => Promise<number>): Promise<void> {
  while (!signal.aborted && (await prune()) === batch);
}
