import { jobs } from '@millwright/api/jobs.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { streamHeaders } from '../../platform/events/message.ts'
import { startOf } from '../../platform/events/position.ts'
import { openStream } from '../../platform/events/stream.ts'
import { answer, service } from '../../platform/service.ts'
import { jobMessage, jobSelection } from './job-message.ts'

/** All jobs of the tenant in one place, whatever their type. It keeps nothing: they are the workflow engine's. */
export const jobsService = service({
  contract: jobs,
  handlers(context) {
    // Who may read jobs was decided at the door; what is asked for there only services may ask.
    const engine = (caller: Caller) => context.peers(workflows, { ...systemCaller(caller), request: caller.request })
    return {
      async listJobs({ query }, caller) {
        return engine(caller).browseJobs({ query })
      },

      async getJob({ params }, caller) {
        return engine(caller).inspectJob({ params })
      },

      async streamJobs({ query, headers }, caller) {
        const selects = jobSelection(query)
        const stream = await openStream(context, context.feed, {
          caller,
          after: startOf(headers['last-event-id'], undefined),
          tell: (messages, holder) =>
            may(holder, 'glb_jobs_read') ? messages.filter(selects).map(jobMessage).join('') : '',
        })
        return answer(200, stream, streamHeaders)
      },
    }
  },
})
