import type { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { SignInPolicy } from '@millwright/api/sign-in-security.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { may, rightsOf } from '../../../platform/access/rights.ts'
import {
  getSignInPolicy,
  putSignInPolicy,
  type SignInPolicyRow,
} from '../../../platform/access/sign-in-policy-store.ts'
import { stepUpRequired } from '../../../platform/access/step-up.ts'
import { changeAccess, findAccess, type PrincipalAccess } from '../../../platform/access/store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { etagOf, requireMatch } from '../../../platform/http/etag.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import { findFactors, hasFactor } from '../factors/verify-factor.ts'
import * as store from '../store.ts'
import { endSessions } from './session-end.ts'
import { sessionWindow } from './session-limits.ts'

type Operations = 'readSignInPolicy' | 'updateSignInPolicy'

export function signInPolicyHandlers({
  context: { database },
}: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    async readSignInPolicy(_request, caller) {
      const policy = await database.lookup(caller, getSignInPolicy)
      return answer(200, { data: shown(policy) }, { etag: etagOf(policy.version) })
    },

    async updateSignInPolicy({ body, headers }, caller) {
      const policy = await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const before = await getSignInPolicy(tx)
        requireMatch(headers['if-match'], before.version)
        const after = await putSignInPolicy(tx, { ...before, ...body.data })
        if (after.secondFactor !== before.secondFactor) await requireOwnFactor(tx, after, caller)
        await endSessionsAgainst(tx, after)
        const detail = { before: shown(before), after: shown(after) }
        await record(tx, caller, { action: 'identity.updateSignInPolicy', target: 'sign-in-policy', detail })
        return after
      })
      return answer(200, { data: shown(policy) }, { etag: etagOf(policy.version) })
    },
  }
}

function shown({ version: _version, ...policy }: SignInPolicyRow): SignInPolicy {
  return policy
}

/** Refuses a policy that the caller does not satisfy, so that administrators try the second factor first. */
async function requireOwnFactor(tx: Transaction, policy: SignInPolicy, { principal: { id }, token }: Caller) {
  const access = await findAccess(tx, id)
  if (access === undefined || !isSecondFactorRequired(policy, access)) return
  if (!hasFactor(await findFactors(tx, id))) {
    throw new Problem(
      'second_factor_required',
      'This policy requires a second factor of you, and your account has none. Add an authenticator app or a passkey first',
    )
  }
  const session = token?.sessionId === undefined ? undefined : await store.findSessionById(tx, token.sessionId)
  if (session === undefined || !isSignInSufficient(session, policy, access))
    throw stepUpRequired('This policy requires a second factor of you, and you signed in without it', 0)
}

/**
 * Ends the sessions that the policy does not allow: sessions beyond its time limits, and sessions without a second factor
 * of users who must have one.
 */
async function endSessionsAgainst(tx: Transaction, policy: SignInPolicy): Promise<void> {
  const window = sessionWindow(policy, Date.now())
  const exceeding = await store.listExceedingSessions(tx, window)
  const unproven = policy.secondFactor === 'nobody' ? [] : await store.listSessionsWithoutSecondFactor(tx)
  const affected = new Map<string, boolean>()
  for (const { principalId } of unproven) {
    if (affected.has(principalId)) continue
    const access = await findAccess(tx, principalId)
    affected.set(principalId, access !== undefined && isSecondFactorRequired(policy, access))
  }
  const refused = unproven.filter(({ principalId }) => affected.get(principalId))
  const ended = new Map([...exceeding, ...refused].map((session) => [session.id, session]))
  await endSessions(tx, [...ended.values()])
}

/**
 * Returns whether the policy requires a second factor of a principal. Only local accounts of people can be required to
 * have one, because an identity provider has its own policy.
 */
export function isSecondFactorRequired(
  { secondFactor }: Pick<SignInPolicy, 'secondFactor'>,
  { principal, held }: Pick<PrincipalAccess, 'principal' | 'held'>,
): boolean {
  if (principal.kind !== 'user' || secondFactor === 'nobody') return false
  return secondFactor === 'everyone' || may({ rights: rightsOf(held) }, 'glb_access_manage')
}

/** Returns whether a session started with the second factor that the policy requires of its user. */
export function isSignInSufficient(
  { methods }: Pick<store.SessionRow, 'methods'>,
  policy: Pick<SignInPolicy, 'secondFactor'>,
  access: Pick<PrincipalAccess, 'principal' | 'held'>,
): boolean {
  return methods.includes('mfa') || !isSecondFactorRequired(policy, access)
}
