import { revokeTokens } from '../../../platform/access/token-store.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Context } from '../../../platform/service.ts'
import { endSessionsOfProvider, linkSession } from './external-account-store.ts'
import { holdEnabledProvider, idTokenOwner } from './provider-store.ts'

/** A longer ID token is not stored. The user then signs out only of the platform, because the token is part of a URL. */
const longestIdToken = 16 * 1024

/** A verified sign-in at an identity provider. */
export type ProviderProof = {
  id: string
  /** The session at the provider (claim `sid`). */
  session: string | undefined
  /** The ID token, which the provider needs for the sign-out. */
  idToken: string
  /**
   * The time of the authentication at the provider. `undefined` if the provider does not send it. The user must then sign
   * in at the provider again before dangerous actions.
   */
  authenticatedAt: Date | undefined
}

/**
 * Stores the identity provider of a new session. Returns false if the provider was disabled or deleted, so that the
 * session must not start.
 */
export async function linkProvider(
  { safe }: Context,
  tx: Transaction,
  { sessionId, provider }: { sessionId: string; provider: ProviderProof },
): Promise<boolean> {
  if (!(await holdEnabledProvider(tx, provider.id))) return false
  await linkSession(tx, {
    id: sessionId,
    providerId: provider.id,
    providerSession: provider.session ?? null,
    sealedIdToken:
      provider.idToken.length > longestIdToken ? null : await safe.seal(tx, provider.idToken, idTokenOwner(sessionId)),
    authenticatedAt: (provider.authenticatedAt ?? new Date(0)).toISOString(),
  })
  return true
}

/** Ends all sessions of the users of a provider. The transaction must have called `changeAccess`. */
export async function endProviderSessions(tx: Transaction, providerId: string): Promise<void> {
  const sessions = await endSessionsOfProvider(tx, providerId)
  for (const [principalId, ended] of Map.groupBy(sessions, (session) => session.principalId))
    await revokeTokens(tx, { principalId, ids: ended.map(({ id }) => id) })
}
