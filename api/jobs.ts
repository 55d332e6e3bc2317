import { type Static, Type } from 'typebox'
import { contract, eventStreamType, media } from './contract.ts'
import { closed, data, page, pageQuery, Timestamp } from './envelope.ts'

/** A job of any kind, in words that do not depend on its workflow. */
export const jobPhases = ['waiting', 'running', 'finished', 'failed', 'canceled'] as const
export type JobPhase = (typeof jobPhases)[number]

const phase = Type.Unsafe<JobPhase>(Type.Union(jobPhases.map((name) => Type.Literal(name))))
const free = Type.Record(Type.String(), Type.Unknown())

const fields = {
  id: Type.String(),
  type: Type.String({ description: 'The workflow: `discovery`, `device-info`, …' }),
  gatewayId: Type.String({ description: 'The client that works on it' }),
  phase,
  state: Type.String({ description: 'The state in its workflow' }),
  progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  message: Type.Optional(Type.String()),
  tags: Type.Array(Type.String()),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
}

export const AnyJob = closed(fields)
export type AnyJob = Static<typeof AnyJob>

/** What became of a job: every state it was in, oldest first, ending with the one it is in. */
const past = Type.Array(
  closed({
    timestamp: Timestamp,
    state: Type.String(),
    progress: Type.Optional(Type.Integer()),
    message: Type.Optional(Type.String()),
  }),
)

export const AnyJobInFull = closed({ ...fields, definition: free, context: Type.Optional(free), history: past })
export type AnyJobInFull = Static<typeof AnyJobInFull>

export const anyJobQuery = {
  ...pageQuery,
  type: Type.Optional(Type.String({ maxLength: 64 })),
  gatewayId: Type.Optional(Type.String({ maxLength: 128 })),
  phase: Type.Optional(phase),
  tag: Type.Optional(Type.String({ maxLength: 128 })),
  since: Type.Optional(Type.Unsafe<string>({ ...Timestamp, description: 'Created then or later' })),
}

export const jobs = contract({
  name: 'jobs',
  title: 'Jobs',
  description: 'All jobs of the tenant, whatever their type.',
  version: '1.0.0',
  prefix: '/jobs/v1',
  operations: {
    listJobs: {
      method: 'GET',
      path: '/jobs',
      summary: 'Jobs, newest first',
      access: 'glb_jobs_read',
      query: closed(anyJobQuery),
      answers: { 200: page(AnyJob) },
    },
    streamJobs: {
      method: 'GET',
      path: '/jobs/events',
      summary: 'Jobs as they change, as server-sent events',
      description:
        'A message `job` holds a job as it is after a change, a message `deleted` the id of one that is gone. Begins now, ' +
        'or after `Last-Event-ID`: nothing is skipped and nothing comes twice.',
      access: 'glb_jobs_read',
      headers: ['last-event-id'],
      query: closed({
        type: Type.Optional(Type.String({ maxLength: 64 })),
        gatewayId: Type.Optional(Type.String({ maxLength: 128 })),
      }),
      answers: { 200: media(eventStreamType) },
      errors: ['events_gone', 'invalid_cursor', 'invalid_header'],
    },
    getJob: {
      method: 'GET',
      path: '/jobs/{id}',
      summary: 'One job with its definition and history',
      access: 'glb_jobs_read',
      params: closed({ id: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', maxLength: 36 }) }),
      answers: { 200: data(AnyJobInFull) },
      errors: ['not_found'],
    },
  },
})
