import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { putPlatformJob } from '../../platform/platform-job.ts'
import type { Context } from '../../platform/service.ts'
import { type SessionRow, setReported } from './session-store.ts'

/** The audit entries, the events and the jobs of sessions. */

/** The topic that is signalled when a session changes. The task of sessions then runs soon. */
export const sessionsTopic = 'remote-access.sessions'
/** A topic with this prefix and the id of a session is signalled when the session has ended. */
export const endedTopic = 'remote-access.ended/'

export type SessionChange = {
  row: SessionRow
  /** The operation in the audit entry. */
  action: string
  /** The last part of the event type. */
  event: 'requested' | 'approved' | 'opened' | 'extended' | 'ended' | 'closed'
  detail?: Record<string, unknown>
}

/** Writes the audit entry and the event of a change of a session, in the transaction of the change. */
export async function reportSession(
  tx: Transaction,
  caller: Pick<Caller, 'principal' | 'request'>,
  { row, action, event, detail = {} }: SessionChange,
): Promise<void> {
  const { id, jobId, state, assetId, accessGroupId, service, port, principalId, ending } = row
  const ended = ending === null ? {} : { ending }
  const subject = { state, assetId, gatewayId: row.gatewayId, service, port, address: row.address, principalId }
  await record(tx, caller, {
    action: `remote-access.${action}`,
    target: `remote-session/${id}`,
    detail: { ...subject, ...ended, ...detail },
  })
  await emit(tx, {
    type: `remote-access.session.${event}`,
    subject: `remote-session/${id}`,
    // The event does not name the gateway, so that users who cannot read the gateway receive it.
    data: { state, assetId, accessGroupId, service, port, principalId, jobId, ...ended },
  })
  tx.signal(sessionsTopic)
}

/** Returns the caller of changes that the platform makes itself, such as the end of an expired session. */
export async function platformCaller({ tenants }: Pick<Context, 'tenants'>, tenantId: string): Promise<Caller> {
  return systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
}

/** Returns the state of the job of a session. */
function jobStateOf({ state, openedAt, decidedById, needsApproval }: SessionRow): string {
  if (state === 'pending-approval') return 'OPEN'
  if (state === 'connecting') return 'OPENING'
  if (state === 'open') return 'OPENED'
  if (openedAt !== null) return 'CLOSED'
  return needsApproval && decidedById === null ? 'CANCELED' : 'FAILED'
}

/**
 * Reports the state of a session as its job. The job does not name the user, because only users who may approve sessions can
 * see who opened one.
 */
export async function reportJob(context: Context, scope: { tenantId: string }, row: SessionRow): Promise<void> {
  const { id, jobId, principalId, assetId, gatewayId, service, port, state, endingDetail, ending } = row
  const message = state === 'ended' ? (endingDetail ?? ending ?? undefined) : undefined
  await putPlatformJob(context, scope, {
    id: jobId,
    workflow: 'remote-access',
    principalId,
    definition: { sessionId: id, assetId, gatewayId, service, port },
    state: jobStateOf(row),
    ...(message === undefined ? {} : { message }),
  })
  await context.database.transaction(scope, (tx) => setReported(tx, id, state))
}

/** Reports the state of a session as its job. If this fails, the task of sessions reports it later. */
export async function tryReportJob(context: Context, scope: { tenantId: string }, row: SessionRow): Promise<void> {
  await reportJob(context, scope, row).catch((error: unknown) =>
    context.log.warn({ error, session: row.id, job: row.jobId }, 'The job of a remote session could not be written'),
  )
}
