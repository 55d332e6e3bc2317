import { workflowLimits, workflows } from '@millwright/api/workflows.ts'
import { type Handlers, service } from '../../platform/service.ts'
import { jobEventHandlers } from './job-events.ts'
import { jobOverviewHandlers } from './job-overview.ts'
import { anyOver, pruneJobs } from './job-store.ts'
import { jobHandlers } from './jobs.ts'
import { leaseHandlers } from './leases.ts'
import { platformJobHandlers } from './platform-jobs.ts'
import { withResponseFilters } from './response-filter-handlers.ts'
import { Waiters } from './waiters.ts'
import { workflowHandlers } from './workflows.ts'

const pruning = { everyMs: 3_600_000, batch: 500 } as const

/** The workflow engine: workflows are data, and jobs are their instances. Agents on the shop floor use it. */
export const workflowsService = service({
  contract: workflows,
  migrations: { module: 'workflows', folder: new URL('./migrations/', import.meta.url) },
  handlers(context): Handlers<typeof workflows> {
    return withResponseFilters({
      ...aboutHandlers(),
      ...workflowHandlers(context),
      ...jobHandlers(context),
      ...jobEventHandlers(context),
      ...leaseHandlers(context, new Waiters(context)),
      ...jobOverviewHandlers(context),
      ...platformJobHandlers(context),
    })
  },
  tasks({ database }) {
    return {
      'workflows.prune': {
        periodic: { everyMs: pruning.everyMs, pending: anyOver },
        async run({ tenantId, signal }) {
          const { keptDays: days } = workflowLimits
          const prune = () => database.transaction({ tenantId }, (tx) => pruneJobs(tx, { days, limit: pruning.batch }))
          while (!signal.aborted && (await prune()) === pruning.batch);
        },
      },
    }
  },
})

function aboutHandlers(): Pick<Handlers<typeof workflows>, 'getHealth' | 'getVersion'> {
  return {
    async getHealth() {
      return { status: 'up' }
    },

    async getVersion() {
      return { apiVersion: 'v1', version: workflows.version }
    },
  }
}
