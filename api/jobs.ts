import { type Static, Type } from 'typebox'
import { contract, eventStreamType, media } from './contract.ts'
import { closed, data, page, pageQuery, Timestamp, Uuid } from './envelope.ts'

/** The phases of a job, which are the same for every workflow. */
export const jobPhases = ['waiting', 'running', 'finished', 'failed', 'canceled'] as const
export type JobPhase = (typeof jobPhases)[number]

const phase = Type.Unsafe<JobPhase>(Type.Union(jobPhases.map((name) => Type.Literal(name))))
const free = Type.Record(Type.String(), Type.Unknown())

/** What a job is about. */
export const JobSubject = closed({
  reference: Type.String({
    description:
      'The kind and the id: `asset/…`, `discovery/…`, `monitoring/…`, `update-campaign/…`, `import/…`, `export/…` or `gateway/…`',
  }),
  name: Type.Optional(
    Type.String({
      description:
        'The name of the asset, monitoring, campaign, file or link; for a scan, the name of its link. It is omitted if the caller cannot read it',
    }),
  ),
})
export type JobSubject = Static<typeof JobSubject>

const count = Type.Integer({ minimum: 0 })

/** When a run started again. */
export const RestartedTimestamp = Type.Unsafe<string>({
  ...Timestamp,
  description:
    'When the gateway last started the scan again after an interruption. The progress and the errors are those of the scan since then, and the found devices those of the whole run. It is omitted for a run that was not interrupted',
})

/** The number of errors of a run that have the same cause. */
const ErrorCauseCount = closed({ code: Type.Integer(), reason: Type.Optional(Type.String()), count })

/**
 * The result of the run of a scan. A process of the last release returns no cause of errors, no missing devices, no asset link and no
 * parameters.
 */
export const ScanJobResult = closed({
  scope: Type.Array(Type.String(), {
    description: 'The values of the filters of the run. Empty for a scan of all devices',
  }),
  found: count,
  created: count,
  gone: Type.Optional(
    Type.Unsafe<number>({
      ...count,
      description:
        'The number of devices that are gone. It is omitted for a run that was not compared with an earlier run',
    }),
  ),
  errors: count,
  errorCauses: Type.Optional(
    Type.Array(ErrorCauseCount, {
      description: 'The errors of a run that ended, counted by code and reason. It is omitted for a run without errors',
    }),
  ),
  assetLinkId: Type.Optional(Type.String({ description: 'The app instance id of the link' })),
  parameters: Type.Optional(
    Type.Array(Type.String(), { description: 'The keys of the filters and options of the run' }),
  ),
  startedTimestamp: Type.Optional(Timestamp),
  restartedTimestamp: Type.Optional(RestartedTimestamp),
  endedTimestamp: Type.Optional(Timestamp),
})
export type ScanJobResult = Static<typeof ScanJobResult>

/** Numbers of jobs by phase. */
export const JobCounts = closed({ waiting: count, running: count, finished: count, failed: count, canceled: count })
export type JobCounts = Static<typeof JobCounts>

const fields = {
  id: Type.String(),
  type: Type.String({ description: 'The workflow: `discovery`, `device-info`, …' }),
  gatewayId: Type.String({ description: 'The client of the job' }),
  phase,
  state: Type.String({ description: 'The state in its workflow' }),
  progress: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  message: Type.Optional(Type.String()),
  subject: Type.Optional(JobSubject),
  startedBy: Type.Optional(
    Type.String({
      description:
        'The name of the user or service account that started the job. For a job of a schedule, the name of the one that created it',
    }),
  ),
  trigger: Type.Optional(
    Type.Union([Type.Literal('person'), Type.Literal('schedule')], {
      description:
        'For a scan and a monitoring run: whether a user or service account, or the schedule, started the job',
    }),
  ),
  parts: Type.Optional(
    Type.Unsafe<JobCounts>({
      ...JobCounts,
      description:
        'For the job of an update campaign, in a list with `grouped` and when the job is read: the jobs of its devices, by phase',
    }),
  ),
  runId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'For a scan: its run' })),
  scan: Type.Optional(
    Type.Unsafe<ScanJobResult>({
      ...ScanJobResult,
      description: 'For a scan that the caller can read: the scope and the result of the run of this job',
    }),
  ),
  tags: Type.Array(Type.String()),
  createdTimestamp: Timestamp,
  startedTimestamp: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description:
        'When the gateway or the platform started to work on the job. It is omitted while the job waits, and for jobs of earlier versions',
    }),
  ),
  lastModifiedTimestamp: Timestamp,
}

export const AnyJob = closed(fields)
export type AnyJob = Static<typeof AnyJob>

/** The history of a job: all states, oldest first. The current state is included. */
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
  since: Type.Optional(Type.Unsafe<string>({ ...Timestamp, description: 'Created at or after this time' })),
  withoutMonitoring: Type.Optional(
    Type.Boolean({
      description:
        'Whether to leave out finished monitoring runs. List them with the type `monitoring`. It has no effect with other filters',
    }),
  ),
  grouped: Type.Optional(
    Type.Boolean({
      description:
        'Whether to list an update campaign as one job: the jobs of its devices are omitted, and the job of the campaign has their numbers in `parts`. List them with the tag `campaign/…`. It has no effect with other filters, and for a caller that cannot read the jobs of all gateways',
    }),
  ),
}

export const jobs = contract({
  name: 'jobs',
  title: 'Jobs',
  description: 'All jobs of the tenant, of all workflows.',
  version: '1.0.0',
  prefix: '/jobs/v1',
  operations: {
    listJobs: {
      method: 'GET',
      path: '/jobs',
      summary: 'List jobs, newest first',
      access: 'glb_jobs_read',
      query: closed(anyJobQuery),
      answers: { 200: page(AnyJob) },
    },
    streamJobs: {
      method: 'GET',
      path: '/jobs/events',
      summary: 'Stream changed jobs as server-sent events',
      description:
        'A message `job` contains a job after a change, a message `deleted` the id of a deleted job. The stream starts with ' +
        'the next change, or after `Last-Event-ID`. Each change is sent exactly once.',
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
      summary: 'Read a job with its definition and history',
      access: 'glb_jobs_read',
      params: closed({ id: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', maxLength: 36 }) }),
      answers: { 200: data(AnyJobInFull) },
      errors: ['not_found'],
    },
  },
})
