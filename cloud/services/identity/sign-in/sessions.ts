import { v7 } from 'uuid'
import { getSignInPolicy } from '../../../platform/access/sign-in-policy-store.ts'
import { findAccess, type PrincipalAccess } from '../../../platform/access/store.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { storableText } from '../../../platform/database/json.ts'
import type { Context } from '../../../platform/service.ts'
import { findTenantById, type Tenant } from '../../../platform/tenants/store.ts'
import { unavailabilityReason } from '../accounts/application.ts'
import { roleNames } from '../oauth/access-token.ts'
import { type AuthorizationRequest, codeLocation } from '../oauth/authorization-request.ts'
import { createOpaqueToken, type OpaqueToken, readOpaqueToken } from '../oauth/opaque-token.ts'
import { narrowed } from '../oauth/parameters.ts'
import * as store from '../store.ts'
import { readCookie, setCookie } from './cookie.ts'
import { longestUserAgent } from './device.ts'
import { isFamiliar, rememberDevice } from './familiar-device.ts'
import { endSessions } from './session-end.ts'
import { isLive, sessionLimits } from './session-limits.ts'
import { isSignInSufficient } from './sign-in-policy.ts'

const sessionCookie = 'millwright_session'
/** The lifetime of a code. One minute is enough, because the browser passes the code directly to the program. */
const codeSeconds = 60

export function sessionTokenOf(cookies: string | undefined, baseUrl: string): OpaqueToken | undefined {
  return readOpaqueToken(readCookie(cookies, sessionCookie, baseUrl))
}

/** `authenticatedAt` is the time when the user last proved their identity, in milliseconds since 1970. */
export type Session = { id: string; tenant: Tenant; access: PrincipalAccess; authenticatedAt: number }

/**
 * Returns the session of the browser that sent the cookies. Returns `undefined` when the session has ended or its user
 * may no longer sign in.
 */
export async function findSession(context: Context, cookies: string | undefined): Promise<Session | undefined> {
  const token = sessionTokenOf(cookies, context.settings.baseUrl)
  if (token === undefined) return undefined
  const tenant = await context.database.reference((handle) => findTenantById(handle, token.tenantId))
  if (tenant === undefined || unavailabilityReason(tenant, 'ui') !== undefined) return undefined
  return context.database.read({ tenantId: tenant.id }, async (handle) => {
    const session = await store.findSession(handle, token.hash)
    const policy = await getSignInPolicy(handle)
    if (session === undefined || !isLive(session, policy, Date.now())) return undefined
    const access = await findAccess(handle, session.principalId)
    if (access === undefined || access.principal.disabled || !isSignInSufficient(session, policy, access))
      return undefined
    return { id: session.id, tenant, access, authenticatedAt: Date.parse(session.authenticatedAt) }
  })
}

export type SessionStart = {
  principalId: string
  clientId: string
  userAgent: string | undefined
  address: string | undefined
  methods: readonly string[]
}

export type StartedSession = { id: string; token: string; cookieSeconds: number; isUnfamiliar: boolean }

/** Starts a new session for every sign-in. `endSessionBefore` ends the previous session of the browser. */
export async function beginSession(
  tx: Transaction,
  { secrets }: Pick<Context, 'secrets'>,
  start: SessionStart,
): Promise<StartedSession> {
  const { principalId, clientId, address, methods } = start
  const { absoluteHours } = await getSignInPolicy(tx)
  const id = v7()
  const token = createOpaqueToken(tx.tenantId)
  const device = { clientId, address, userAgent: storedUserAgent(start.userAgent) }
  const familiar = await isFamiliar(tx, secrets, { principalId, device })
  if (familiar) await rememberDevice(tx, secrets, { principalId, device })
  const now = Date.now()
  await store.insertSession(tx, {
    ...{ ...device, id, token, principalId, methods, unfamiliar: !familiar },
    now: new Date(now).toISOString(),
    expiresAt: new Date(now + absoluteHours * 3_600_000).toISOString(),
  })
  await endSessions(tx, await store.listSurplusSessions(tx, principalId, sessionLimits.perUser))
  return { id, token: token.text, cookieSeconds: absoluteHours * 3_600, isUnfamiliar: !familiar }
}

function storedUserAgent(userAgent: string | undefined): string {
  return storableText((userAgent ?? '').slice(0, longestUserAgent))
}

/** Stores that a session is used now. The stored time has a resolution of one minute. */
export async function useSession(tx: Transaction, id: string, address: string | undefined): Promise<void> {
  const now = Date.now()
  const unlessUsedAfter = new Date(now - sessionLimits.useMs).toISOString()
  await store.useSession(tx, id, { now: new Date(now).toISOString(), address, unlessUsedAfter })
}

/** Ends the session that the browser had before the sign-in. */
export async function endSessionBefore(context: Context, cookies: string | undefined): Promise<void> {
  const token = sessionTokenOf(cookies, context.settings.baseUrl)
  if (token === undefined) return
  await context.database.transaction({ tenantId: token.tenantId }, async (tx) => {
    const session = await store.findSession(tx, token.hash)
    if (session !== undefined) await endSessions(tx, [session])
  })
}

type Issue = { sessionId: string; access: PrincipalAccess; request: AuthorizationRequest }

/**
 * Issues an authorization code for the program and returns the redirect address. Refuses a scope that contains a role that
 * the user does not hold.
 */
export async function issueCode(tx: Transaction, issuer: string, { sessionId, access, request }: Issue) {
  const { client, redirectUri, challenge, scope } = request
  narrowed(roleNames(access.held), scope)
  const token = createOpaqueToken(tx.tenantId)
  await store.insertCode(tx, {
    token,
    principalId: access.principal.id,
    sessionId,
    familyId: v7(),
    clientId: client.id,
    scope: scope?.join(' ') ?? null,
    redirectUri,
    challenge,
    seconds: codeSeconds,
  })
  return codeLocation(request, token.text, issuer)
}

export function keepSession({ token, cookieSeconds }: StartedSession, baseUrl: string): string {
  return setCookie(sessionCookie, token, { seconds: cookieSeconds, sameSite: 'Lax', baseUrl })
}

export function forgetSession(baseUrl: string): string {
  return setCookie(sessionCookie, '', { seconds: 0, sameSite: 'Lax', baseUrl })
}
