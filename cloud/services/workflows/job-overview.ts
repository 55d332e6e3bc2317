import { pageLimits } from '@millwright/api/envelope.ts'
import type { workflows } from '@millwright/api/workflows.ts'
import { lowestIdAt } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { anyJob, anyJobInFull, type JobRow } from './job.ts'
import { readAccess, requireJob, visibleTo } from './job-access.ts'
import { countJobs, listJobs } from './job-list-store.ts'
import { findJob, listPast } from './job-store.ts'
import { subjectOf } from './job-subject.ts'
import { namesHidden, redacted, redactedWithPast } from './redaction.ts'

/** Handlers for the `jobs` service, which shows the jobs of all workflows. */
export function jobOverviewHandlers(context: Context): Pick<Handlers<typeof workflows>, 'browseJobs' | 'inspectJob'> {
  const { database } = context
  return {
    async browseJobs({ query: { limit = pageLimits.default, offset = 0, since, tag, ...query } }, caller) {
      if (await namesHidden(context, caller, tag)) return { data: [], meta: { totalElements: 0, elements: 0, offset } }
      const access = await readAccess(context, caller)
      const selection = {
        workflow: query.type,
        clientId: query.gatewayId,
        visibleTo: visibleTo(access),
        phase: query.phase,
        tags: tag === undefined ? [] : [tag],
        fromId: since === undefined ? undefined : lowestIdAt(Date.parse(since)),
      }
      const { rows, totalElements } = await database.read(caller, async (handle) => ({
        rows: await listJobs(handle, selection, { limit, offset, newestFirst: true }),
        totalElements: await countJobs(handle, selection),
      }))
      const shown = await redacted(context, caller, rows)
      return { data: shown.map(jobWithSubject), meta: { totalElements, elements: rows.length, offset } }
    },

    async inspectJob({ params: { id } }, caller) {
      const access = await readAccess(context, caller)
      const job = await database.read(caller, async (handle) => {
        const row = requireJob(id, await findJob(handle, id), access)
        return { row, past: await listPast(handle, row.id) }
      })
      const { row, past } = await redactedWithPast(context, caller, job)
      return { data: { ...anyJobInFull(row, past), ...subjectField(row) } }
    },
  }
}

function jobWithSubject(row: JobRow) {
  return { ...anyJob(row), ...subjectField(row) }
}

function subjectField(row: JobRow) {
  const subject = subjectOf(row)
  return subject === undefined ? {} : { subject }
}
