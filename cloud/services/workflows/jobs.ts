import { Problem } from '@millwright/api/problem.ts'
import { workflowLimits, type workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { requireDefinitionWriter, requireDeletable, requireStatusWriter } from './built-in.ts'
import { changesJob, type JobRow, showHistory, showJob, statusOf } from './job.ts'
import { canAccess, type JobAccess, readAccess, requireJob, visibleTo, writeAccess } from './job-access.ts'
import { changeDefinition, changeStatus, changeTags, createJob, deleteJob } from './job-change.ts'
import { countJobs, listJobs } from './job-list-store.ts'
import { findJob, listPast, lockJob } from './job-store.ts'
import { recordMove } from './leases.ts'
import { listParameter } from './list-parameter.ts'
import { namesHidden, redacted, redactedWithPast } from './redaction.ts'
import { moved } from './transition.ts'
import { lookUpForJob, workflowOf, workflowsOf } from './workflow-lookup.ts'

type Operations =
  | 'listJobs'
  | 'createJob'
  | 'getJob'
  | 'deleteJob'
  | 'getJobStatus'
  | 'putJobStatus'
  | 'getJobDefinition'
  | 'putJobDefinition'
  | 'getJobTags'
  | 'addJobTags'
  | 'deleteJobTags'

/** Handlers for jobs, which agents and managers use. */
export function jobHandlers(context: Context): Pick<Handlers<typeof workflows>, Operations> {
  const { database } = context

  const show = async (caller: Caller, row: JobRow): Promise<JobRow> =>
    (await redacted(context, caller, [row]))[0] ?? row

  const read = async (caller: Caller, id: string) => {
    const access = await readAccess(context, caller)
    return show(
      caller,
      await database.lookup(caller, async (handle) => requireJob(id, await findJob(handle, id), access)),
    )
  }

  /**
   * Changes a job in a transaction. Requests to the inventory run before or after the transaction, not while it is open.
   */
  const change = async (
    caller: Caller,
    id: string,
    run: (tx: Transaction, row: JobRow, access: JobAccess) => Promise<JobRow>,
  ) => {
    const access = await writeAccess(context, caller)
    const after = await database.transaction(caller, async (tx) =>
      run(tx, requireJob(id, await lockJob(tx, id), access), access),
    )
    return show(caller, after)
  }

  return {
    async listJobs({ query }, caller) {
      const access = await readAccess(context, caller)
      const { limit = workflowLimits.pageDefault, offset = 0, sort, state, clientId, workflow } = query
      const tags = listParameter(query.tag)
      const isEmpty = await namesHidden(context, caller, tags ?? [])
      const selection = {
        state,
        workflow,
        groups: listParameter(query.group),
        tags,
        clientId,
        visibleTo: isEmpty ? { clientIds: [] } : visibleTo(access),
      }
      const { rows, workflowFor, total } = await database.read(caller, async (handle) => {
        const jobs = await listJobs(handle, selection, { limit, offset, newestFirst: sort === 'desc' })
        return {
          rows: jobs,
          workflowFor: await workflowsOf(handle, jobs),
          total: query.pagination === false ? 0 : await countJobs(handle, selection),
        }
      })
      const content = (await redacted(context, caller, rows)).map((row) => showJob(row, workflowFor(row)))
      return query.pagination === false ? { content } : { pagination: { limit, offset, total }, content }
    },

    async createJob({ body: { clientId, workflow: name, tags = [], definition = {} } }, caller) {
      const access = await writeAccess(context, caller)
      requireDefinitionWriter(name, caller)
      if (!canAccess(access, { clientId })) throw new Problem('invalid_reference', `Gateway ${clientId} does not exist`)
      return database.transaction(caller, async (tx) => {
        const workflow = await lookUpForJob(tx, name)
        if (workflow === undefined) throw new Problem('invalid_reference', `Workflow ${name} does not exist`)
        const row = await createJob(tx, workflow, { clientId, definition, tags })
        const detail = { workflow: name, client: clientId }
        await record(tx, caller, { action: 'workflows.createJob', target: `job/${row.id}`, detail })
        return answer(201, showJob(row, workflow))
      })
    },

    async getJob({ params: { id }, query: { history = false } }, caller) {
      const access = await readAccess(context, caller)
      const { workflow, ...stored } = await database.read(caller, async (handle) => {
        const row = requireJob(id, await findJob(handle, id), access)
        return { row, past: await listPast(handle, row.id), workflow: await workflowOf(handle, row) }
      })
      const { row, past } = await redactedWithPast(context, caller, stored)
      const job = showJob(row, workflow)
      return history ? { ...job, history: showHistory(past) } : job
    },

    async deleteJob({ params: { id } }, caller) {
      await change(caller, id, async (tx, row) => {
        requireDeletable(row)
        await deleteJob(tx, row)
        const detail = { workflow: row.workflow, client: row.clientId, state: row.state }
        await record(tx, caller, { action: 'workflows.deleteJob', target: `job/${row.id}`, detail })
        return row
      })
      return answer(204)
    },

    async getJobStatus({ params: { id } }, caller) {
      return statusOf(await read(caller, id))
    },

    async putJobStatus({ params: { id }, body }, caller) {
      const after = await change(caller, id, async (tx, row, { as }) => {
        requireStatusWriter(row.workflow, caller)
        const workflow = await workflowOf(tx, row)
        const state = moved(workflow, { from: row.state, to: body.state, as })
        const { clientId, progress, message, context } = body
        // An IMMEDIATE transition may have moved the job to a further state. The report does not belong to that state.
        const report = state === body.state ? { clientId, progress, message, context } : {}
        // A final job does not change.
        if (row.isFinal || !changesJob(row, state, report)) return row
        const changed = await changeStatus(tx, { row, workflow, state, report })
        await recordMove(tx, caller, { action: 'workflows.putJobStatus', before: row, after: changed })
        return changed
      })
      return statusOf(after)
    },

    async getJobDefinition({ params: { id } }, caller) {
      return (await read(caller, id)).definition
    },

    async putJobDefinition({ params: { id }, body }, caller) {
      const { definition } = await change(caller, id, async (tx, row) => {
        requireDefinitionWriter(row.workflow, caller)
        const after = await changeDefinition(tx, row, body)
        const detail = { before: row.definitionHash, after: after.definitionHash }
        await record(tx, caller, { action: 'workflows.putJobDefinition', target: `job/${row.id}`, detail })
        return after
      })
      return definition
    },

    async getJobTags({ params: { id } }, caller) {
      return (await read(caller, id)).tags
    },

    async addJobTags({ params: { id }, body: tags }, caller) {
      const job = await change(caller, id, async (tx, row) => {
        const total = new Set([...row.tags, ...tags]).size
        if (total > workflowLimits.tags)
          throw new Problem('invalid_body', `The job would have ${total} tags; the limit is ${workflowLimits.tags}`)
        const after = await changeTags(tx, row, { action: 'ADD_TAGS', tags })
        await record(tx, caller, { action: 'workflows.addJobTags', target: `job/${row.id}`, detail: { tags } })
        return after
      })
      return job.tags
    },

    async deleteJobTags({ params: { id }, body: tags }, caller) {
      const job = await change(caller, id, async (tx, row) => {
        const after = await changeTags(tx, row, { action: 'DELETE_TAGS', tags })
        await record(tx, caller, { action: 'workflows.deleteJobTags', target: `job/${row.id}`, detail: { tags } })
        return after
      })
      return job.tags
    },
  }
}
