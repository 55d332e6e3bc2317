import { Problem } from '@millwright/api/problem.ts'
import { workflowLimits, type workflows } from '@millwright/api/workflows.ts'
import { record } from '../../platform/audit/audit.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { builtInWorkflows } from './built-in.ts'
import { requireJobAccess } from './job-access.ts'
import { picture } from './picture.ts'
import { completed, requireValid } from './workflow.ts'
import { lookUp } from './workflow-lookup.ts'
import * as store from './workflow-store.ts'

type Operations = 'listWorkflows' | 'createWorkflow' | 'getWorkflow' | 'deleteWorkflow' | 'drawWorkflow'

export function workflowHandlers({ database }: Context): Pick<Handlers<typeof workflows>, Operations> {
  return {
    async listWorkflows({ query }, caller) {
      requireJobAccess(caller)
      const { limit = workflowLimits.pageDefault, offset = 0, sort } = query
      return database.read(caller, async (handle) => {
        const names = [...builtInWorkflows.keys(), ...(await store.listNames(handle))].toSorted()
        const page = (sort === 'desc' ? names.toReversed() : names).slice(offset, offset + limit)
        const own = new Map((await store.findWorkflows(handle, page)).map((workflow) => [workflow.name, workflow]))
        const content = page.flatMap((name) => builtInWorkflows.get(name) ?? own.get(name) ?? [])
        return query.pagination === false
          ? { content }
          : { pagination: { limit, offset, total: names.length }, content }
      })
    },

    async createWorkflow({ body }, caller) {
      requireValid(body)
      const workflow = completed(body)
      return database.transaction(caller, async (tx) => {
        const isNew = !builtInWorkflows.has(workflow.name) && (await store.insertWorkflow(tx, workflow))
        if (!isNew) throw new Problem('already_exists', `Workflow ${workflow.name} already exists`)
        const subject = `workflow/${workflow.name}`
        const detail = { states: workflow.states.length, transitions: workflow.transitions.length }
        await record(tx, caller, { action: 'workflows.createWorkflow', target: subject, detail })
        await emit(tx, { type: 'workflows.workflow.created', subject, data: { name: workflow.name } })
        return answer(201, workflow)
      })
    },

    async getWorkflow({ params: { name } }, caller) {
      requireJobAccess(caller)
      const workflow = await database.lookup(caller, (handle) => lookUp(handle, name))
      if (workflow === undefined) throw missing(name)
      return workflow
    },

    async deleteWorkflow({ params: { name } }, caller) {
      if (builtInWorkflows.has(name))
        throw new Problem('built_in', `Workflow ${name} is built in and cannot be deleted`)
      return database.transaction(caller, async (tx) => {
        if ((await store.lockWorkflow(tx, name)) === undefined) throw missing(name)
        if (await store.isInUse(tx, name))
          throw new Problem('conflict', `Workflow ${name} still has jobs. Delete these jobs first.`)
        await store.deleteWorkflow(tx, name)
        const subject = `workflow/${name}`
        await record(tx, caller, { action: 'workflows.deleteWorkflow', target: subject })
        await emit(tx, { type: 'workflows.workflow.deleted', subject, data: { name } })
        return answer(204)
      })
    },

    async drawWorkflow({ params: { name } }, caller) {
      requireJobAccess(caller)
      const workflow = await database.lookup(caller, (handle) => lookUp(handle, name))
      if (workflow === undefined) throw missing(name)
      return picture(workflow)
    },
  }
}

function missing(name: string): Problem {
  return new Problem('not_found', `Workflow ${name} does not exist`)
}
