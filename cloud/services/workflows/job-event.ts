import { Problem } from '@millwright/api/problem.ts'
import { jobActions, type Workflow, type WorkflowJob } from '@millwright/api/workflows.ts'
import type { EventRow } from '../../platform/events/store.ts'
import { type JobRow, showJob } from './job.ts'
import type { JobAction, JobEventData } from './job-change.ts'
import { several } from './several.ts'

/** An event about a job, as the platform tells it. */
export type JobEvent = Pick<EventRow, 'position' | 'time'> & { data: JobEventData }

export function jobEventsIn(events: readonly EventRow[]): JobEvent[] {
  return events.filter(({ type }) => type.startsWith('workflows.job.')) as unknown as JobEvent[]
}

type Parameter = string | readonly string[] | undefined
type Filters = { clientIds?: Parameter; jobIds?: Parameter; workflows?: Parameter; actions?: Parameter }

/** The engine's filters do not narrow each other: an event is told when any of them fits, and all are without filters. */
export function eventFilter(filters: Filters): (data: JobEventData) => boolean {
  const actions = several(filters.actions)?.map(actionOf)
  const [clientIds, jobIds, workflows] = [filters.clientIds, filters.jobIds, filters.workflows].map(several)
  const wanted: [readonly string[] | undefined, (data: JobEventData) => string][] = [
    [clientIds, ({ job }) => job.gatewayId],
    [jobIds, ({ job }) => job.id],
    [workflows, ({ job }) => job.type],
    [actions, ({ action }) => action],
  ]
  const given = wanted.filter(([values]) => values !== undefined)
  return (data) => given.length === 0 || given.some(([values, value]) => values?.includes(value(data)))
}

function actionOf(text: string): JobAction {
  const action = jobActions.find((known) => known === text.toUpperCase())
  if (action !== undefined) return action
  throw new Problem('invalid_query', `${text} is no action; there are ${jobActions.join(', ')}`)
}

/** Whether more must be known than is in the event: what a job is about, or what it found out. */
export function needsJob({ action }: JobEventData): boolean {
  return action === 'CREATE' || action === 'UPDATE_DEFINITION' || action === 'UPDATE_STATUS'
}

/** An event as the engine sends it: the part of the job that changed, and always which job it is. */
export function engineMessage(event: JobEvent, now: Known | undefined, tags: readonly string[]): string {
  const { action } = event.data
  const told = { ctime: event.time, action, job: changedPart(event.data, now), ...(tags.length > 0 ? { tags } : {}) }
  return `data: ${JSON.stringify(told)}\nid: ${event.position}\n\n`
}

type Known = { row: JobRow; workflow: Workflow }
type Part = Partial<Omit<WorkflowJob, 'workflow' | 'status'>> & { workflow: Partial<Workflow>; status?: object }

function changedPart({ action, job, status }: JobEventData, now: Known | undefined): Part {
  const which = { id: job.id, clientId: job.gatewayId, workflow: { name: job.type } }
  switch (action) {
    case 'CREATE':
      return {
        ...which,
        ...(now === undefined ? {} : showJob(now.row, now.workflow)),
        tags: job.tags,
        status,
        stime: job.createdTimestamp,
        mtime: job.lastModifiedTimestamp,
      }
    case 'UPDATE_STATUS':
      return { ...which, status: { ...status, ...contextAt(job.lastModifiedTimestamp, now) } }
    case 'UPDATE_DEFINITION':
      return {
        ...which,
        mtime: job.lastModifiedTimestamp,
        status: { definitionHash: status.definitionHash },
        ...(now === undefined ? {} : { definition: now.row.definition }),
      }
    case 'ADD_TAGS':
    case 'DELETE_TAGS':
      return { ...which, tags: job.tags }
    case 'DELETE':
      return which
  }
}

/** What was found out then, unless the job has changed since. */
function contextAt(time: string, now: Known | undefined): object {
  const context = now?.row.modifiedAt === time ? now.row.context : null
  return context === null ? {} : { context }
}
