import { type AnyJob, jobs } from '@millwright/api/jobs.ts'
import { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import { hiddenAssets, idsIn, readableGateways } from '../../platform/asset-visibility.ts'
import { streamHeaders } from '../../platform/events/message.ts'
import { startOf } from '../../platform/events/position.ts'
import type { EventRow } from '../../platform/events/store.ts'
import { openStream } from '../../platform/events/stream.ts'
import { answer, type Context, service } from '../../platform/service.ts'
import { jobMessage, jobSelection } from './job-message.ts'
import { withScanResults } from './scan-results.ts'
import { withNames } from './subject-names.ts'

/** The service that lists all jobs of the tenant, of every type. The workflow engine stores the jobs. */
export const jobsService = service({
  contract: jobs,
  handlers(context) {
    return {
      async listJobs({ query }, caller) {
        const { data, meta } = await context.peers(workflows, caller).browseJobs({ query })
        return { data: await described(context, caller, data), meta }
      },

      async getJob({ params }, caller) {
        const { data } = await context.peers(workflows, caller).inspectJob({ params })
        const [job = data] = await described(context, caller, [data])
        return { data: job }
      },

      async streamJobs({ query, headers }, caller) {
        const selects = jobSelection(query)
        const stream = await openStream(context, context.feed, {
          caller,
          after: startOf(headers['last-event-id'], undefined),
          async format(messages, holder) {
            if (!may(holder, 'glb_jobs_read')) return ''
            const reader = { ...caller, rights: holder.rights }
            return (await readable(context, reader, messages.filter(selects))).map(jobMessage).join('')
          },
        })
        return answer(200, stream, streamHeaders)
      },
    }
  },
})

/** Adds what other services know about jobs: the names of their subjects, and the results of scans. */
async function described<Job extends AnyJob>(context: Context, caller: Caller, jobs: readonly Job[]): Promise<Job[]> {
  return withScanResults(context, caller, await withNames(context, caller, jobs))
}

/** Returns the events that name no hidden asset and whose job belongs to a readable gateway or to the caller. */
async function readable<Event extends Pick<EventRow, 'data'>>(
  context: Context,
  caller: Caller,
  events: readonly Event[],
): Promise<readonly Event[]> {
  const gateways = events.length === 0 ? null : await readableGateways(context, caller)
  if (gateways === null) return events
  const theirs = events.filter(
    ({ data }) => gateways.includes((data.job as AnyJob).gatewayId) || data.principalId === caller.principal.id,
  )
  const hidden = await hiddenAssets(context, caller, idsIn(theirs))
  return theirs.filter((event) => !idsIn(event).some((id) => hidden.has(id)))
}
