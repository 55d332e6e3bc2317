import { type TSchema, Type } from 'typebox'
import { platformWorkflowNames } from './built-in-workflows.ts'
import { contract, empty, eventStreamType, media } from './contract.ts'
import { closed, data, page, Timestamp, Uuid } from './envelope.ts'
import { AnyJob, AnyJobInFull, anyJobQuery } from './jobs.ts'
import { engineErrorFormat } from './workflow-errors.ts'
import {
  clientId,
  free,
  JobStatus,
  jobActions,
  workflowName as name,
  stateName,
  tags,
  Workflow,
  WorkflowJob,
  workflowLimits,
} from './workflow-shapes.ts'

/**
 * The contract of workflows and jobs. Workflows are data, and jobs are their instances. Paths and bodies are those of
 * wfx, the workflow engine that existing agents use. The responses therefore have the formats of wfx, without the
 * `data` envelope and without problem documents.
 */

export {
  JobStatus,
  jobActions,
  Transition,
  Workflow,
  WorkflowJob,
  workflowLimits,
} from './workflow-shapes.ts'

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
  pagination: Type.Optional(Type.Boolean({ default: true, description: 'false omits the total, which saves time' })),
}

/**
 * Returns the schema of a parameter with one or several values. Several values are repeated parameters or separated by
 * commas.
 */
const several = (what: string) => {
  const text = Type.String({ maxLength: 4_096, description: `${what}, separated by commas` })
  return Type.Optional(Type.Union([text, Type.Array(text, { maxItems: 64 })]))
}

function list<Element extends TSchema>(element: Element) {
  return closed({ pagination: Type.Optional(pagination), content: Type.Array(element) })
}

const jobParams = closed({ id: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', maxLength: 36 }) })
const filterHeader = ['x-response-filter'] as const
const filterErrors = ['invalid_filter'] as const

const Lease = closed({ id: Uuid, expiresTimestamp: Timestamp })

/** `LeasedJob` is a job with the lease under which a gateway works on it. */
export const LeasedJob = closed({
  job: WorkflowJob,
  lease: Lease,
  traceparent: Type.Optional(
    Type.String({ maxLength: 64, description: 'The trace that the work continues (W3C Trace Context)' }),
  ),
})

export const workflows = contract({
  name: 'workflows',
  title: 'Workflows and jobs',
  description:
    'Finite state machines as data, and jobs as their instances. Managers see all jobs of the tenant. A gateway sees its ' +
    'own jobs and moves them with transitions that are eligible for clients. The token decides whether the caller is a manager or a gateway.',
  version: '1.1.0',
  prefix: '/workflows/v1',
  alsoAt: ['/gatekeeper/v1', '/api/wfx/v1', '/wfx-southbound/api/wfx/v1', '/wfx-southbound'],
  errorFormat: engineErrorFormat,
  operations: {
    getHealth: {
      method: 'GET',
      path: '/health',
      summary: 'Check the health of the workflow service',
      access: 'known',
      answers: { 200: closed({ status: Type.String() }) },
    },
    getVersion: {
      method: 'GET',
      path: '/version',
      summary: 'Read the version of the interface',
      access: 'known',
      answers: { 200: closed({ apiVersion: Type.String(), version: Type.String() }) },
    },
    listWorkflows: {
      method: 'GET',
      path: '/workflows',
      summary: 'List workflows by name',
      access: 'known',
      query: closed(paging),
      headers: filterHeader,
      answers: { 200: list(Workflow) },
      errors: filterErrors,
    },
    createWorkflow: {
      method: 'POST',
      path: '/workflows',
      summary: 'Store a workflow; a stored workflow cannot be changed',
      access: 'glb_workflow_manage',
      body: Workflow,
      headers: filterHeader,
      answers: { 201: Workflow },
      errors: ['invalid_workflow', 'already_exists', ...filterErrors],
    },
    getWorkflow: {
      method: 'GET',
      path: '/workflows/{name}',
      summary: 'Read a workflow',
      access: 'known',
      params: closed({ name }),
      headers: filterHeader,
      answers: { 200: Workflow },
      errors: ['not_found', ...filterErrors],
    },
    deleteWorkflow: {
      method: 'DELETE',
      path: '/workflows/{name}',
      summary: 'Delete a workflow without jobs',
      access: 'glb_workflow_manage',
      params: closed({ name }),
      answers: { 204: empty },
      errors: ['not_found', 'conflict', 'built_in'],
    },
    drawWorkflow: {
      method: 'GET',
      path: '/workflows/{name}/picture',
      summary: 'Read the state diagram of a workflow',
      access: 'known',
      params: closed({ name }),
      answers: { 200: media('image/svg+xml') },
      errors: ['not_found'],
    },
    listJobs: {
      method: 'GET',
      path: '/jobs',
      summary: 'List jobs, oldest first by default',
      access: 'known',
      query: closed({
        ...paging,
        state: Type.Optional(stateName),
        group: several('groups of states'),
        clientId: Type.Optional(clientId),
        tag: several('tags; a job must have all of them'),
        workflow: Type.Optional(Type.String({ maxLength: workflowLimits.name })),
      }),
      headers: filterHeader,
      answers: { 200: list(WorkflowJob) },
      errors: filterErrors,
    },
    createJob: {
      method: 'POST',
      path: '/jobs',
      summary: 'Create a job for a client',
      description:
        'Only the platform creates jobs of the workflows `discovery`, `device-info`, `link-inventory`, `monitoring`, `artefact-update`, `artefact-retrieval`, `file-import` and `file-export`. Use the APIs for discoveries, monitorings, updates, imports and exports.',
      access: 'glb_workflow_manage',
      body: closed({
        clientId,
        workflow: name,
        tags: Type.Optional(tags),
        definition: Type.Optional(free),
      }),
      headers: filterHeader,
      answers: { 201: WorkflowJob },
      errors: ['invalid_reference', 'forbidden', ...filterErrors],
    },
    streamJobEvents: {
      method: 'GET',
      path: '/jobs/events',
      summary: 'Stream changes of jobs as server-sent events',
      description:
        'An event is sent if it matches any of the filters. Without filters, all events are sent. The stream resumes after `Last-Event-ID`.',
      access: 'known',
      query: closed({
        clientIds: several('clients'),
        jobIds: several('jobs'),
        workflows: several('workflows'),
        actions: several(`actions: ${jobActions.join(', ')}`),
        tags: several('tags to add to each event'),
      }),
      headers: ['last-event-id'],
      answers: { 200: media(eventStreamType) },
      errors: ['invalid_query', 'events_gone', 'invalid_cursor', 'invalid_header'],
    },
    getJob: {
      method: 'GET',
      path: '/jobs/{id}',
      summary: 'Read a job',
      access: 'known',
      params: jobParams,
      query: closed({ history: Type.Optional(Type.Boolean({ default: false })) }),
      headers: filterHeader,
      answers: { 200: WorkflowJob },
      errors: ['not_found', ...filterErrors],
    },
    deleteJob: {
      method: 'DELETE',
      path: '/jobs/{id}',
      summary: 'Delete a job and its history',
      access: 'glb_workflow_manage',
      params: jobParams,
      answers: { 204: empty },
      errors: ['not_found', 'conflict'],
    },
    getJobStatus: {
      method: 'GET',
      path: '/jobs/{id}/status',
      summary: 'Read the status of a job',
      access: 'known',
      params: jobParams,
      headers: filterHeader,
      answers: { 200: JobStatus },
      errors: ['not_found', ...filterErrors],
    },
    putJobStatus: {
      method: 'PUT',
      path: '/jobs/{id}/status',
      summary: 'Change the state of a job, or report its progress',
      access: 'known',
      params: jobParams,
      body: JobStatus,
      headers: filterHeader,
      answers: { 200: JobStatus },
      errors: ['not_found', 'forbidden', 'invalid_transition', ...filterErrors],
    },
    getJobDefinition: {
      method: 'GET',
      path: '/jobs/{id}/definition',
      summary: 'Read the definition of a job',
      access: 'known',
      params: jobParams,
      headers: filterHeader,
      answers: { 200: free },
      errors: ['not_found', ...filterErrors],
    },
    putJobDefinition: {
      method: 'PUT',
      path: '/jobs/{id}/definition',
      summary: 'Change the definition of a job; not of jobs that only the platform creates',
      access: 'known',
      params: jobParams,
      body: free,
      headers: filterHeader,
      answers: { 200: free },
      errors: ['not_found', 'forbidden', ...filterErrors],
    },
    getJobTags: {
      method: 'GET',
      path: '/jobs/{id}/tags',
      summary: 'List the tags of a job',
      access: 'known',
      params: jobParams,
      headers: filterHeader,
      answers: { 200: tags },
      errors: ['not_found', ...filterErrors],
    },
    addJobTags: {
      method: 'POST',
      path: '/jobs/{id}/tags',
      summary: 'Add tags to a job',
      access: 'glb_workflow_manage',
      params: jobParams,
      body: tags,
      headers: filterHeader,
      answers: { 200: tags },
      errors: ['not_found', ...filterErrors],
    },
    deleteJobTags: {
      method: 'DELETE',
      path: '/jobs/{id}/tags',
      summary: 'Remove tags from a job',
      access: 'glb_workflow_manage',
      params: jobParams,
      body: tags,
      headers: filterHeader,
      answers: { 200: tags },
      errors: ['not_found', ...filterErrors],
    },
    takeJob: {
      method: 'POST',
      path: '/leases',
      summary: 'Lease the oldest open job of a client, or wait for one',
      waits: true,
      description: 'A job is open if it is not final and has no valid lease.',
      access: 'peer',
      body: data(
        closed({
          clientId,
          workflows: Type.Array(name, { minItems: 1, maxItems: 16 }),
          waitSeconds: Type.Integer({ minimum: 0, maximum: workflowLimits.waitSeconds }),
          leaseSeconds: Type.Integer({ minimum: 1, maximum: workflowLimits.leaseSeconds.maximum }),
          activeJobs: Type.Optional(
            Type.Array(Uuid, { description: 'The jobs that the client still works on. Their progress stays' }),
          ),
        }),
      ),
      answers: { 200: data(Type.Union([Type.Null(), LeasedJob])) },
    },
    renewLease: {
      method: 'PUT',
      path: '/leases/{id}',
      summary: 'Renew a lease, and report progress',
      access: 'peer',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          jobId: Uuid,
          clientId,
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          message: Type.Optional(Type.String({ maxLength: workflowLimits.message })),
          /** The result of the job so far. Without it, the result does not change. */
          context: Type.Optional(free),
        }),
      ),
      answers: { 200: data(closed({ lease: Lease, state: stateName })) },
      errors: ['lease_lost'],
    },
    readLease: {
      method: 'GET',
      path: '/jobs/{id}/lease',
      summary: 'Read the current lease of a job',
      access: 'peer',
      params: closed({ id: Uuid }),
      query: closed({ clientId }),
      answers: { 200: data(Type.Union([Type.Null(), closed({ id: Uuid })])) },
    },
    moveJob: {
      method: 'POST',
      path: '/jobs/{id}/moves',
      summary: 'Change the state of a job, with a lease or as the platform; setting the current state has no effect',
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
      errors: ['not_found', 'lease_lost', 'invalid_transition'],
    },
    putClientJob: {
      method: 'PUT',
      path: '/client-jobs/{id}',
      summary: 'Create a job with a given id for a client; repeating the request has no effect',
      access: 'peer',
      params: closed({ id: Uuid }),
      body: data(closed({ workflow: name, clientId, tags, definition: free })),
      answers: { 200: data(closed({ state: stateName, isFinal: Type.Boolean() })) },
      errors: ['invalid_reference'],
    },
    readJobs: {
      method: 'POST',
      path: '/jobs/read',
      summary: 'Read the status of jobs; missing jobs are left out',
      access: 'peer',
      readOnly: true,
      body: data(closed({ ids: Type.Array(Uuid, { maxItems: workflowLimits.jobsPerRead }) })),
      answers: {
        200: data(
          Type.Array(closed({ id: Uuid, isFinal: Type.Boolean(), isLeased: Type.Boolean(), status: JobStatus })),
        ),
      },
    },
    putPlatformJob: {
      method: 'PUT',
      path: '/platform-jobs/{id}',
      summary: 'Create a job that the platform runs itself, or report its state; a final job does not change',
      access: 'peer',
      params: closed({ id: Uuid }),
      body: data(
        closed({
          workflow: Type.Unsafe<(typeof platformWorkflowNames)[number]>(
            Type.String({ enum: [...platformWorkflowNames] }),
          ),
          principalId: Uuid,
          definition: free,
          state: stateName,
          progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          message: Type.Optional(Type.String({ maxLength: workflowLimits.message })),
        }),
      ),
      answers: { 200: data(closed({ state: stateName })) },
    },
    awaitJob: {
      method: 'GET',
      path: '/jobs/{id}/outcome',
      summary: 'Wait until a job is final, up to a time limit',
      waits: true,
      access: 'peer',
      params: closed({ id: Uuid }),
      query: closed({
        waitSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: workflowLimits.waitSeconds, default: 0 })),
        /** A state of the job. The request also returns when the job has left this state. */
        unlike: Type.Optional(stateName),
      }),
      answers: { 200: closed({ job: WorkflowJob, isFinal: Type.Boolean() }) },
      errors: ['not_found'],
    },
    browseJobs: {
      method: 'GET',
      path: '/any-jobs',
      summary: 'List jobs independent of their workflow, newest first',
      access: 'on-behalf',
      query: closed(anyJobQuery),
      answers: { 200: page(AnyJob) },
    },
    inspectJob: {
      method: 'GET',
      path: '/any-jobs/{id}',
      summary: 'Read a job independent of its workflow, with its history',
      access: 'on-behalf',
      params: jobParams,
      answers: { 200: data(AnyJobInFull) },
      errors: ['not_found'],
    },
  },
})
