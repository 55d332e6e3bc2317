import { pruneTokens } from '../../platform/access/token-store.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { prune, somethingExpired } from './store.ts'

const everyMs = 10 * 60_000

/** Deletes expired sessions, codes, tokens, revocations, used proofs and counters of failed sign-ins. */
export function pruningTasks({ database }: Pick<Context, 'database'>): TaskKinds {
  return {
    'identity.prune': {
      periodic: { everyMs, pending: somethingExpired },
      async run(job) {
        await database.transaction({ tenantId: job.tenantId }, async (tx) => {
          await prune(tx)
          await pruneTokens(tx)
          await job.complete(tx)
        })
      },
    },
  }
}
