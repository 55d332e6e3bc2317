import { platformClient } from '@millwright/api/built-in-workflows.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { workflows } from '@millwright/api/workflows.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { builtInWorkflows } from './built-in.ts'
import { changesJob, statusOf } from './job.ts'
import { changeStatus, createJob } from './job-change.ts'
import { findJobs, lockJob, lockReports } from './job-store.ts'
import { pathBetween } from './transition.ts'

/**
 * Handlers with which the services for imports, exports, remote access and updates show their work as jobs. A report is idempotent:
 * the first report creates the job, an equal or late report changes nothing, and a final job does not change. If a report
 * was lost, the next one also moves the job through the states between them. The services record their operations in the
 * audit trail themselves.
 */
export function platformJobHandlers({
  database,
}: Context): Pick<Handlers<typeof workflows>, 'putPlatformJob' | 'putClientJob' | 'readJobs'> {
  return {
    /** Creates a job of a built-in workflow once, although the service that needs it may crash and repeat the request. */
    async putClientJob({ params: { id }, body: { data } }, caller) {
      const { workflow: name, ...job } = data
      const workflow = builtInWorkflows.get(name)
      if (workflow === undefined) throw new Problem('invalid_reference', `The workflow ${name} is not built in`)
      return database.transaction(caller, async (tx) => {
        await lockReports(tx, id)
        const row = (await lockJob(tx, id)) ?? (await createJob(tx, workflow, { id, ...job }))
        return { data: { state: row.state, isFinal: row.isFinal } }
      })
    },

    async readJobs({ body: { data } }, caller) {
      const rows = await database.read(caller, (handle) => findJobs(handle, data.ids))
      const now = Date.now()
      return {
        data: rows.map((row) => ({
          id: row.id,
          isFinal: row.isFinal,
          isLeased: row.leaseUntil !== null && Date.parse(row.leaseUntil) > now,
          status: statusOf(row),
        })),
      }
    },

    async putPlatformJob({ params: { id }, body: { data } }, caller) {
      const { workflow: name, principalId, definition, state, progress, message } = data
      const workflow = builtInWorkflows.get(name)
      if (workflow === undefined) throw new TypeError(`The workflow ${name} is not built in`)
      return database.transaction(caller, async (tx) => {
        await lockReports(tx, id)
        let row =
          (await lockJob(tx, id)) ??
          (await createJob(tx, workflow, { id, clientId: platformClient, principalId, definition, tags: [] }))
        const report = { clientId: platformClient, progress, message }
        // A report can arrive after a later one. The states of the platform's workflows have no cycles.
        const path = pathBetween(workflow, row.state, state)
        if (row.isFinal || path === undefined || !changesJob(row, state, report)) return { data: { state: row.state } }
        for (const next of path) row = await changeStatus(tx, { row, workflow, state: next, report })
        return { data: { state: row.state } }
      })
    },
  }
}
