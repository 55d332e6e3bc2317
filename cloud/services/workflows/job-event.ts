import { Problem } from '@millwright/api/problem.ts'
import { jobActions, type Workflow, type WorkflowJob } from '@millwright/api/workflows.ts'
import type { EventRow } from '../../platform/events/store.ts'
import { type JobRow, showJob } from './job.ts'
import type { JobAction, JobEventData } from './job-change.ts'
import { listParameter } from './list-parameter.ts'

/** A platform event about a job. */
export type JobEvent = Pick<EventRow, 'position' | 'time'> & { data: JobEventData }

export function jobEventsIn(events: readonly EventRow[]): JobEvent[] {
  return events.filter(({ type }) => type.startsWith('workflows.job.')) as unknown as JobEvent[]
}

type Parameter = string | readonly string[] | undefined
type Filters = { clientIds?: Parameter; jobIds?: Parameter; workflows?: Parameter; actions?: Parameter }

/**
 * Returns a function that decides whether an event is sent. An event is sent when at least one filter matches, because the
 * engine combines its filters with "or". Without filters, all events are sent.
 */
export function eventFilter(filters: Filters): (data: JobEventData) => boolean {
  const actions = listParameter(filters.actions)?.map(actionOf)
  const [clientIds, jobIds, workflows] = [filters.clientIds, filters.jobIds, filters.workflows].map(listParameter)
  const filterValues: [readonly string[] | undefined, (data: JobEventData) => string][] = [
    [clientIds, ({ job }) => job.gatewayId],
    [jobIds, ({ job }) => job.id],
    [workflows, ({ job }) => job.type],
    [actions, ({ action }) => action],
  ]
  const active = filterValues.filter(([values]) => values !== undefined)
  return (data) => active.length === 0 || active.some(([values, value]) => values?.includes(value(data)))
}

function actionOf(text: string): JobAction {
  const action = jobActions.find((candidate) => candidate === text.toUpperCase())
  if (action !== undefined) return action
  throw new Problem('invalid_query', `"${text}" is not an action. Use one of: ${jobActions.join(', ')}`)
}

/** Returns whether the message needs data that is not in the event: the definition or the result of the job. */
export function needsJob({ action }: JobEventData): boolean {
  return action === 'CREATE' || action === 'UPDATE_DEFINITION' || action === 'UPDATE_STATUS'
}

/** Formats an event in the format of wfx: the changed part of the job, and always its id. */
export function engineMessage(event: JobEvent, current: StoredJob | undefined, tags: readonly string[]): string {
  const { action } = event.data
  const message = {
    ctime: event.time,
    action,
    job: changedPart(event.data, current),
    ...(tags.length > 0 ? { tags } : {}),
  }
  return `data: ${JSON.stringify(message)}\nid: ${event.position}\n\n`
}

type StoredJob = { row: JobRow; workflow: Workflow }
type Part = Partial<Omit<WorkflowJob, 'workflow' | 'status'>> & { workflow: Partial<Workflow>; status?: object }

function changedPart({ action, job, status }: JobEventData, current: StoredJob | undefined): Part {
  const identity = { id: job.id, clientId: job.gatewayId, workflow: { name: job.type } }
  switch (action) {
    case 'CREATE':
      return {
        ...identity,
        ...(current === undefined ? {} : showJob(current.row, current.workflow)),
        tags: job.tags,
        status,
        stime: job.createdTimestamp,
        mtime: job.lastModifiedTimestamp,
      }
    case 'UPDATE_STATUS':
      return { ...identity, status: { ...status, ...contextAt(job.lastModifiedTimestamp, current) } }
    case 'UPDATE_DEFINITION':
      return {
        ...identity,
        mtime: job.lastModifiedTimestamp,
        status: { definitionHash: status.definitionHash },
        ...(current === undefined ? {} : { definition: current.row.definition }),
      }
    case 'ADD_TAGS':
    case 'DELETE_TAGS':
      return { ...identity, tags: job.tags }
    case 'DELETE':
      return identity
  }
}

/** Returns the result of the job at this time, if the job has not changed since then. */
function contextAt(time: string, current: StoredJob | undefined): object {
  const context = current?.row.modifiedAt === time ? current.row.context : null
  return context === null ? {} : { context }
}
