import { remoteAccess } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { changeAccess } from '../../../platform/access/store.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Context } from '../../../platform/service.ts'
import * as store from '../store.ts'

/** Ends sessions and revokes their tokens in every process. */
export async function endSessions(tx: Transaction, sessions: readonly store.EndedSession[]): Promise<void> {
  if (sessions.length === 0) return
  await changeAccess(tx)
  await store.deleteSessions(
    tx,
    sessions.map(({ id }) => id),
  )
  for (const [principalId, ended] of Map.groupBy(sessions, (session) => session.principalId))
    await revokeTokens(tx, { principalId, ids: ended.map(({ id }) => id) })
}

/**
 * Ends the remote sessions of a user whose sign-in sessions were ended, because an attacker may have opened them. An error
 * is logged: the end of the sign-in sessions does not depend on the service for remote access.
 */
export async function endRemoteSessions({ peers, log }: Context, caller: Caller, principalId: string): Promise<void> {
  try {
    await peers(remoteAccess, systemCaller(caller)).endUserSessions({ params: { principalId } })
  } catch (error) {
    log.error({ error, principalId }, 'the remote sessions of a user were not ended')
  }
}
