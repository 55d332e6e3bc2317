import type { identity } from '@millwright/api/identity.ts'
import { findPrincipal } from '../../../platform/access/store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { type AnonymousCaller, answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import { readOpaqueToken } from '../oauth/opaque-token.ts'
import { endSessionUrl, findProviderLogout, type ProviderLogout } from '../providers/logout.ts'
import * as store from '../store.ts'
import { fieldText, isForeignOrigin } from './form.ts'
import { endSessions } from './session-end.ts'
import { forgetSession, sessionTokenOf } from './sessions.ts'

export function signOutHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, 'signOut'> {
  const { database, settings } = shared.context
  return {
    /**
     * Ends the session of the browser, the session of a refresh token, or both. All tokens of these sessions are revoked.
     */
    async signOut({ body, headers }, visitor) {
      const { baseUrl } = settings
      const isForeign = isForeignOrigin(headers.origin, baseUrl)
      const session = isForeign ? undefined : sessionTokenOf(headers.cookie, baseUrl)
      const refresh = readOpaqueToken(fieldText(body.refresh_token))
      let provider: ProviderLogout | undefined
      if (session !== undefined) {
        await database.transaction({ tenantId: session.tenantId }, async (tx) => {
          const stored = await store.findSession(tx, session.hash)
          if (stored === undefined) return
          provider = await findProviderLogout(shared, tx, stored.id)
          await end(tx, { visitor, sessionId: stored.id, principalId: stored.principalId })
        })
      }
      if (refresh !== undefined) {
        await database.transaction({ tenantId: refresh.tenantId }, async (tx) => {
          const refreshToken = await store.lockRefreshToken(tx, refresh.hash)
          if (refreshToken === undefined) return
          provider ??= await findProviderLogout(shared, tx, refreshToken.sessionId)
          await end(tx, { ...refreshToken, visitor })
        })
      }
      const forget = isForeign ? {} : { 'set-cookie': forgetSession(baseUrl) }
      const providerUrl = provider === undefined ? undefined : await endSessionUrl(shared, provider)
      // The service redirects only to its own address and to the provider of the session. A redirect to any other
      // address would make it an open redirector.
      const isRedirect = body.post_logout_redirect_uri === `${baseUrl}/`
      if (isRedirect) return answer(303, undefined, { ...forget, location: providerUrl ?? `${baseUrl}/` })
      if (providerUrl === undefined) return answer(204, undefined, forget)
      return answer(200, { endSessionUrl: providerUrl }, { ...forget, 'cache-control': 'no-store' })
    },
  }
}

type EndedSession = { sessionId: string; principalId: string; visitor: AnonymousCaller }

async function end(tx: Transaction, { sessionId, principalId, visitor }: EndedSession): Promise<void> {
  await endSessions(tx, [{ id: sessionId, principalId }])
  const { kind = 'user', name = '' } = (await findPrincipal(tx, principalId)) ?? {}
  const actor = { principal: { id: principalId, kind, name }, request: visitor.request }
  await record(tx, actor, { action: 'identity.signOut', target: `user/${principalId}` })
}
