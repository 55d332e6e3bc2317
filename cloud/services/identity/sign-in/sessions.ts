import { v7 } from 'uuid'
import { findAccess, type PrincipalAccess } from '../../../platform/access/store.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import type { Context } from '../../../platform/service.ts'
import { findTenantById, type Tenant } from '../../../platform/tenants/store.ts'
import { unavailabilityReason } from '../accounts/application.ts'
import { roleNames } from '../oauth/access-token.ts'
import { type AuthorizationRequest, codeLocation } from '../oauth/authorization-request.ts'
import { createOpaqueToken, type OpaqueToken, readOpaqueToken } from '../oauth/opaque-token.ts'
import { narrowed } from '../oauth/parameters.ts'
import * as store from '../store.ts'
import { readCookie, setCookie } from './cookie.ts'

const sessionCookie = 'millwright_session'
const sessionSeconds = 12 * 3_600
/** The lifetime of a code. One minute is enough, because the browser passes the code directly to the program. */
const codeSeconds = 60

export function sessionTokenOf(cookies: string | undefined): OpaqueToken | undefined {
  return readOpaqueToken(readCookie(cookies, sessionCookie))
}

export type Session = { id: string; tenant: Tenant; access: PrincipalAccess }

/**
 * Returns the session of the browser that sent the cookies. Returns `undefined` when its user may no longer sign in.
 */
export async function findSession(context: Context, cookies: string | undefined): Promise<Session | undefined> {
  const token = sessionTokenOf(cookies)
  if (token === undefined) return undefined
  const tenant = await context.database.reference((handle) => findTenantById(handle, token.tenantId))
  if (tenant === undefined || unavailabilityReason(tenant, 'ui') !== undefined) return undefined
  return context.database.read({ tenantId: tenant.id }, async (handle) => {
    const session = await store.findSession(handle, token.hash)
    const access = session && (await enabledAccess(handle, session.principalId))
    return access && { id: session.id, tenant, access }
  })
}

async function enabledAccess(handle: Handle, principalId: string): Promise<PrincipalAccess | undefined> {
  const access = await findAccess(handle, principalId)
  return access?.principal.disabled === false ? access : undefined
}

/** Starts a new session for every sign-in. `endSessionBefore` ends the previous session of the browser. */
export async function beginSession(tx: Transaction, principalId: string): Promise<{ id: string; token: string }> {
  const id = v7()
  const token = createOpaqueToken(tx.tenantId)
  await store.insertSession(tx, { id, token, principalId, seconds: sessionSeconds })
  return { id, token: token.text }
}

/** Ends the session that the browser had before the sign-in. */
export async function endSessionBefore(context: Context, cookies: string | undefined): Promise<void> {
  const token = sessionTokenOf(cookies)
  if (token === undefined) return
  await context.database.transaction({ tenantId: token.tenantId }, async (tx) => {
    const session = await store.findSession(tx, token.hash)
    if (session !== undefined) await store.endSession(tx, session.id)
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

export function keepSession(token: string, baseUrl: string): string {
  return setCookie(sessionCookie, token, { seconds: sessionSeconds, path: '/oauth', sameSite: 'Lax', baseUrl })
}

export function forgetSession(baseUrl: string): string {
  return setCookie(sessionCookie, '', { seconds: 0, path: '/oauth', sameSite: 'Lax', baseUrl })
}
