import { type Static, Type } from 'typebox'
import { contract, empty, eventStreamType, media } from './contract.ts'
import { closed, data, Timestamp, Uuid } from './envelope.ts'
import type { ProblemDocument } from './problem.ts'

/**
 * Workflows as data, jobs as their instances. Paths and bodies are those of the workflow engine that agents of today
 * speak to, so its own shapes stand here instead of `data` and problem documents.
 */

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
} as const

const name = Type.String({ minLength: 1, maxLength: workflowLimits.name, pattern: '^[a-zA-Z0-9\\-\\.]+$' })
const stateName = Type.String({ minLength: 1, maxLength: workflowLimits.name })
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
  name,
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
const tags = Type.Array(tag, { maxItems: workflowLimits.tags })
const free = Type.Record(Type.String(), Type.Unknown())
const clientId = Type.String({ minLength: 1, maxLength: 128 })
/** RFC 3339, as the engine's agents send and expect it. */
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

const pagination = closed({
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
})

const paging = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: workflowLimits.pageMaximum, default: workflowLimits.pageDefault }),
  ),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
  sort: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'asc' })),
  pagination: Type.Optional(Type.Boolean({ default: true, description: 'false: the bare list' })),
}

/** One or several, as repeated parameters or separated by commas. */
const several = (what: string) =>
  Type.Optional(Type.String({ maxLength: 4_096, description: `${what}, separated by commas` }))

const jobParams = closed({ id: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', maxLength: 36 }) })
const filterHeader = ['x-response-filter'] as const

const Lease = closed({ id: Uuid, expiresTimestamp: Timestamp })

export const workflows = contract({
  name: 'workflows',
  title: 'Workflows and jobs',
  description:
    'Finite state machines as data and jobs as their instances. Managers see all jobs of the tenant; a gateway sees and ' +
    'moves its own, and only by transitions that are eligible for clients: the token decides which side it is.',
  version: '1.1.0',
  prefix: '/workflows/v1',
  alsoAt: ['/gatekeeper/v1', '/api/wfx/v1', '/wfx-southbound/api/wfx/v1', '/wfx-southbound'],
  errorBody: ({ code, detail, traceId }: ProblemDocument) => ({
    errors: [{ code: `wfx.${code}`, logref: traceId ?? '', message: detail }],
  }),
  operations: {
    getHealth: {
      method: 'GET',
      path: '/health',
      summary: 'Whether the engine answers',
      access: 'signed-in',
      answers: { 200: closed({ status: Type.String() }) },
    },
    getVersion: {
      method: 'GET',
      path: '/version',
      summary: 'The version of the interface',
      access: 'signed-in',
      answers: { 200: closed({ apiVersion: Type.String(), version: Type.String() }) },
    },
    listWorkflows: {
      method: 'GET',
      path: '/workflows',
      summary: 'Workflows by name',
      access: 'signed-in',
      query: closed(paging),
      headers: filterHeader,
      answers: {
        200: Type.Union([closed({ pagination, content: Type.Array(Workflow) }), Type.Array(Workflow)]),
      },
    },
    createWorkflow: {
      method: 'POST',
      path: '/workflows',
      summary: 'Store a workflow; it never changes afterwards',
      access: 'glb_workflow_manage',
      body: Workflow,
      headers: filterHeader,
      answers: { 201: Workflow },
      errors: ['invalid_workflow', 'already_exists'],
    },
    getWorkflow: {
      method: 'GET',
      path: '/workflows/{name}',
      summary: 'One workflow',
      access: 'signed-in',
      params: closed({ name }),
      headers: filterHeader,
      answers: { 200: Workflow },
    },
    deleteWorkflow: {
      method: 'DELETE',
      path: '/workflows/{name}',
      summary: 'Delete a workflow that no job refers to',
      access: 'glb_workflow_manage',
      params: closed({ name }),
      answers: { 204: empty },
      errors: ['conflict', 'built_in'],
    },
    drawWorkflow: {
      method: 'GET',
      path: '/workflows/{name}/picture',
      summary: 'The state machine as a picture',
      access: 'signed-in',
      params: closed({ name }),
      answers: { 200: media('image/svg+xml') },
    },
    listJobs: {
      method: 'GET',
      path: '/jobs',
      summary: 'Jobs, oldest first unless sorted otherwise',
      access: 'signed-in',
      query: closed({
        ...paging,
        state: Type.Optional(stateName),
        group: several('groups of states'),
        clientId: Type.Optional(clientId),
        tag: several('tags, all of which a job has'),
        workflow: Type.Optional(Type.String({ maxLength: workflowLimits.name })),
      }),
      headers: filterHeader,
      answers: {
        200: Type.Union([closed({ pagination, content: Type.Array(WorkflowJob) }), Type.Array(WorkflowJob)]),
      },
      errors: ['forbidden'],
    },
    createJob: {
      method: 'POST',
      path: '/jobs',
      summary: 'Create a job for a client',
      access: 'glb_workflow_manage',
      body: closed({
        clientId,
        workflow: name,
        tags: Type.Optional(tags),
        definition: Type.Optional(free),
      }),
      headers: filterHeader,
      answers: { 201: WorkflowJob },
      errors: ['invalid_reference'],
    },
    streamJobEvents: {
      method: 'GET',
      path: '/jobs/events',
      summary: 'What happens to jobs, as server-sent events',
      access: 'signed-in',
      query: closed({
        clientIds: several('clients'),
        jobIds: several('jobs'),
        workflows: several('workflows'),
        actions: several(`actions: ${jobActions.join(', ')}`),
        tags: several('tags that events are marked with'),
      }),
      answers: { 200: media(eventStreamType) },
      errors: ['forbidden'],
    },
    getJob: {
      method: 'GET',
      path: '/jobs/{id}',
      summary: 'One job',
      access: 'signed-in',
      params: jobParams,
      query: closed({ history: Type.Optional(Type.Boolean({ default: false })) }),
      headers: filterHeader,
      answers: { 200: WorkflowJob },
      errors: ['forbidden'],
    },
    deleteJob: {
      method: 'DELETE',
      path: '/jobs/{id}',
      summary: 'Delete a job and its history',
      access: 'glb_workflow_manage',
      params: jobParams,
      answers: { 204: empty },
    },
    getJobStatus: {
      method: 'GET',
      path: '/jobs/{id}/status',
      summary: 'The state of a job',
      access: 'signed-in',
      params: jobParams,
      headers: filterHeader,
      answers: { 200: JobStatus },
      errors: ['forbidden'],
    },
    putJobStatus: {
      method: 'PUT',
      path: '/jobs/{id}/status',
      summary: 'Move a job, or report its progress',
      access: 'signed-in',
      params: jobParams,
      body: JobStatus,
      headers: filterHeader,
      answers: { 200: JobStatus },
      errors: ['forbidden', 'invalid_transition'],
    },
    getJobDefinition: {
      method: 'GET',
      path: '/jobs/{id}/definition',
      summary: 'What a job is about',
      access: 'signed-in',
      params: jobParams,
      headers: filterHeader,
      answers: { 200: free },
      errors: ['forbidden'],
    },
    putJobDefinition: {
      method: 'PUT',
      path: '/jobs/{id}/definition',
      summary: 'Change what a job is about',
      access: 'signed-in',
      params: jobParams,
      body: free,
      headers: filterHeader,
      answers: { 200: free },
      errors: ['forbidden'],
    },
    getJobTags: {
      method: 'GET',
      path: '/jobs/{id}/tags',
      summary: 'The tags of a job',
      access: 'signed-in',
      params: jobParams,
      headers: filterHeader,
      answers: { 200: tags },
      errors: ['forbidden'],
    },
    addJobTags: {
      method: 'POST',
      path: '/jobs/{id}/tags',
      summary: 'Add tags',
      access: 'glb_workflow_manage',
      params: jobParams,
      body: tags,
      headers: filterHeader,
      answers: { 200: tags },
    },
    deleteJobTags: {
      method: 'DELETE',
      path: '/jobs/{id}/tags',
      summary: 'Remove tags',
      access: 'glb_workflow_manage',
      params: jobParams,
      body: tags,
      headers: filterHeader,
      answers: { 200: tags },
    },
    takeJob: {
      method: 'POST',
      path: '/leases',
      summary: 'Lease the oldest open job of a client, or wait for one',
      description: 'Open is a job that is not final and that nobody holds: new, or of an agent whose lease ran out.',
      access: 'peer',
      body: data(
        closed({
          clientId,
          workflows: Type.Array(name, { minItems: 1, maxItems: 16 }),
          waitSeconds: Type.Integer({ minimum: 0, maximum: workflowLimits.waitSeconds }),
          leaseSeconds: Type.Integer({ minimum: 1, maximum: workflowLimits.leaseSeconds.maximum }),
        }),
      ),
      answers: { 200: data(Type.Union([Type.Null(), closed({ job: WorkflowJob, lease: Lease })])) },
    },
    renewLease: {
      method: 'PUT',
      path: '/leases/{id}',
      summary: 'Keep a job, and report its progress',
      access: 'peer',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          jobId: Uuid,
          clientId,
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          message: Type.Optional(Type.String({ maxLength: workflowLimits.message })),
        }),
      ),
      answers: { 200: data(closed({ lease: Lease, state: stateName })) },
      errors: ['lease_lost'],
    },
    moveJob: {
      method: 'POST',
      path: '/jobs/{id}/moves',
      summary: 'Move a job by a lease or as the engine; moving it where it is already changes nothing',
      access: 'peer',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          state: stateName,
          as: Type.Union([Type.Literal('CLIENT'), Type.Literal('WFX')]),
          lease: Type.Optional(Uuid),
          message: Type.Optional(Type.String({ maxLength: workflowLimits.message })),
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          context: Type.Optional(free),
        }),
      ),
      answers: { 200: WorkflowJob },
      errors: ['lease_lost', 'invalid_transition'],
    },
    awaitJob: {
      method: 'GET',
      path: '/jobs/{id}/outcome',
      summary: 'A job when it is final, or as it is when the time is over',
      access: 'peer',
      params: closed({ id: Uuid }),
      query: closed({
        waitSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: workflowLimits.waitSeconds, default: 0 })),
      }),
      answers: { 200: closed({ job: WorkflowJob, isFinal: Type.Boolean() }) },
    },
  },
})
