import { pageLimits } from '@millwright/api/envelope.ts'
import type { workflows } from '@millwright/api/workflows.ts'
import { lowestIdAt } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { anyJob, anyJobInFull } from './job.ts'
import { countJobs, listJobs } from './job-list-store.ts'
import { findJob, listPast } from './job-store.ts'
import { reached } from './side.ts'

/** Jobs for the service that shows all of them, whatever their workflow. */
export function browsingHandlers({ database }: Context): Pick<Handlers<typeof workflows>, 'browseJobs' | 'inspectJob'> {
  return {
    async browseJobs({ query: { limit = pageLimits.default, offset = 0, since, tag, ...query } }, caller) {
      const selection = {
        workflow: query.type,
        clientId: query.gatewayId,
        phase: query.phase,
        tags: tag === undefined ? [] : [tag],
        fromId: since === undefined ? undefined : lowestIdAt(Date.parse(since)),
      }
      return database.read(caller, async (handle) => {
        const rows = await listJobs(handle, selection, { limit, offset, newestFirst: true })
        const totalElements = await countJobs(handle, selection)
        return { data: rows.map(anyJob), meta: { totalElements, elements: rows.length, offset } }
      })
    },

    async inspectJob({ params: { id } }, caller) {
      return database.read(caller, async (handle) => {
        const row = reached(id, await findJob(handle, id), { clientId: undefined })
        return { data: anyJobInFull(row, await listPast(handle, row.id)) }
      })
    },
  }
}
