import { type Static, Type } from 'typebox'
import { closed, describedPattern } from './envelope.ts'

/** Workflows and jobs in the format of wfx. */

export const workflowLimits = {
  name: 64,
  description: 1_024,
  states: 256,
  transitions: 1_024,
  message: 1_024,
  tags: 32,
  pageMaximum: 1_000,
  pageDefault: 10,
  leaseSeconds: { default: 30, maximum: 300 },
  waitSeconds: 30,
  /** The maximum number of jobs whose status a service reads with one request. */
  jobsPerRead: 500,
  /** The maximum number of history entries of one job. Older entries are deleted. */
  history: 200,
  /** The number of days for which a job is stored after it has reached a final state. */
  keptDays: 90,
} as const

export const workflowName = Type.String({
  minLength: 1,
  maxLength: workflowLimits.name,
  pattern: describedPattern('^[a-zA-Z0-9\\-\\.]+$', 'must consist of letters, digits, dashes and dots'),
})
export const stateName = Type.String({ minLength: 1, maxLength: workflowLimits.name })
const description = Type.Optional(Type.String({ maxLength: workflowLimits.description }))

export const Transition = closed({
  from: stateName,
  to: stateName,
  eligible: Type.Union([Type.Literal('CLIENT'), Type.Literal('WFX')]),
  action: Type.Optional(Type.Union([Type.Literal('IMMEDIATE'), Type.Literal('WAIT')])),
  description,
})
export type Transition = Static<typeof Transition>

export const Workflow = closed({
  name: workflowName,
  description,
  states: Type.Array(closed({ name: stateName, description }), { minItems: 1, maxItems: workflowLimits.states }),
  groups: Type.Optional(
    Type.Array(closed({ name: stateName, description, states: Type.Array(stateName) }), {
      maxItems: workflowLimits.states,
    }),
  ),
  transitions: Type.Array(Transition, { maxItems: workflowLimits.transitions }),
})
export type Workflow = Static<typeof Workflow>

const tag = Type.String({ minLength: 1, maxLength: 128 })
export const tags = Type.Array(tag, { maxItems: workflowLimits.tags })
/** An object with any members. The programs that create and execute a job define its content. */
export const free = Type.Record(Type.String(), Type.Unknown())
export const clientId = Type.String({ minLength: 1, maxLength: 128 })
/** A time in RFC 3339 format, as agents of wfx send and expect it. */
const time = Type.String({ format: 'date-time' })

export const JobStatus = closed({
  state: stateName,
  clientId: Type.Optional(clientId),
  progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  message: Type.Optional(Type.String({ maxLength: workflowLimits.message })),
  definitionHash: Type.Optional(Type.String({ maxLength: 64 })),
  context: Type.Optional(free),
})
export type JobStatus = Static<typeof JobStatus>

const JobHistory = closed({ mtime: time, status: Type.Optional(JobStatus), definition: Type.Optional(free) })

export const WorkflowJob = closed({
  id: Type.String({ maxLength: 36 }),
  clientId,
  workflow: Workflow,
  tags,
  definition: free,
  status: JobStatus,
  stime: time,
  mtime: time,
  history: Type.Optional(Type.Array(JobHistory)),
})
export type WorkflowJob = Static<typeof WorkflowJob>

export const jobActions = ['CREATE', 'DELETE', 'ADD_TAGS', 'DELETE_TAGS', 'UPDATE_STATUS', 'UPDATE_DEFINITION'] as const
