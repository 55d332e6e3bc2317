import { Problem } from '@millwright/api/problem.ts'
import type { remoteAccess } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { mayConnect } from './assets.ts'
import { showSession } from './session.ts'
import { missingSession, requireSupervised, type VisibleSession } from './session-access.ts'
import { endByPlatform, endSession } from './session-end.ts'
import { reportSession, tryReportJob } from './session-report.ts'
import { approveSession, lockSession } from './session-store.ts'
import { canDecide } from './sessions.ts'

/**
 * The decisions of another person about a session. The requester never decides. Service accounts and gateways do not decide
 * either, because the requester could control them.
 */
export function approvalHandlers(
  context: Context,
): Pick<Handlers<typeof remoteAccess>, 'approveSession' | 'denySession'> {
  const { database, settings } = context
  return {
    async approveSession({ params: { id } }, caller) {
      const session = await requireDecidable(context, caller, id)
      await requireRequester(context, caller, session)
      const row = await database.transaction(caller, async (tx) => {
        const now = new Date()
        const expiresAt = new Date(now.getTime() + session.row.durationMinutes * 60_000).toISOString()
        const by = caller.principal
        const approved = await approveSession(tx, id, { by, now: now.toISOString(), expiresAt })
        if (approved === undefined) throw decided()
        await reportSession(tx, caller, { row: approved, action: 'approveSession', event: 'approved' })
        return approved
      })
      await tryReportJob(context, caller, row)
      return { data: showSession(row, { settings, isOwn: false }) }
    },

    async denySession({ params: { id }, body }, caller) {
      await requireDecidable(context, caller, id)
      const row = await database.transaction(caller, async (tx) => {
        // Another person may have approved the session in the meantime.
        if ((await lockSession(tx, id))?.state !== 'pending-approval') throw decided()
        const end = { id, ending: 'denied', detail: body?.data.reason, by: caller, isDecision: true } as const
        const denied = await endSession(tx, caller, { ...end, action: 'denySession' })
        if (denied === undefined) throw decided()
        return denied
      })
      await tryReportJob(context, caller, row)
      return { data: showSession(row, { settings, isOwn: false }) }
    },
  }
}

/** Returns a session about which the caller can decide now. */
async function requireDecidable(context: Context, caller: Caller, id: string): Promise<VisibleSession> {
  if (!canDecide(caller))
    throw new Problem('forbidden', 'Only a person can approve or deny a session, not a service account or a gateway')
  const session = await requireSupervised(context, caller, id)
  if (session.isOwn)
    throw new Problem('forbidden', 'Another person must approve or deny the session that you requested')
  if (session.row.state !== 'pending-approval') throw decided()
  if (Date.parse(session.row.expiresAt) > Date.now()) return session
  await endByPlatform(context, caller.tenantId, { id, ending: 'approval-expired' })
  throw new Problem('conflict', 'The request for approval has expired. The user must request a new session')
}

/** Requires that the requester still has the permission for the session. Otherwise the session ends. */
async function requireRequester(context: Context, caller: Caller, { row, asset }: VisibleSession): Promise<void> {
  if (asset.isDeleted) {
    await endByPlatform(context, caller.tenantId, { id: row.id, ending: 'asset-deleted' })
    throw missingSession(row.id)
  }
  if (mayConnect(await currentCaller(context, caller.tenantId, row), asset)) return
  const detail = 'The user who requested the session no longer has the permission for the asset'
  await endByPlatform(context, caller.tenantId, { id: row.id, ending: 'permission-lost', detail })
  throw new Problem('conflict', detail)
}

function decided(): Problem {
  return new Problem(
    'conflict',
    'The session is not waiting for approval. Another person approved or denied it, or it has ended',
  )
}
