import { Type } from 'typebox'
import { closed, data, Timestamp, Uuid } from './envelope.ts'
import { ScanJobResult } from './jobs.ts'

/** The operations with which other services name the runs of discoveries, and show their results. */

/** The maximum number of runs in one request. */
const maxRuns = 100

export const describedRunOperations = {
  describeRuns: {
    method: 'POST',
    path: '/runs/descriptions',
    summary: 'The discovery and the gateway of runs; runs that the caller cannot read are left out',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { maxItems: maxRuns }) })),
    answers: {
      200: data(
        Type.Array(
          closed({
            id: Uuid,
            jobId: Uuid,
            number: Type.Integer({ minimum: 1 }),
            gatewayId: Uuid,
            assetLinkId: Type.String(),
            deviceClass: Type.Optional(Type.String()),
            // Optional, because a process of the last release returns no scope.
            scope: Type.Optional(ScanJobResult.properties.scope),
            createdTimestamp: Timestamp,
            startedTimestamp: Type.Optional(Timestamp),
          }),
        ),
      ),
    },
  },
  summarizeRuns: {
    method: 'POST',
    path: '/runs/summaries',
    summary: 'The scope and the result of runs; runs that the caller cannot read are left out',
    description: 'The counts contain only assets that the caller can read.',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed({ ids: Type.Array(Uuid, { maxItems: maxRuns }) })),
    answers: { 200: data(Type.Array(closed({ id: Uuid, ...ScanJobResult.properties }))) },
  },
} as const
