import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { changeAccess } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import { emit } from '../../../platform/events/events.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import { requireProven } from '../factors/own-factors.ts'
import { findFactors } from '../factors/verify-factor.ts'
import { endRemoteSessions } from '../sign-in/session-end.ts'
import * as store from '../store.ts'
import { requireStrongPassword } from './password.ts'
import { hashPassword, isPassword } from './password-hash.ts'

/** Handlers for the account of the caller. */
export function ownAccountHandlers(
  shared: IdentityContext,
): Pick<Handlers<typeof identity>, 'userInfo' | 'changePassword'> {
  const { database, access } = shared.context
  return {
    async userInfo(_request, { tenantId, tenantName, principal, roles }) {
      const principalAccess = await access.of(tenantId, principal.id)
      return {
        sub: principal.id,
        name: principalAccess?.principal.displayName || principal.name,
        preferred_username: principal.kind === 'user' ? `${principal.name}@${tenantName}` : principal.name,
        tenant: tenantId,
        tenant_name: tenantName,
        kind: principal.kind,
        roles: [...roles],
      }
    },

    async changePassword({ body }, caller) {
      const { currentPassword, newPassword } = body.data
      const { principal, request } = caller
      const password = await database.read(caller, (handle) => store.findPassword(handle, principal.id))
      if (password === undefined) {
        const isExternal = principal.kind === 'external'
        const signIn = isExternal ? 'an identity provider. Change the password there' : 'a client secret or a key'
        throw new Problem('conflict', `Your account has no password: it signs in with ${signIn}`)
      }
      const attempt = { subject: `user ${principal.name}@${caller.tenantName}`, address: request.address }
      const signIn = { attempt, action: 'identity.changePassword', requestId: request.id, tenantId: caller.tenantId }
      const actor = { id: principal.id, kind: 'user' as const, name: principal.name }
      const outcome = await shared.guard.checkPassword(signIn, async () => {
        const isCorrect = await isPassword(currentPassword, password.hash)
        return { isCorrect, tenantId: caller.tenantId, principal: actor }
      })
      if ('wait' in outcome) {
        const retryAfter = outcome.wait
        throw new Problem('too_many_requests', 'Too many wrong passwords. Wait before you try again.', { retryAfter })
      }
      if (!outcome.isCorrect) throw new Problem('wrong_password', 'The current password is wrong')
      requireStrongPassword(newPassword, password.name)
      if (newPassword === currentPassword)
        throw new Problem(
          'weak_password',
          'The new password is the same as the current password. Choose a different password.',
        )
      const hash = await hashPassword(newPassword)

      await database.transaction(caller, async (tx) => {
        const target = `user/${principal.id}`
        await changeAccess(tx)
        await requireProven(tx, caller, await findFactors(tx, principal.id))
        if (!(await store.holdPassword(tx, principal.id, password.hash)))
          throw new Problem('conflict', 'Your password was changed in the meantime. Sign in again')
        await store.putPassword(tx, principal.id, hash)
        const ids = await store.endSessionsOf(tx, principal.id, { except: caller.token?.sessionId })
        await revokeTokens(tx, { principalId: principal.id, ids })
        await record(tx, caller, { action: 'identity.changePassword', target })
        const data = { name: principal.name, changed: ['password'] }
        await emit(tx, { type: 'identity.user.updated', subject: target, data })
      })
      await endRemoteSessions(shared.context, caller, principal.id)
      return answer(204)
    },
  }
}
