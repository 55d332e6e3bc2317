import { createHash } from 'node:crypto'
import type { identity } from '@millwright/api/identity.ts'
import type { TokenKind } from '@millwright/api/token.ts'
import { getSignInPolicy } from '../../../platform/access/sign-in-policy-store.ts'
import { changeAccess, findAccess, findPrincipal } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { sameBytes } from '../../../platform/secrets/secrets.ts'
import { type AnonymousCaller, type Answer, answer, type Handlers } from '../../../platform/service.ts'
import { type Application, findDirectoryEntry, findTenantById, type Tenant } from '../../../platform/tenants/store.ts'
import { WindowLimit } from '../../../platform/window-limit.ts'
import { unavailabilityReason } from '../accounts/application.ts'
import { isClientId } from '../accounts/server-user.ts'
import type { IdentityContext } from '../context.ts'
import { absoluteEnd, isLive, tokenEnd } from '../sign-in/session-limits.ts'
import { useSession } from '../sign-in/sessions.ts'
import { isSignInSufficient } from '../sign-in/sign-in-policy.ts'
import * as store from '../store.ts'
import { type Bearer, claimsFor, roleNames, signToken } from './access-token.ts'
import { findPublicClient, type PublicClient } from './client.ts'
import { authenticatedGateway, hasAssertion } from './gateway-assertion.ts'
import { createOpaqueToken, hashOf, readOpaqueToken } from './opaque-token.ts'
import {
  narrowed,
  type OAuthError,
  optional,
  type Parameters,
  Refusal,
  readScope,
  refuseRepeated,
  required,
} from './parameters.ts'
import { type ClientCredentials, readClient } from './token-request.ts'

/**
 * The limit of audit entries for issued tokens: one entry for each client in ten minutes, because programs request tokens
 * all day.
 */
const recordedPerClient = { most: 1, windowMs: 10 * 60_000 }

export type TokenRequest = { form: Parameters; client: ClientCredentials; visitor: AnonymousCaller }

type TokenAnswer = {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  scope?: string
  refresh_token?: string
}

export function tokenHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, 'token'> {
  const recorded = new WindowLimit(recordedPerClient)
  const grants: Record<string, (request: TokenRequest) => Promise<TokenAnswer>> = {
    client_credentials: (request) => clientCredentials(shared, request, recorded),
    authorization_code: (request) => authorizationCode(shared, request),
    refresh_token: (request) => refreshToken(shared, request),
  }
  return {
    token: ({ body, headers }, visitor) =>
      answerRefusals(async () => {
        refuseRepeated(body)
        const client = readClient(body, headers.authorization)
        const grant = Object.hasOwn(grants, required(body, 'grant_type')) ? grants[String(body.grant_type)] : undefined
        if (grant === undefined) {
          throw new Refusal('unsupported_grant_type', `grant_type must be one of ${Object.keys(grants).join(', ')}`)
        }
        return answer(200, await grant({ form: body, client, visitor }), uncached)
      }),
  }
}

/** Converts a `Refusal` into an error response (RFC 6749 §5.2). */
export async function answerRefusals<Body>(
  work: () => Promise<Answer<Body>>,
): Promise<Answer<Body> | ReturnType<typeof refused>> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return refused(error)
  }
}

export const uncached = { 'cache-control': 'no-store', pragma: 'no-cache' }

const statuses: Partial<Record<OAuthError, number>> = { invalid_client: 401, access_denied: 403, slow_down: 429 }

function refused({ error, message, retryAfter }: Refusal) {
  const status = statuses[error] ?? 400
  return answer(
    status,
    { error, error_description: message },
    {
      ...uncached,
      ...(status === 401 ? { 'www-authenticate': 'Basic realm="millwright", charset="UTF-8"' } : {}),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
  )
}

async function clientCredentials(
  shared: IdentityContext,
  request: TokenRequest,
  recorded: WindowLimit,
): Promise<TokenAnswer> {
  const { tenant, principal, held, clientId, ...binding } = hasAssertion(request.form)
    ? await gatewayClient(shared, request)
    : await authenticated(shared, request)
  requireApplication(tenant, 'api')
  if (principal.disabled) throw new Refusal('invalid_client', 'The service account is disabled')
  const scope = readScope(optional(request.form, 'scope'))
  const roles = narrowed(roleNames(held), scope)
  if (recorded.take(clientId)) {
    const actor = { principal, request: request.visitor.request }
    const detail = { grant: 'client_credentials', clientId }
    await shared.context.database.transaction({ tenantId: tenant.id }, (tx) =>
      record(tx, actor, { action: 'identity.token', target: `${targets[principal.kind]}/${principal.id}`, detail }),
    )
  }
  return bearerAnswer(shared, { tenant, principal, clientId, roles, scope, ...binding })
}

const targets = { server_user: 'server-user', gateway: 'gateway' } as const

export async function gatewayClient(shared: IdentityContext, request: TokenRequest) {
  const { key, tenant, principal, held, clientId } = await authenticatedGateway(shared, request)
  // The token of a gateway contains only the `gateway` role. The other roles of the gateway apply to the assets that
  // the discovery service writes for it.
  const own = held.filter(({ role }) => role === 'gateway')
  return { tenant, principal, held: own, clientId, keyThumbprint: key.thumbprint }
}

/** Returns the server user with this client id and secret. Throws `Refusal` if the client id or the secret is wrong. */
export async function authenticated(
  shared: IdentityContext,
  { client: { clientId, clientSecret }, visitor }: TokenRequest,
) {
  if (findPublicClient(clientId) !== undefined) {
    throw new Refusal('unauthorized_client', 'This client is for users: use grant_type authorization_code')
  }
  if (clientId === undefined || clientSecret === undefined) {
    throw new Refusal('invalid_client', 'client_id and client_secret are required, in the form or by HTTP Basic')
  }
  const attempt = { subject: `client ${clientId}`, address: visitor.request.address }
  const retryAfter = shared.guard.waitFor(attempt)
  if (retryAfter > 0)
    throw new Refusal('slow_down', 'Too many wrong secrets. Wait before you try again.', { retryAfter })

  const account = await findClient(shared, clientId)
  const isCorrect = account !== undefined && sameBytes(hashOf(clientSecret), account.hash)
  const signIn = { attempt, action: 'identity.token', requestId: visitor.request.id }
  await shared.guard.recordSecretCheck(signIn, {
    isCorrect,
    tenantId: account?.tenant.id,
    principal: account?.principal,
  })
  if (!isCorrect) throw new Refusal('invalid_client', 'The client id or the client secret is wrong')
  const { tenant, principal, held, family } = account
  return { tenant, principal, held, clientId, family }
}

async function findClient({ context: { database } }: IdentityContext, clientId: string) {
  if (!isClientId(clientId)) return undefined
  const place = await database.reference(async (handle) => {
    const entry = await findDirectoryEntry(handle, { kind: 'client', key: clientId })
    return entry && { tenant: await findTenantById(handle, entry.tenantId) }
  })
  const tenant = place?.tenant
  if (tenant === undefined) return undefined
  return database.read({ tenantId: tenant.id }, async (handle) => {
    const secret = await store.findSecret(handle, clientId)
    if (secret === undefined) return undefined
    const access = await findAccess(handle, secret.principalId)
    if (access === undefined || access.principal.kind !== 'server_user') return undefined
    const principal = { ...access.principal, kind: access.principal.kind }
    return { tenant, hash: secret.hash, family: secret.tokenFamily, principal, held: access.held }
  })
}

function requireApplication(tenant: Tenant, application: Application): void {
  const reason = unavailabilityReason(tenant, application)
  if (reason !== undefined) throw new Refusal('unauthorized_client', reason)
}

type BearerInput = {
  tenant: Tenant
  principal: { id: string; kind: TokenKind }
  clientId: string
  roles: string[]
  scope: readonly string[] | undefined
  sessionId?: string
  family?: string
  keyThumbprint?: string
  signIn?: NonNullable<Bearer['signIn']>
}

async function bearerAnswer(
  { context: { settings }, keys }: IdentityContext,
  bearing: BearerInput,
): Promise<TokenAnswer> {
  const claims = claimsFor(bearing, settings, new Date())
  return {
    access_token: await signToken(claims, keys),
    token_type: 'Bearer',
    expires_in: claims.exp - claims.iat,
    ...(bearing.scope === undefined ? {} : { scope: bearing.scope.join(' ') }),
  }
}

/** Returns a program with which users sign in. The program has no secret, so a request with a secret is refused. */
export function requirePublicClient({ clientId, clientSecret }: ClientCredentials): PublicClient {
  if (clientId === undefined) throw new Refusal('invalid_request', 'client_id is missing')
  const client = findPublicClient(clientId)
  if (client === undefined)
    throw new Refusal('unauthorized_client', 'This grant_type is only for clients that users sign in with')
  if (clientSecret !== undefined) throw new Refusal('invalid_client', 'This client has no secret')
  return client
}

const unusable = new Refusal(
  'invalid_grant',
  'The code or token is invalid, expired, already used or issued to another client',
)

/** The access that a redeemed code or refresh token grants, and the next refresh token. */
type RedeemedGrant = {
  granted: store.GrantedAccess
  principal: Person
  held: string[]
  refreshToken: string
  signIn: NonNullable<Bearer['signIn']>
}

/** A principal that signs in with a browser. */
type Person = { id: string; kind: 'user' | 'external'; name: string }

async function authorizationCode(
  shared: IdentityContext,
  { form, client, visitor }: TokenRequest,
): Promise<TokenAnswer> {
  const { id: clientId } = requirePublicClient(client)
  const redirectUri = required(form, 'redirect_uri')
  const verifier = required(form, 'code_verifier')
  const code = readOpaqueToken(required(form, 'code'))
  const tenant = await findUsableTenant(shared, code?.tenantId)
  if (code === undefined || tenant === undefined) throw unusable

  const redeemed = await shared.context.database.transaction({ tenantId: tenant.id }, async (tx) => {
    const access = await store.lockCode(tx, code.hash)
    if (access === undefined) return undefined
    if (access.used) {
      // `revokeStolen` revokes all tokens of the code. The code is deleted, so that a further replay does not revoke
      // these tokens and record the theft again.
      await store.deleteCode(tx, code.hash)
      return revokeStolen(tx, { access, visitor, grant: 'authorization_code', reason: 'used_twice' })
    }
    if (access.clientId !== clientId || access.redirectUri !== redirectUri) return undefined
    await store.useCode(tx, code.hash)
    // A wrong verifier also uses the code up, so that an attacker cannot guess again.
    if (challengeOf(verifier) !== access.challenge)
      return revokeStolen(tx, { access, visitor, grant: 'authorization_code', reason: 'wrong_verifier' })
    const next = await renew(tx, access, visitor)
    if (next === undefined) return undefined
    const { principal } = next
    const detail = { grant: 'authorization_code', clientId }
    const target = `user/${principal.id}`
    await record(tx, { principal, request: visitor.request }, { action: 'identity.token', target, detail })
    return next
  })
  if (redeemed === undefined) throw unusable
  const requestedScope = scopeOf(redeemed.granted)
  // The current roles are used, because roles that the user held at the sign-in may have been revoked.
  return userAnswer(shared, tenant, {
    ...redeemed,
    scope: requestedScope?.filter((name) => redeemed.held.includes(name)),
  })
}

async function refreshToken(shared: IdentityContext, { form, client, visitor }: TokenRequest): Promise<TokenAnswer> {
  const { id: clientId } = requirePublicClient(client)
  const token = readOpaqueToken(required(form, 'refresh_token'))
  const requestedScope = readScope(optional(form, 'scope'))
  const tenant = await findUsableTenant(shared, token?.tenantId)
  if (token === undefined || tenant === undefined) throw unusable

  const redeemed = await shared.context.database.transaction({ tenantId: tenant.id }, async (tx) => {
    const access = await store.lockRefreshToken(tx, token.hash)
    if (access === undefined || access.clientId !== clientId) return undefined
    if (access.used) return revokeStolen(tx, { access, visitor, grant: 'refresh_token', reason: 'used_twice' })
    await store.useRefreshToken(tx, token.hash)
    const next = await renew(tx, access, visitor)
    if (next === undefined) return undefined
    const granted = scopeOf(access)?.filter((name) => next.held.includes(name))
    // An invalid scope is refused within the transaction. The rollback keeps the refresh token unused.
    if (requestedScope !== undefined) narrowed(granted ?? next.held, requestedScope)
    return { ...next, scope: requestedScope ?? granted }
  })
  if (redeemed === undefined) throw unusable
  return userAnswer(shared, tenant, redeemed)
}

async function findUsableTenant(
  { context }: IdentityContext,
  tenantId: string | undefined,
): Promise<Tenant | undefined> {
  if (tenantId === undefined) return undefined
  const tenant = await context.database.reference((handle) => findTenantById(handle, tenantId))
  if (tenant !== undefined) requireApplication(tenant, 'ui')
  return tenant
}

type StolenToken = {
  access: store.GrantedAccess
  visitor: AnonymousCaller
  grant: 'authorization_code' | 'refresh_token'
  reason: 'used_twice' | 'wrong_verifier'
}

/**
 * Revokes the token family of a code or a refresh token that was used twice, or of a code that was used with a wrong
 * verifier. Such a code or token may be stolen.
 */
async function revokeStolen(tx: Transaction, theft: StolenToken): Promise<undefined> {
  const { principalId, familyId, clientId } = theft.access
  await changeAccess(tx)
  await store.endFamily(tx, familyId)
  await revokeTokens(tx, { principalId, ids: [familyId] })
  const { kind = 'user', name = '' } = (await findPrincipal(tx, principalId)) ?? {}
  await record(
    tx,
    { principal: { id: principalId, kind, name }, request: theft.visitor.request },
    {
      action: 'identity.token',
      target: `user/${principalId}`,
      outcome: 'denied',
      detail: { grant: theft.grant, clientId, reason: theft.reason },
    },
  )
  return undefined
}

/**
 * Creates the next refresh token of the family. Returns `undefined` when the session has ended, the policy now requires a
 * second factor, or the user may no longer sign in.
 */
async function renew(
  tx: Transaction,
  granted: store.GrantedAccess & { familyExpiresAt?: string },
  visitor: AnonymousCaller,
): Promise<RedeemedGrant | undefined> {
  const access = await findAccess(tx, granted.principalId)
  if (access === undefined || access.principal.disabled) return undefined
  const { id, kind, name } = access.principal
  if (kind !== 'user' && kind !== 'external') return undefined
  const session = await store.findSessionById(tx, granted.sessionId)
  const policy = await getSignInPolicy(tx)
  const now = Date.now()
  if (session === undefined || !isLive(session, policy, now)) return undefined
  if (!isSignInSufficient(session, policy, access)) return undefined
  await useSession(tx, session.id, visitor.request.address)
  const token = createOpaqueToken(tx.tenantId)
  const sessionEndsAt = absoluteEnd(session, policy)
  const familyEndsAt = Math.min(sessionEndsAt, Date.parse(granted.familyExpiresAt ?? session.expiresAt))
  const familyExpiresAt = new Date(familyEndsAt).toISOString()
  await store.insertRefreshToken(tx, { ...granted, token, idleSeconds: policy.idleMinutes * 60, familyExpiresAt })
  const { methods, authenticatedAt } = session
  return {
    granted,
    principal: { id, kind, name },
    held: roleNames(access.held),
    refreshToken: token.text,
    signIn: { authenticatedAt: new Date(authenticatedAt), methods, endsAt: tokenEnd(session, policy, now) },
  }
}

type RenewedGrant = RedeemedGrant & { scope: readonly string[] | undefined }

async function userAnswer(
  shared: IdentityContext,
  tenant: Tenant,
  { granted, principal, held, scope, refreshToken, signIn }: RenewedGrant,
) {
  const { clientId, sessionId, familyId: family } = granted
  const roles = scope === undefined ? held : [...scope]
  const bearer = await bearerAnswer(shared, { tenant, principal, clientId, roles, scope, sessionId, family, signIn })
  return { ...bearer, refresh_token: refreshToken }
}

function scopeOf({ scope }: store.GrantedAccess): string[] | undefined {
  return scope === null ? undefined : scope.split(' ')
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
