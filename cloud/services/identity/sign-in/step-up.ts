import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { getSignInPolicy } from '../../../platform/access/sign-in-policy-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import { isPassword } from '../accounts/password-hash.ts'
import type { IdentityContext } from '../context.ts'
import { findFactors, hasFactor, startPasskeyCheck, verifyFactor } from '../factors/verify-factor.ts'
import * as store from '../store.ts'
import { isLive } from './session-limits.ts'

type Operations = 'startStepUp' | 'stepUp'
type Method = 'password' | 'totp' | 'passkey' | 'recovery-code' | 'provider'
type Proof = { password?: string; code?: string; passkey?: Record<string, unknown> }

const action = 'identity.stepUp'

/**
 * Handlers with which a signed-in user proves their identity again. A user with a second factor must use it, because the
 * password alone would be weaker than the sign-in.
 */
export function stepUpHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  const { database } = shared.context
  return {
    async startStepUp(_request, caller) {
      const data = await database.transaction(caller, async (tx) => {
        await getSession(tx, caller)
        if (caller.principal.kind === 'external') return { methods: ['provider' as const] }
        const factors = await findFactors(tx, caller.principal.id)
        if (!hasFactor(factors)) return { methods: ['password' as const] }
        const passkeyOptions = await startPasskeyCheck(shared, tx, caller.principal.id)
        const methods: Method[] = [
          ...(factors.hasTotp ? (['totp'] as const) : []),
          ...(passkeyOptions === undefined ? [] : (['passkey'] as const)),
          ...(factors.recoveryCodes > 0 ? (['recovery-code'] as const) : []),
        ]
        return { methods, ...(passkeyOptions === undefined ? {} : { passkeyOptions }) }
      })
      return { data }
    },

    async stepUp({ body: { data: proof } }, caller) {
      const factors = await database.read(caller, async (handle) => {
        await getSession(handle, caller)
        return findFactors(handle, caller.principal.id)
      })
      const methods = await verify(shared, caller, { proof, mustUseFactor: hasFactor(factors) })
      await database.transaction(caller, async (tx) => {
        // The session can end while the proof is checked.
        const session = await getSession(tx, caller)
        const now = new Date().toISOString()
        const all = [...new Set([...session.methods, ...methods])]
        await store.setAuthenticated(tx, session.id, { now, methods: all })
        const detail = { session: session.id, methods }
        await record(tx, caller, { action, target: `user/${caller.principal.id}`, detail })
      })
      return answer(204)
    },
  }
}

/** Returns the session of the caller's token. Only people who signed in have a session. */
async function getSession(handle: Handle, caller: Caller): Promise<store.SessionRow> {
  const id = caller.token?.sessionId
  const session = id === undefined ? undefined : await store.findSessionById(handle, id)
  const isOwn = session?.principalId === caller.principal.id
  if (session !== undefined && isOwn && isLive(session, await getSignInPolicy(handle), Date.now())) return session
  throw new Problem('conflict', 'Your token does not belong to a sign-in session. Sign in to confirm your identity')
}

type Check = { proof: Proof; mustUseFactor: boolean }

/** Checks the proof and returns the methods (RFC 8176). */
async function verify(shared: IdentityContext, caller: Caller, { proof, mustUseFactor }: Check): Promise<string[]> {
  const { password, code, passkey } = proof
  if (caller.principal.kind === 'external')
    throw new Problem('conflict', 'Your account has no password here. Sign in again with your identity provider')
  if ([password, code, passkey].filter((each) => each !== undefined).length !== 1)
    throw new Problem('invalid_body', 'Send exactly one of password, code and passkey')
  if (!mustUseFactor) {
    if (password !== undefined) return verifyPassword(shared, caller, password)
    throw new Problem('conflict', 'Your account has no second factor. Send your password')
  }
  if (password !== undefined)
    throw new Problem('conflict', 'Your account has a second factor. Send a code or the response of a passkey')
  return verifyFactor(shared, caller, { code, passkey, action })
}

async function verifyPassword({ context, guard }: IdentityContext, caller: Caller, password: string) {
  const { principal, request, tenantId } = caller
  const stored = await context.database.read(caller, (handle) => store.findPassword(handle, principal.id))
  if (stored === undefined) throw new Problem('conflict', 'Your account has no password. Sign in again')
  const attempt = { subject: `user ${principal.name}@${caller.tenantName}`, address: request.address }
  const user = { id: principal.id, kind: 'user' as const, name: principal.name }
  const outcome = await guard.checkPassword({ attempt, action, requestId: request.id, tenantId }, async () => ({
    isCorrect: await isPassword(password, stored.hash),
    tenantId,
    principal: user,
  }))
  if ('wait' in outcome) {
    const retryAfter = outcome.wait
    throw new Problem('too_many_requests', 'Too many wrong passwords. Wait before you try again.', { retryAfter })
  }
  if (!outcome.isCorrect) throw new Problem('wrong_password', 'The password is wrong')
  return ['pwd']
}
