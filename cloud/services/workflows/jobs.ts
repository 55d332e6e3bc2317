import { Problem } from '@millwright/api/problem.ts'
import { workflowLimits, type workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { isNews, showHistory, showJob, statusOf } from './job.ts'
import { changeDefinition, changeStatus, changeTags, createJob, deleteJob } from './job-change.ts'
import { countJobs, listJobs } from './job-list-store.ts'
import { findJob, listPast, lockJob } from './job-store.ts'
import { recordMove } from './leases.ts'
import { several } from './several.ts'
import { reached, readingReach, writingReach } from './side.ts'
import { moved } from './transition.ts'
import { lookUpForJob, workflowOf, workflowsOf } from './workflow-lookup.ts'

type Names =
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

/** Jobs as the engine's agents and managers know them. */
export function jobHandlers({ database }: Context): Pick<Handlers<typeof workflows>, Names> {
  const read = (caller: Caller, id: string) =>
    database.glance(caller, async (handle) => reached(id, await findJob(handle, id), readingReach(caller)))

  return {
    async listJobs({ query }, caller) {
      const reach = readingReach(caller)
      const { limit = workflowLimits.pageDefault, offset = 0, sort, state, clientId, workflow } = query
      const selection = { state, workflow, groups: several(query.group), tags: several(query.tag) }
      const whose = reach.clientId ?? clientId
      // What a gateway asks about another client is empty.
      if (clientId !== undefined && clientId !== whose) return { pagination: { limit, offset, total: 0 }, content: [] }
      return database.read(caller, async (handle) => {
        const wanted = { ...selection, clientId: whose }
        const rows = await listJobs(handle, wanted, { limit, offset, newestFirst: sort === 'desc' })
        const workflow = await workflowsOf(handle, rows)
        const content = rows.map((row) => showJob(row, workflow(row)))
        if (query.pagination === false) return { content }
        return { pagination: { limit, offset, total: await countJobs(handle, wanted) }, content }
      })
    },

    async createJob({ body: { clientId, workflow: name, tags = [], definition = {} } }, caller) {
      return database.transaction(caller, async (tx) => {
        const workflow = await lookUpForJob(tx, name)
        if (workflow === undefined) throw new Problem('invalid_reference', `There is no workflow ${name}`)
        const row = await createJob(tx, workflow, { clientId, definition, tags })
        const detail = { workflow: name, client: clientId }
        await record(tx, caller, { action: 'workflows.createJob', target: `job/${row.id}`, detail })
        return answer(201, showJob(row, workflow))
      })
    },

    async getJob({ params: { id }, query: { history = false } }, caller) {
      return database.read(caller, async (handle) => {
        const row = reached(id, await findJob(handle, id), readingReach(caller))
        const job = showJob(row, await workflowOf(handle, row))
        return history ? { ...job, history: showHistory(await listPast(handle, row.id)) } : job
      })
    },

    async deleteJob({ params: { id } }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lock(tx, caller, id)
        await deleteJob(tx, row)
        const detail = { workflow: row.workflow, client: row.clientId, state: row.state }
        await record(tx, caller, { action: 'workflows.deleteJob', target: `job/${row.id}`, detail })
        return answer(204)
      })
    },

    async getJobStatus({ params: { id } }, caller) {
      return statusOf(await read(caller, id))
    },

    async putJobStatus({ params: { id }, body }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lock(tx, caller, id)
        const workflow = await workflowOf(tx, row)
        const state = moved(workflow, { from: row.state, to: body.state, as: writingReach(caller).as })
        const { clientId, progress, message, context } = body
        // Whoever is moved on by the engine has not reported anything about where it is now.
        const report = state === body.state ? { clientId, progress, message, context } : {}
        // What is over stays as it ended.
        if (row.isFinal || !isNews(row, state, report)) return statusOf(row)
        const after = await changeStatus(tx, { row, workflow, state, report })
        await recordMove(tx, caller, { action: 'workflows.putJobStatus', before: row, after })
        return statusOf(after)
      })
    },

    async getJobDefinition({ params: { id } }, caller) {
      return (await read(caller, id)).definition
    },

    async putJobDefinition({ params: { id }, body }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lock(tx, caller, id)
        const after = await changeDefinition(tx, row, body)
        const detail = { before: row.definitionHash, after: after.definitionHash }
        await record(tx, caller, { action: 'workflows.putJobDefinition', target: `job/${row.id}`, detail })
        return after.definition
      })
    },

    async getJobTags({ params: { id } }, caller) {
      return (await read(caller, id)).tags
    },

    async addJobTags({ params: { id }, body: tags }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lock(tx, caller, id)
        if (new Set([...row.tags, ...tags]).size > workflowLimits.tags)
          throw new Problem('invalid_body', `A job has at most ${workflowLimits.tags} tags`)
        const after = await changeTags(tx, row, { action: 'ADD_TAGS', tags })
        await record(tx, caller, { action: 'workflows.addJobTags', target: `job/${row.id}`, detail: { tags } })
        return after.tags
      })
    },

    async deleteJobTags({ params: { id }, body: tags }, caller) {
      return database.transaction(caller, async (tx) => {
        const row = await lock(tx, caller, id)
        const after = await changeTags(tx, row, { action: 'DELETE_TAGS', tags })
        await record(tx, caller, { action: 'workflows.deleteJobTags', target: `job/${row.id}`, detail: { tags } })
        return after.tags
      })
    },
  }
}

async function lock(tx: Transaction, caller: Caller, id: string) {
  return reached(id, await lockJob(tx, id), writingReach(caller))
}
