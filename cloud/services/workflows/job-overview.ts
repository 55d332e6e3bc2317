import type { BuiltInWorkflowName } from '@millwright/api/built-in-workflows.ts'
import { pageLimits } from '@millwright/api/envelope.ts'
import type { workflows } from '@millwright/api/workflows.ts'
import { lowestIdAt } from '../../platform/database/id.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { anyJob, anyJobInFull, type JobRow } from './job.ts'
import { readAccess, requireJob, visibleTo } from './job-access.ts'
import { countByTag, countJobs, listJobs } from './job-list-store.ts'
import { findJob, listPast } from './job-store.ts'
import { subjectOf } from './job-subject.ts'
import { namesHidden, redacted, redactedWithPast } from './redaction.ts'

/** Handlers for the `jobs` service, which shows the jobs of all workflows. */
export function jobOverviewHandlers(context: Context): Pick<Handlers<typeof workflows>, 'browseJobs' | 'inspectJob'> {
  const { database } = context
  return {
    async browseJobs(
      {
        query: {
          limit = pageLimits.default,
          offset = 0,
          since,
          tag,
          grouped = false,
          withoutMonitoring = false,
          ...query
        },
      },
      caller,
    ) {
      if (await namesHidden(context, caller, tag)) return { data: [], meta: { totalElements: 0, elements: 0, offset } }
      const access = await readAccess(context, caller)
      // The job of a campaign has its own type, state, time and gateway, so these filters would hide it, but not the jobs of its
      // devices. A caller that cannot read all gateways would not see the job of a campaign that another user started.
      const isFiltered = [since, tag, query.type, query.phase, query.gatewayId].some((value) => value !== undefined)
      const isGrouped = grouped && !isFiltered && access.clientIds === undefined
      const selection = {
        workflow: query.type,
        withoutDeviceJobs: isGrouped,
        withoutMonitoring: withoutMonitoring && !isFiltered,
        clientId: query.gatewayId,
        visibleTo: visibleTo(access),
        phase: query.phase,
        tags: tag === undefined ? [] : [tag],
        fromId: since === undefined ? undefined : lowestIdAt(Date.parse(since)),
      }
      const { rows, totalElements, parts } = await database.read(caller, async (handle) => {
        const listed = await listJobs(handle, selection, { limit, offset, newestFirst: true })
        const campaigns = isGrouped ? listed.flatMap((row) => campaignTag(row) ?? []) : []
        return {
          rows: listed,
          totalElements: await countJobs(handle, selection),
          parts: await countByTag(handle, campaigns, deviceWorkflow),
        }
      })
      const shown = await redacted(context, caller, rows)
      const data = shown.map((row) => {
        const ofDevices = parts.get(campaignTag(row) ?? '')
        return { ...jobWithSubject(row), ...(ofDevices === undefined ? {} : { parts: ofDevices }) }
      })
      return { data, meta: { totalElements, elements: rows.length, offset } }
    },

    async inspectJob({ params: { id } }, caller) {
      const access = await readAccess(context, caller)
      const job = await database.read(caller, async (handle) => {
        const row = requireJob(id, await findJob(handle, id), access)
        const tag = access.clientIds === undefined ? campaignTag(row) : undefined
        const parts = tag === undefined ? undefined : (await countByTag(handle, [tag], deviceWorkflow)).get(tag)
        return { row, parts, past: await listPast(handle, row.id) }
      })
      const { row, past } = await redactedWithPast(context, caller, job)
      const parts = job.parts === undefined ? {} : { parts: job.parts }
      return { data: { ...anyJobInFull(row, past), ...subjectField(row), ...parts } }
    },
  }
}

/** The workflow of the jobs that update the devices of a campaign. */
const deviceWorkflow: BuiltInWorkflowName = 'artefact-update'

/** Returns the tag of the jobs of a campaign's devices, if the job is that of a campaign. */
function campaignTag({ workflow, definition: { campaignId } }: JobRow): string | undefined {
  return workflow === 'update-campaign' && typeof campaignId === 'string' ? `campaign/${campaignId}` : undefined
}

function jobWithSubject(row: JobRow) {
  return { ...anyJob(row), ...subjectField(row) }
}

function subjectField(row: JobRow) {
  const subject = subjectOf(row)
  return subject === undefined ? {} : { subject }
}
