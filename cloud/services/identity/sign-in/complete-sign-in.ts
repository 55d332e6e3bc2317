import { findAccess } from '../../../platform/access/store.ts'
import { record } from '../../../platform/audit/audit.ts'
import { type AnonymousCaller, answer } from '../../../platform/service.ts'
import type { Tenant } from '../../../platform/tenants/store.ts'
import type { IdentityContext } from '../context.ts'
import { type AuthorizationRequest, refusalLocation } from '../oauth/authorization-request.ts'
import { Refusal } from '../oauth/parameters.ts'
import { ProviderError } from '../providers/provider-error.ts'
import { linkProvider, type ProviderProof } from '../providers/provider-session.ts'
import * as store from '../store.ts'
import { beginSession, endSessionBefore, issueCode, keepSession } from './sessions.ts'

/** A person who proved their identity, and the authorization request that continues now. */
export type ProvenPerson = {
  tenant: Tenant
  principalId: string
  name: string
  /** How the person proved their identity (RFC 8176). */
  methods: string[]
  /** The hash of the password that the person entered. Absent if the person signed in with a provider. */
  passwordHash?: string
  /** The proof of the identity provider, if the person signed in with a provider. */
  provider?: ProviderProof
  request: AuthorizationRequest
  /** The headers of the browser. */
  headers: Readonly<Record<string, string | undefined>>
  visitor: AnonymousCaller
}

/**
 * Starts a session, issues a code and redirects to the program. All ways to sign in end here. Returns `undefined` when the
 * user is disabled, or when the password was changed during the sign-in.
 */
export async function completeSignIn(shared: IdentityContext, person: ProvenPerson) {
  const { tenant, principalId, name, request, headers, visitor } = person
  const { context } = shared
  const { baseUrl } = context.settings
  const outcome = await context.database.transaction({ tenantId: tenant.id }, async (tx) => {
    const access = await findAccess(tx, principalId)
    if (access === undefined || access.principal.disabled) return undefined
    const { passwordHash } = person
    if (passwordHash !== undefined && !(await store.holdPassword(tx, principalId, passwordHash))) return undefined
    const session = await beginSession(tx, context, {
      ...{ principalId, methods: person.methods, clientId: request.client.id },
      ...{ userAgent: headers['user-agent'], address: visitor.request.address },
    })
    const { provider } = person
    if (provider !== undefined && !(await linkProvider(context, tx, { sessionId: session.id, provider })))
      throw new ProviderError('provider_disabled', 'The identity provider was disabled or deleted during the sign-in')
    const location = await issueCode(tx, baseUrl, { sessionId: session.id, access, request }).catch(
      (error: unknown) => {
        if (!(error instanceof Refusal)) throw error
        return refusalLocation(request, error, baseUrl)
      },
    )
    await store.setLastSignIn(tx, principalId)
    const actor = { principal: { id: principalId, kind: access.principal.kind, name }, request: visitor.request }
    const unfamiliar = session.isUnfamiliar ? { unfamiliar: true } : {}
    const detail = { client: request.client.id, session: session.id, methods: person.methods, ...unfamiliar }
    await record(tx, actor, { action: 'identity.signIn', target: `user/${principalId}`, detail })
    return { location, session }
  })
  if (outcome === undefined) return undefined
  if (!request.client.silent) return redirect(303, outcome.location)
  await endSessionBefore(context, headers.cookie)
  return redirect(303, outcome.location, { 'set-cookie': keepSession(outcome.session, baseUrl) })
}

export function redirect(status: 302 | 303, location: string, headers: Record<string, string | string[]> = {}) {
  return answer(status, undefined, { location, 'cache-control': 'no-store', ...headers })
}
