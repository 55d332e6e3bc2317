import type { workflows } from '@millwright/api/workflows.ts'
import { may } from '../../platform/access/rights.ts'
import type { Scope } from '../../platform/database/database.ts'
import { streamHeaders } from '../../platform/events/message.ts'
import { startOf } from '../../platform/events/position.ts'
import { openStream } from '../../platform/events/stream.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { engineMessage, eventFilter, type JobEvent, jobEventsIn, needsJob } from './job-event.ts'
import { findJobs } from './job-store.ts'
import { several } from './several.ts'
import { isGateway, readingReach } from './side.ts'
import { workflowsOf } from './workflow-lookup.ts'

/** What happens to jobs, as it happens, in the words of the engine. */
export function jobEventHandlers(context: Context): Pick<Handlers<typeof workflows>, 'streamJobEvents'> {
  return {
    async streamJobEvents({ query, headers }, caller) {
      const { clientId } = readingReach(caller)
      const permission = isGateway(caller) ? 'glb_gateway_work' : 'glb_jobs_read'
      const wants = eventFilter(query)
      const tags = several(query.tags) ?? []
      const stream = await openStream(context, context.feed, {
        caller,
        after: startOf(headers['last-event-id'], undefined),
        async tell(messages, holder) {
          if (!may(holder, permission)) return ''
          const told = jobEventsIn(messages).filter(
            ({ data }) => (clientId === undefined || data.job.gatewayId === clientId) && wants(data),
          )
          return written(context, caller, { events: told, tags })
        },
      })
      return answer(200, stream, streamHeaders)
    },
  }
}

type Told = { events: readonly JobEvent[]; tags: readonly string[] }

/** One look at the jobs for all events that need it. */
async function written({ database }: Context, { tenantId }: Scope, { events, tags }: Told): Promise<string> {
  const ids = [...new Set(events.filter(({ data }) => needsJob(data)).map(({ data }) => data.job.id))]
  const known = await database.read({ tenantId }, async (handle) => {
    const rows = ids.length === 0 ? [] : await findJobs(handle, ids)
    const workflow = await workflowsOf(handle, rows)
    return new Map(rows.map((row) => [row.id, { row, workflow: workflow(row) }]))
  })
  return events.map((event) => engineMessage(event, known.get(event.data.job.id), tags)).join('')
}
