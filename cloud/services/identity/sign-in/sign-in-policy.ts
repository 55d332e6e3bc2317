import type { identity } from '@millwright/api/identity.ts'
import type { SignInPolicy } from '@millwright/api/sign-in-security.ts'
import { may, rightsOf } from '../../../platform/access/rights.ts'
import {
  getSignInPolicy,
  putSignInPolicy,
  type SignInPolicyRow,
} from '../../../platform/access/sign-in-policy-store.ts'
import { changeAccess, type PrincipalAccess } from '../../../platform/access/store.ts'
import { record } from '../../../platform/audit/audit.ts'
import { etagOf, requireMatch } from '../../../platform/http/etag.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'

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
