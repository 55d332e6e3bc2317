import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement, timePlus } from '../../platform/database/statement.ts'

/**
 * Statements for leases. An expired lease stays valid until another agent takes the job, so that a slow agent can continue.
 */

const claimStatement = statement<{ id: string }>(
  `select id from workflow_jobs
   where tenant_id = $1 and client_id = $2 and workflow = any($3::text[]) and awaits_client
     and (lease_until is null or lease_until <= now())
   order by id limit 1 for update skip locked`,
)

/** Returns and locks the oldest job that the client can take. It skips jobs that other transactions have locked. */
export async function claimJob(
  tx: Transaction,
  { clientId, workflows }: { clientId: string; workflows: readonly string[] },
): Promise<string | undefined> {
  return (await tx.row(claimStatement, clientId, workflows))?.id
}

const holdStatement = statement<{ leaseUntil: string; traceparent: string | null }>(
  `update workflow_jobs
   set lease_id = $3, lease_seconds = $4::integer, lease_until = now() + make_interval(secs => $4::integer)
   where tenant_id = $1 and id = $2 returning lease_until as "leaseUntil", traceparent`,
)

/** Sets the lease of a job. Returns the time when the lease expires, and the trace of the job. */
export async function holdJob(tx: Transaction, id: string, lease: { id: string; seconds: number }) {
  return tx.row(holdStatement, id, lease.id, lease.seconds)
}

const renewStatement = statement<{ leaseUntil: string }>(
  `update workflow_jobs set lease_until = ${timePlus('now()', 'make_interval(secs => lease_seconds)')}
   where tenant_id = $1 and id = $2 and client_id = $3 and lease_id = $4 and awaits_client
   returning lease_until as "leaseUntil"`,
)

export type LeaseKey = { jobId: string; clientId: string; leaseId: string }

/** Renews a lease and returns the time when it expires. Returns `undefined` when the lease no longer holds the job. */
export async function renewLease(tx: Transaction, { jobId, clientId, leaseId }: LeaseKey): Promise<string | undefined> {
  return (await tx.row(renewStatement, jobId, clientId, leaseId))?.leaseUntil
}

export const leaseStatement = statement<{ id: string }>(
  `select lease_id as id from workflow_jobs
   where tenant_id = $1 and id = $2 and client_id = $3 and awaits_client and lease_until > now()`,
)

/** Returns the lease of a job if it has not expired. `renewLease` is less strict: it also accepts an expired lease. */
export function findLease(handle: Handle, { jobId, clientId }: Omit<LeaseKey, 'leaseId'>) {
  return handle.row(leaseStatement, jobId, clientId)
}

const offeredStatement = statement<{ clientId: string; workflow: string }>(
  `select distinct client_id as "clientId", workflow from workflow_jobs
   where tenant_id = $1 and client_id = any($2::text[]) and awaits_client
     and (lease_until is null or lease_until <= now())`,
)

/** Returns the clients that can take a job, with the workflows of these jobs. */
export function findOffered(handle: Handle, clientIds: readonly string[]) {
  return handle.rows(offeredStatement, clientIds)
}

const statesStatement = statement<{ id: string; state: string; isFinal: boolean }>(
  `select id, state, is_final as "isFinal" from workflow_jobs where tenant_id = $1 and id = any($2::uuid[])`,
)

/** Returns the states of jobs. */
export function findStates(handle: Handle, ids: readonly string[]) {
  return handle.rows(statesStatement, ids)
}
