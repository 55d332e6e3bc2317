import { type Static, Type } from 'typebox'
import { contract, eventStreamType, media } from './contract.ts'
import { closed, data, page, pageQuery, Timestamp } from './envelope.ts'

/** A job of any kind, in words that do not depend on its workflow. */
export const jobPhases = ['waiting', 'running', 'finished', 'failed', 'canceled'] as const

const phase = Type.Union(jobPhases.map((name) => Type.Literal(name)))

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
      query: closed({
        ...pageQuery,
        type: Type.Optional(Type.String({ maxLength: 64 })),
        gatewayId: Type.Optional(Type.String({ maxLength: 128 })),
        phase: Type.Optional(phase),
        tag: Type.Optional(Type.String({ maxLength: 128 })),
        since: Type.Optional(Timestamp),
      }),
      answers: { 200: page(AnyJob) },
    },
    getJob: {
      method: 'GET',
      path: '/jobs/{id}',
      summary: 'One job with its definition and history',
      access: 'glb_jobs_read',
      params: closed({ id: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', maxLength: 36 }) }),
      answers: {
        200: data(
          closed({
            ...fields,
            definition: Type.Record(Type.String(), Type.Unknown()),
            context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
            history: Type.Array(
              closed({
                timestamp: Timestamp,
                state: Type.String(),
                progress: Type.Optional(Type.Integer()),
                message: Type.Optional(Type.String()),
              }),
            ),
          }),
        ),
      },
    },
    streamJobs: {
      method: 'GET',
      path: '/jobs/events',
      summary: 'Jobs as they change, as server-sent events',
      access: 'glb_jobs_read',
      query: closed({
        type: Type.Optional(Type.String({ maxLength: 64 })),
        gatewayId: Type.Optional(Type.String({ maxLength: 128 })),
      }),
      answers: { 200: media(eventStreamType) },
    },
  },
})
