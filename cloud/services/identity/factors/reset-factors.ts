import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { requireOutranks } from '../../../platform/access/escalation.ts'
import { changeAccess, findPrincipalByName } from '../../../platform/access/store.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { type Actor, record } from '../../../platform/audit/audit.ts'
import type { Scope, Transaction } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import { endRemoteSessions } from '../sign-in/session-end.ts'
import { endSessionsOf, findUser } from '../store.ts'
import * as store from './factor-store.ts'

/** Handlers with which administrators help users who lost their second factor. */
export function factorResetHandlers({
  context,
}: IdentityContext): Pick<Handlers<typeof identity>, 'resetSecondFactor'> {
  const { database } = context
  return {
    async resetSecondFactor({ params: { id } }, caller) {
      if (id === caller.principal.id)
        throw new Problem(
          'conflict',
          'Remove your own factors with DELETE /iam/v1/account/totp and DELETE /iam/v1/account/passkeys/{id}',
        )
      await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const user = await findUser(tx, id)
        if (user === undefined) throw new Problem('not_found', `User ${id} does not exist`)
        await requireOutranks(tx, caller, id)
        await removeFactors(tx, caller, user)
      })
      await endRemoteSessions(context, caller, id)
      return answer(204)
    },
  }
}

/**
 * Removes all second factors of a user and ends all sessions. The command line uses this function when the last
 * administrator has lost the second factor.
 */
export async function resetFactors({ database }: Pick<Context, 'database'>, tenant: Scope, name: string) {
  await database.transaction(tenant, async (tx) => {
    await changeAccess(tx)
    const user = await findPrincipalByName(tx, { kind: 'user', name })
    if (user === undefined) throw new Problem('not_found', `User ${name} does not exist`)
    await removeFactors(tx, systemCaller({ tenantId: tx.tenantId, tenantName: '' }), user)
  })
}

async function removeFactors(tx: Transaction, actor: Actor, { id, name }: { id: string; name: string }): Promise<void> {
  await store.lockFactors(tx, id)
  await store.deleteTotp(tx, id)
  await store.deletePasskeys(tx, id)
  await store.deleteChallenges(tx, id)
  await store.replaceRecoveryCodes(tx, id, [])
  const ids = await endSessionsOf(tx, id)
  await revokeTokens(tx, { principalId: id, ids })
  const target = `user/${id}`
  await record(tx, actor, { action: 'identity.resetSecondFactor', target })
  await emit(tx, { type: 'identity.user.updated', subject: target, data: { name, changed: ['secondFactor'] } })
}
