import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { readableGateways } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import type { JobRow } from './job.ts'
import type { Side } from './transition.ts'

/**
 * The role of a caller and the jobs that it can access. A gateway acts as a client and sees only its own jobs. Every other
 * caller acts as the platform (`WFX`): it manages the jobs of the gateways that it can read, and sees its own imports and
 * exports. A caller that can read all assets sees the jobs of all clients.
 */
export type JobAccess = {
  as: Side
  /** The clients whose jobs the caller can access. It is absent if the caller can access the jobs of all clients. */
  clientIds?: string[]
  /** The caller, if it also sees the jobs that it started itself. */
  principalId?: string
}

export function readAccess(context: Pick<Context, 'peers'>, caller: Caller): Promise<JobAccess> {
  requireJobAccess(caller)
  return accessOf(context, caller)
}

export async function writeAccess(context: Pick<Context, 'peers'>, caller: Caller): Promise<JobAccess> {
  requirePermission(caller, isGateway(caller) ? 'glb_gateway_work' : 'glb_workflow_manage')
  return accessOf(context, caller)
}

export function requireJobAccess(caller: Caller): void {
  requirePermission(caller, isGateway(caller) ? 'glb_gateway_work' : 'glb_jobs_read')
}

export function isGateway({ principal }: Pick<Caller, 'principal'>): boolean {
  return principal.kind === 'gateway'
}

async function accessOf(context: Pick<Context, 'peers'>, caller: Caller): Promise<JobAccess> {
  if (isGateway(caller)) return { as: 'CLIENT', clientIds: [caller.principal.id] }
  const clientIds = await readableGateways(context, caller)
  return { as: 'WFX', ...(clientIds === null ? {} : { clientIds, principalId: caller.principal.id }) }
}

/** The client of a job, and the principal that started it if the platform runs the job itself. */
type JobOwner = { clientId: string; principalId?: string | null | undefined }

export function canAccess(
  { clientIds, principalId }: Pick<JobAccess, 'clientIds' | 'principalId'>,
  owner: JobOwner,
): boolean {
  if (clientIds === undefined || clientIds.includes(owner.clientId)) return true
  return principalId !== undefined && owner.principalId === principalId
}

/** Returns the condition of a list of jobs. It is undefined if the caller can access the jobs of all clients. */
export function visibleTo({ clientIds, principalId }: JobAccess) {
  return clientIds === undefined ? undefined : { clientIds, principalId }
}

/** Returns a job that the caller can access. Hidden and missing jobs return the same error. */
export function requireJob(id: string, row: JobRow | undefined, access: Omit<JobAccess, 'as'>): JobRow {
  if (row !== undefined && canAccess(access, row)) return row
  throw new Problem('not_found', `Job ${id} does not exist`)
}
