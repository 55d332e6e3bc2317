import type { JobKinds } from '../../platform/jobs/jobs.ts'
import type { Context } from '../../platform/service.ts'
import { prune, somethingExpired } from './store.ts'

const everyMs = 10 * 60_000

/** Sessions, codes and refresh tokens that have expired are not looked at any more; this makes them go away. */
export function pruningJobs({ database }: Pick<Context, 'database'>): JobKinds {
  return {
    'identity.prune': {
      standing: { everyMs, pending: somethingExpired },
      async run(job) {
        await database.transaction({ tenantId: job.tenantId }, async (tx) => {
          await prune(tx)
          await job.complete(tx)
        })
      },
    },
  }
}
