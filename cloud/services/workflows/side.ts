import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { readableGateways } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import type { JobRow } from './job.ts'
import type { Side } from './transition.ts'

/**
 * The token decides on which side of the engine a caller is. A gateway is a client and sees its own jobs only. Every other
 * caller manages jobs, of the gateways that it can read, and moves them as the engine does.
 */
export type Reach = { as: Side /** The clients whose jobs exist for the caller; absent: all. */; clientIds?: string[] }

export function readingReach(context: Pick<Context, 'peers'>, caller: Caller): Promise<Reach> {
  requireJobAccess(caller)
  return reachOf(context, caller)
}

export async function writingReach(context: Pick<Context, 'peers'>, caller: Caller): Promise<Reach> {
  requirePermission(caller, isGateway(caller) ? 'glb_gateway_work' : 'glb_workflow_manage')
  return reachOf(context, caller)
}

export function requireJobAccess(caller: Caller): void {
  requirePermission(caller, isGateway(caller) ? 'glb_gateway_work' : 'glb_jobs_read')
}

export function isGateway({ principal }: Pick<Caller, 'principal'>): boolean {
  return principal.kind === 'gateway'
}

async function reachOf(context: Pick<Context, 'peers'>, caller: Caller): Promise<Reach> {
  if (isGateway(caller)) return { as: 'CLIENT', clientIds: [caller.principal.id] }
  const clientIds = await readableGateways(context, caller)
  return { as: 'WFX', ...(clientIds === null ? {} : { clientIds }) }
}

export function reaches({ clientIds }: Pick<Reach, 'clientIds'>, clientId: string): boolean {
  return clientIds === undefined || clientIds.includes(clientId)
}

/** The job, unless there is none within reach: a hidden job and a missing one give the same error. */
export function reached(id: string, row: JobRow | undefined, reach: Pick<Reach, 'clientIds'>): JobRow {
  if (row !== undefined && reaches(reach, row.clientId)) return row
  throw new Problem('not_found', `There is no job ${id}`)
}
