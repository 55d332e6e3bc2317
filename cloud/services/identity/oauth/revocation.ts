import type { identity } from '@millwright/api/identity.ts'
import { revocationIds, type TokenClaims, tokenAlgorithm, tokenAudience, tokenType } from '@millwright/api/token.ts'
import { createLocalJWKSet, type JWK, jwtVerify } from 'jose'
import { validate as isUuid } from 'uuid'
import { getSignInPolicy } from '../../../platform/access/sign-in-policy-store.ts'
import { changeAccess, findPrincipal } from '../../../platform/access/store.ts'
import { revokeTokens } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import { limits } from '../../../platform/limits.ts'
import { type AnonymousCaller, answer, type Handlers } from '../../../platform/service.ts'
import { findTenantById } from '../../../platform/tenants/store.ts'
import type { IdentityContext } from '../context.ts'
import { isLive } from '../sign-in/session-limits.ts'
import * as store from '../store.ts'
import { findPublicClient } from './client.ts'
import { hasAssertion } from './gateway-assertion.ts'
import { readOpaqueToken } from './opaque-token.ts'
import { optional, type Parameters, Refusal, refuseRepeated } from './parameters.ts'
import { readClient } from './token-request.ts'
import {
  answerRefusals,
  authenticated,
  gatewayClient,
  requirePublicClient,
  type TokenRequest,
  uncached,
} from './tokens.ts'

/** The permission that a server user needs to introspect tokens of other clients of its tenant. */
const introspectionPermission = 'glb_access_manage'

/** Handlers for token revocation (RFC 7009) and introspection (RFC 7662). */
export function revocationHandlers(
  shared: IdentityContext,
): Pick<Handlers<typeof identity>, 'revokeToken' | 'introspectToken'> {
  return {
    revokeToken: ({ body, headers }, visitor) =>
      answerRefusals(async () => {
        refuseRepeated(body)
        const request = { form: body, client: readClient(body, headers.authorization), visitor }
        const clientId = await clientOf(shared, request)
        const token = tokenIn(body)
        const claims = await readAccessToken(shared, token)
        if (claims === undefined) await revokeRefreshToken(shared, { token, clientId, visitor })
        else await revokeAccessToken(shared, { claims, clientId, visitor })
        return answer(200, undefined, uncached)
      }),

    introspectToken: ({ body, headers }, visitor) =>
      answerRefusals(async () => {
        refuseRepeated(body)
        const client = readClient(body, headers.authorization)
        if (findPublicClient(client.clientId) !== undefined)
          throw new Refusal('invalid_client', 'Only service accounts can introspect tokens')
        const { tenant, principal, held, clientId } = await authenticated(shared, { form: body, client, visitor })
        if (principal.disabled) throw new Refusal('access_denied', 'The service account is disabled')
        const readsAll = held.some(
          ({ accessGroupId, permissions }) => accessGroupId === null && permissions.includes(introspectionPermission),
        )
        const token = tokenIn(body)
        const claims = await readAccessToken(shared, token)
        const description =
          claims === undefined
            ? await describeRefreshToken(shared, token, tenant.id)
            : await describeAccessToken(shared, claims, tenant.id)
        const isVisible = description !== undefined && (readsAll || description.client_id === clientId)
        return answer(200, isVisible ? description : { active: false }, uncached)
      }),
  }
}

/** Returns the id of the client that sends the request. A client that has a secret or a key must authenticate. */
async function clientOf(shared: IdentityContext, request: TokenRequest): Promise<string> {
  if (hasAssertion(request.form)) return (await gatewayClient(shared, request)).clientId
  if (findPublicClient(request.client.clientId) !== undefined) return requirePublicClient(request.client).id
  return (await authenticated(shared, request)).clientId
}

/**
 * Returns the token of a request. The length limit of other parameters does not apply, because tokens can be longer.
 */
function tokenIn(form: Parameters): string {
  const token = typeof form.token === 'string' ? form.token : optional(form, 'token')
  if (token === undefined || token === '') throw new Refusal('invalid_request', 'token is missing')
  return token.slice(0, limits.tokenBytes)
}

async function readAccessToken({ context, keys }: IdentityContext, token: string): Promise<TokenClaims | undefined> {
  if (readOpaqueToken(token) !== undefined) return undefined
  const published = createLocalJWKSet({ keys: (await keys.published()) as JWK[] })
  try {
    const { payload } = await jwtVerify<TokenClaims>(token, published, {
      algorithms: [tokenAlgorithm],
      typ: tokenType,
      issuer: context.settings.baseUrl,
      audience: tokenAudience,
    })
    return payload
  } catch {
    return undefined
  }
}

type Revoked = { clientId: string; visitor: AnonymousCaller }

async function revokeAccessToken(
  { context: { database } }: IdentityContext,
  { claims, clientId, visitor }: Revoked & { claims: TokenClaims },
): Promise<void> {
  requireOwnToken(claims.client_id, clientId)
  const tenant = await database.reference((handle) => findTenantById(handle, claims.tenant))
  if (tenant === undefined || !isUuid(claims.jti)) return
  await database.transaction({ tenantId: tenant.id }, async (tx) => {
    const principal = await findPrincipal(tx, claims.sub)
    if (principal === undefined) return
    const revocation = { principalId: principal.id, ids: [claims.jti], expiresAtMs: claims.exp * 1000 }
    // If the token is already revoked, nothing is recorded, and no process has to reload the access data of the tenant.
    if ((await revokeTokens(tx, revocation)) === 0) return
    await changeAccess(tx)
    const detail = { clientId, token: 'access_token' }
    const target = `${principal.kind.replace('_', '-')}/${principal.id}`
    await record(tx, { principal, request: visitor.request }, { action: 'identity.revokeToken', target, detail })
  })
}

async function revokeRefreshToken(
  { context: { database } }: IdentityContext,
  { token, clientId, visitor }: Revoked & { token: string },
): Promise<void> {
  const opaque = readOpaqueToken(token)
  const tenant = opaque && (await database.reference((handle) => findTenantById(handle, opaque.tenantId)))
  if (opaque === undefined || tenant === undefined) return
  await database.transaction({ tenantId: tenant.id }, async (tx) => {
    const refreshToken = await store.lockRefreshToken(tx, opaque.hash)
    if (refreshToken === undefined) return
    requireOwnToken(refreshToken.clientId, clientId)
    await changeAccess(tx)
    await store.endFamily(tx, refreshToken.familyId)
    const { principalId } = refreshToken
    await revokeTokens(tx, { principalId, ids: [refreshToken.familyId] })
    const { kind = 'user', name = '' } = (await findPrincipal(tx, principalId)) ?? {}
    const actor = { principal: { id: principalId, kind, name }, request: visitor.request }
    const detail = { clientId, token: 'refresh_token' }
    await record(tx, actor, { action: 'identity.revokeToken', target: `user/${principalId}`, detail })
  })
}

function requireOwnToken(owner: string, clientId: string): void {
  if (owner !== clientId) throw new Refusal('unauthorized_client', 'The token was issued to another client')
}

async function describeAccessToken({ context }: IdentityContext, claims: TokenClaims, tenantId: string) {
  if (claims.tenant !== tenantId) return undefined
  const access = await context.access.of(tenantId, claims.sub)
  if (access === undefined || access.principal.disabled) return undefined
  if (revocationIds(claims).some((id) => access.revoked.has(id))) return undefined
  const { client_id, exp, iat, sub, aud, iss, jti, tenant, kind, roles, scope, auth_time, amr } = claims
  return {
    active: true,
    ...(scope === undefined ? {} : { scope }),
    ...{ client_id, username: access.principal.name, token_type: 'Bearer' },
    ...{ exp, iat, sub, aud, iss, jti, tenant, kind, roles },
    ...(auth_time === undefined ? {} : { auth_time }),
    ...(amr === undefined ? {} : { amr }),
  }
}

async function describeRefreshToken({ context }: IdentityContext, token: string, tenantId: string) {
  const opaque = readOpaqueToken(token)
  if (opaque === undefined || opaque.tenantId !== tenantId) return undefined
  const refreshToken = await context.database.read({ tenantId }, async (handle) => {
    const token = await store.findRefreshToken(handle, opaque.hash)
    const session = token && (await store.findSessionById(handle, token.sessionId))
    return session && isLive(session, await getSignInPolicy(handle), Date.now()) ? token : undefined
  })
  if (refreshToken === undefined) return undefined
  const access = await context.access.of(tenantId, refreshToken.principalId)
  if (access === undefined || access.principal.disabled) return undefined
  const { clientId: client_id, principalId: sub, scope } = refreshToken
  return {
    active: true,
    ...(scope === null ? {} : { scope }),
    ...{ client_id, username: access.principal.name, token_type: 'refresh_token', sub, tenant: tenantId },
  }
}
