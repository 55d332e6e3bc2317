import { changeAccess } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import type { Transaction } from '../../../platform/database/database.ts'
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
