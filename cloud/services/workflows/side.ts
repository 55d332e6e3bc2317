import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { require } from '../../platform/access/rights.ts'
import type { JobRow } from './job.ts'
import type { Side } from './transition.ts'

/**
 * The token decides on which side of the engine somebody is: a gateway is a client, and to it there are no jobs but its
 * own; everybody else manages jobs, and moves them as the engine does.
 */
export type Reach = { as: Side /** Whose jobs there are; absent: all of the tenant. */; clientId: string | undefined }

export function readingReach(caller: Caller): Reach {
  return isGateway(caller) ? ownReach(caller) : managed(caller, 'glb_jobs_read')
}

export function writingReach(caller: Caller): Reach {
  return isGateway(caller) ? ownReach(caller) : managed(caller, 'glb_workflow_manage')
}

export function isGateway({ principal }: Caller): boolean {
  return principal.kind === 'gateway'
}

function ownReach(caller: Caller): Reach {
  require(caller, 'glb_gateway_work')
  return { as: 'CLIENT', clientId: caller.principal.id }
}

function managed(caller: Caller, permission: 'glb_jobs_read' | 'glb_workflow_manage'): Reach {
  require(caller, permission)
  return { as: 'WFX', clientId: undefined }
}

/** The job, unless there is none within reach: the two look the same. */
export function reached(id: string, row: JobRow | undefined, { clientId }: Pick<Reach, 'clientId'>): JobRow {
  if (row !== undefined && (clientId === undefined || clientId === row.clientId)) return row
  throw new Problem('not_found', `There is no job ${id}`)
}
