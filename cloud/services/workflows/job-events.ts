import type { workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import { readsAllAssets } from '../../platform/asset-visibility.ts'
import { streamHeaders } from '../../platform/events/message.ts'
import { startOf } from '../../platform/events/position.ts'
import { openStream } from '../../platform/events/stream.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { engineMessage, eventFilter, type JobEvent, jobEventsIn, needsJob } from './job-event.ts'
import { findJobs } from './job-store.ts'
import { hiddenIn } from './redaction.ts'
import { several } from './several.ts'
import { isGateway, reaches, readingReach, requireJobAccess } from './side.ts'
import { workflowsOf } from './workflow-lookup.ts'

/** What happens to jobs, as it happens, in the words of the engine. */
export function jobEventHandlers(context: Context): Pick<Handlers<typeof workflows>, 'streamJobEvents'> {
  return {
    async streamJobEvents({ query, headers }, caller) {
      requireJobAccess(caller)
      const permission = isGateway(caller) ? 'glb_gateway_work' : 'glb_jobs_read'
      const wants = eventFilter(query)
      const tags = several(query.tags) ?? []
      const stream = await openStream(context, context.feed, {
        caller,
        after: startOf(headers['last-event-id'], undefined),
        async tell(messages, holder) {
          if (!may(holder, permission)) return ''
          const wanted = jobEventsIn(messages).filter(({ data }) => wants(data))
          if (wanted.length === 0) return ''
          const reader = { ...caller, rights: holder.rights }
          const reach = await readingReach(context, reader)
          const events = wanted.filter(({ data }) => reaches(reach, data.job.gatewayId))
          return written(context, reader, { events, tags })
        },
      })
      return answer(200, stream, streamHeaders)
    },
  }
}

type PendingEvents = { events: readonly JobEvent[]; tags: readonly string[] }

/** One look at the jobs for all events that need it. Events of jobs that name a hidden asset are not sent. */
async function written(context: Context, reader: Caller, { events, tags }: PendingEvents): Promise<string> {
  const { tenantId } = reader
  const isWhole = isGateway(reader) || readsAllAssets(reader)
  const ids = [...new Set(events.filter(({ data }) => !isWhole || needsJob(data)).map(({ data }) => data.job.id))]
  const known = await context.database.read({ tenantId }, async (handle) => {
    const rows = ids.length === 0 ? [] : await findJobs(handle, ids)
    const workflow = await workflowsOf(handle, rows)
    return new Map(rows.map((row) => [row.id, { row, workflow: workflow(row) }]))
  })
  const named = events.map((event) => [event.data, known.get(event.data.job.id)?.row])
  const hidden = await hiddenIn(context, reader, named)
  return events
    .filter((_, index) => hidden[index]?.length === 0)
    .map((event) => engineMessage(event, known.get(event.data.job.id), tags))
    .join('')
}
