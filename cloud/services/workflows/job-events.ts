import type { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import { readsAllAssets } from '../../platform/asset-visibility.ts'
import { streamHeaders } from '../../platform/events/message.ts'
import { startOf } from '../../platform/events/position.ts'
import { openStream } from '../../platform/events/stream.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { canAccess, isGateway, readAccess, requireJobAccess } from './job-access.ts'
import { engineMessage, eventFilter, type JobEvent, jobEventsIn, needsJob } from './job-event.ts'
import { findJobs } from './job-store.ts'
import { listParameter } from './list-parameter.ts'
import { hiddenIn } from './redaction.ts'
import { workflowsOf } from './workflow-lookup.ts'

/** Handlers for the stream of job events in the format of wfx. */
export function jobEventHandlers(context: Context): Pick<Handlers<typeof workflows>, 'streamJobEvents'> {
  return {
    async streamJobEvents({ query, headers }, caller) {
      requireJobAccess(caller)
      const permission = isGateway(caller) ? 'glb_gateway_work' : 'glb_jobs_read'
      const matches = eventFilter(query)
      const tags = listParameter(query.tags) ?? []
      const stream = await openStream(context, context.feed, {
        caller,
        after: startOf(headers['last-event-id'], undefined),
        async format(messages, holder) {
          if (!may(holder, permission)) return ''
          const matching = jobEventsIn(messages).filter(({ data }) => matches(data))
          if (matching.length === 0) return ''
          const reader = { ...caller, rights: holder.rights }
          const access = await readAccess(context, reader)
          const events = matching.filter(({ data }) =>
            canAccess(access, { clientId: data.job.gatewayId, principalId: data.principalId }),
          )
          return formatEvents(context, reader, { events, tags })
        },
      })
      return answer(200, stream, streamHeaders)
    },
  }
}

type PendingEvents = { events: readonly JobEvent[]; tags: readonly string[] }

/**
 * Formats events for the stream. One query reads all jobs that the events need. An event is left out if the event or
 * its job names a hidden asset.
 */
async function formatEvents(context: Context, reader: Caller, { events, tags }: PendingEvents): Promise<string> {
  const { tenantId } = reader
  const readsEverything = isGateway(reader) || readsAllAssets(reader)
  const ids = [
    ...new Set(events.filter(({ data }) => !readsEverything || needsJob(data)).map(({ data }) => data.job.id)),
  ]
  const jobs = await context.database.read({ tenantId }, async (handle) => {
    const rows = ids.length === 0 ? [] : await findJobs(handle, ids)
    const workflow = await workflowsOf(handle, rows)
    return new Map(rows.map((row) => [row.id, { row, workflow: workflow(row) }]))
  })
  const named = events.map((event) => [event.data, jobs.get(event.data.job.id)?.row])
  const hidden = await hiddenIn(context, reader, named)
  return events
    .filter((_, index) => hidden[index]?.length === 0)
    .map((event) => engineMessage(event, jobs.get(event.data.job.id), tags))
    .join('')
}
