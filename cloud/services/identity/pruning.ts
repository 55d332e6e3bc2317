import { pruneTokens } from '../../platform/access/token-store.ts'
import type { JobKinds } from '../../platform/jobs/jobs.ts'
import type { Context } from '../../platform/service.ts'
import { prune, somethingExpired } from './store.ts'

const everyMs = 10 * 60_000

/** Deletes expired sessions, codes, tokens, revocations, used proofs and counters of failed sign-ins. */
export function pruningJobs({ database }: Pick<Context, 'database'>): JobKinds {
  return {
    'identity.prune': {
      standing: { everyMs, pending: somethingExpired },
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
