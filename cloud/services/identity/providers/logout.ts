import type { identity } from '@millwright/api/identity.ts'
import { decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { useOnce } from '../../../platform/access/token-store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { limits } from '../../../platform/limits.ts'
import { isObject } from '../../../platform/plain-object.ts'
import { type AnonymousCaller, answer, type Handlers } from '../../../platform/service.ts'
import { findDirectoryEntry } from '../../../platform/tenants/store.ts'
import type { IdentityContext } from '../context.ts'
import { Refusal } from '../oauth/parameters.ts'
import { answerRefusals, uncached } from '../oauth/tokens.ts'
import { fieldText } from '../sign-in/form.ts'
import { endSessions } from '../sign-in/session-end.ts'
import { sessionIn } from './claims.ts'
import { externalPrincipalId } from './external-account.ts'
import { findIdToken, findProviderSessions } from './external-account-store.ts'
import { clockToleranceSeconds, signatureAlgorithms } from './provider-client.ts'
import { findProvider, idTokenOwner, type ProviderRow } from './provider-store.ts'

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** A logout token is accepted for this time after it was issued. */
const tokenAgeSeconds = 600

/** Handlers for sign-outs that start at the provider (OpenID Connect Back-Channel Logout 1.0). */
export function providerLogoutHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, 'backchannelLogout'> {
  const { database } = shared.context
  return {
    backchannelLogout: ({ params: { id }, body }, visitor) =>
      answerRefusals(async () => {
        const token = fieldText(body.logout_token)
        if (token === '' || token.length > limits.tokenBytes)
          throw new Refusal('invalid_request', 'logout_token is missing, too long or sent more than once')
        const entry = await database.reference((handle) => findDirectoryEntry(handle, { kind: 'provider', key: id }))
        const provider =
          entry && (await database.read({ tenantId: entry.tenantId }, (handle) => findProvider(handle, id)))
        if (entry === undefined || provider === undefined)
          throw new Refusal('invalid_request', 'No identity provider has this address')
        const claims = await verifyLogoutToken(shared, provider, token)
        const isNew = await useOnce(database, {
          tenantId: entry.tenantId,
          signer: `logout ${provider.id}`,
          id: String(claims.jti),
          expiresAt: (Number(claims.iat) + tokenAgeSeconds + clockToleranceSeconds) * 1000,
        })
        if (!isNew) throw new Refusal('invalid_request', 'The logout token was used before')
        await endProviderSession(shared, { tenantId: entry.tenantId, provider, claims, visitor })
        return answer(200, undefined, uncached)
      }),
  }
}

/** Verifies a logout token (OpenID Connect Back-Channel Logout 1.0 §2.6). */
async function verifyLogoutToken(
  { providers }: IdentityContext,
  { issuer, clientId }: ProviderRow,
  token: string,
): Promise<JWTPayload> {
  const claims = await verifiedClaims().catch((error: Error) => {
    throw new Refusal('invalid_request', `The logout token is not valid: ${error.message.slice(0, 200)}`)
  })
  const { events, nonce, sub, jti } = claims
  if (typeof jti !== 'string' || jti === '' || jti.length > 256)
    throw new Refusal('invalid_request', 'The logout token has no valid claim jti')
  if (!isObject(events) || !isObject(events[logoutEvent]))
    throw new Refusal('invalid_request', 'The logout token has no logout event')
  if (nonce !== undefined) throw new Refusal('invalid_request', 'The logout token has a nonce, so it is an ID token')
  if (sessionIn(claims) === undefined && (typeof sub !== 'string' || sub === ''))
    throw new Refusal('invalid_request', 'The logout token has neither sub nor sid')
  return claims

  async function verifiedClaims() {
    const { typ } = decodeProtectedHeader(token)
    if (typ !== undefined && !/^(application\/)?(logout\+jwt|jwt)$/i.test(typ))
      throw new Error('its type is not logout+jwt')
    const { keys } = await providers.discover(issuer)
    const { payload } = await jwtVerify(token, keys, {
      algorithms: signatureAlgorithms,
      issuer,
      audience: clientId,
      requiredClaims: ['iat', 'exp', 'jti'],
      maxTokenAge: tokenAgeSeconds,
      clockTolerance: clockToleranceSeconds,
    })
    return payload
  }
}

type Logout = { tenantId: string; provider: ProviderRow; claims: JWTPayload; visitor: AnonymousCaller }

async function endProviderSession({ context: { database } }: IdentityContext, logout: Logout): Promise<void> {
  const { tenantId, provider, claims, visitor } = logout
  const target = {
    providerId: provider.id,
    session: sessionIn(claims) ?? null,
    principalId: typeof claims.sub === 'string' ? externalPrincipalId(provider.issuer, claims.sub) : null,
  }
  const found = await database.read({ tenantId }, (handle) => findProviderSessions(handle, target))
  if (found.length === 0) return
  await database.transaction({ tenantId }, async (tx) => {
    const sessions = await findProviderSessions(tx, target)
    await endSessions(tx, sessions)
    const actor = { principal: { id: null, kind: 'external' as const, name: provider.name }, request: visitor.request }
    for (const [principalId, ended] of Map.groupBy(sessions, (session) => session.principalId)) {
      const detail = { provider: provider.name, sessions: ended.length }
      await record(tx, actor, { action: 'identity.backchannelLogout', target: `principal/${principalId}`, detail })
    }
  })
}

export type ProviderLogout = { tenantId: string; providerId: string; idToken: string }

/** Returns the ID token of a session before the session ends. Returns `undefined` for a session without a provider. */
export async function findProviderLogout(
  { context: { safe } }: IdentityContext,
  tx: Transaction,
  sessionId: string,
): Promise<ProviderLogout | undefined> {
  const stored = await findIdToken(tx, sessionId)
  if (stored === undefined) return undefined
  const idToken = (await safe.open(tx, stored.sealedIdToken, idTokenOwner(sessionId))).toString()
  return { tenantId: tx.tenantId, providerId: stored.providerId, idToken }
}

/**
 * Returns the address at which the user also signs out of the provider (OpenID Connect RP-Initiated Logout). Returns
 * `undefined` if the provider has none, is disabled or cannot be reached.
 */
export async function endSessionUrl(shared: IdentityContext, logout: ProviderLogout): Promise<string | undefined> {
  const { context, providers } = shared
  const { tenantId, providerId, idToken } = logout
  const provider = await context.database.read({ tenantId }, (handle) => findProvider(handle, providerId))
  if (provider === undefined || provider.disabled) return undefined
  const discovery = await providers.discover(provider.issuer).catch(() => undefined)
  if (discovery?.metadata.end_session_endpoint === undefined) return undefined
  const configuration = providers.configuration(provider, discovery, undefined)
  return client.buildEndSessionUrl(configuration, {
    id_token_hint: idToken,
    post_logout_redirect_uri: `${context.settings.baseUrl}/`,
  }).href
}
