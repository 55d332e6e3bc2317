import { platformClient } from '@millwright/api/built-in-workflows.ts'
import type { workflows } from '@millwright/api/workflows.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { builtInWorkflows } from './built-in.ts'
import { changesJob } from './job.ts'
import { changeStatus, createJob } from './job-change.ts'
import { lockJob, lockReports } from './job-store.ts'
import { firstState, moved } from './transition.ts'

/**
 * Handlers with which the import and export services show their work as jobs. A report is idempotent: the first report
 * creates the job, an equal or late report changes nothing, and a final job does not change. The services record their operations
 * in the audit trail themselves.
 */
export function fileJobHandlers({ database }: Context): Pick<Handlers<typeof workflows>, 'putFileJob'> {
  return {
    async putFileJob({ params: { id }, body: { data } }, caller) {
      const { workflow: name, principalId, definition, state, progress, message } = data
      const workflow = builtInWorkflows.get(name)
      if (workflow === undefined) throw new TypeError(`The workflow ${name} is not built in`)
      return database.transaction(caller, async (tx) => {
        await lockReports(tx, id)
        const row =
          (await lockJob(tx, id)) ??
          (await createJob(tx, workflow, { id, clientId: platformClient, principalId, definition, tags: [] }))
        const report = { clientId: platformClient, progress, message }
        // The first report can arrive after the next one.
        const isLate = state === firstState(workflow) && row.state !== state
        if (row.isFinal || isLate || !changesJob(row, state, report)) return { data: { state: row.state } }
        const next = moved(workflow, { from: row.state, to: state, as: 'CLIENT' })
        await changeStatus(tx, { row, workflow, state: next, report })
        return { data: { state: next } }
      })
    },
  }
}
