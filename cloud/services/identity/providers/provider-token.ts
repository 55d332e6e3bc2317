import type { identity } from '@millwright/api/identity.ts'
import { decodeJwt, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose'
import { findAccess } from '../../../platform/access/store.ts'
import type { AnonymousCaller, Handlers } from '../../../platform/service.ts'
import { findDirectoryEntry, findTenantById } from '../../../platform/tenants/store.ts'
import { unavailabilityReason } from '../accounts/application.ts'
import type { IdentityContext } from '../context.ts'
import { applyClaims } from './external-account.ts'
import { clockToleranceSeconds, signatureAlgorithms } from './provider-client.ts'
import { ProviderError } from './provider-error.ts'
import { findProvider, type ProviderRow } from './provider-store.ts'
import { issuerKey } from './providers.ts'

/** The maximum number of audiences of a token for which the platform looks for a provider. */
const mostAudiences = 20

/** `TokenRefusal` refuses a token of a provider. The message continues the sentence "The access token is not accepted:". */
class TokenRefusal extends Error {}

/**
 * Handlers for access tokens of identity providers. A token gives its bearer the roles to which the provider maps the
 * claims of the token.
 */
export function providerTokenHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, 'verifyProviderToken'> {
  return {
    async verifyProviderToken({ body }, { request }) {
      try {
        return { data: { isValid: true as const, ...(await verified(shared, body.data.token, request)) } }
      } catch (error) {
        const reason = reasonOf(error)
        if (reason === undefined) throw error
        shared.context.log.debug({ requestId: request.id, reason }, 'token of an identity provider refused')
        return { data: { isValid: false as const, reason } }
      }
    },
  }
}

async function verified(shared: IdentityContext, token: string, request: AnonymousCaller['request']) {
  const { database } = shared.context
  const { tenantId, provider } = await providerOf(shared, decodeJwt(token))
  const { keys } = await shared.providers.discover(provider.issuer)
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    algorithms: signatureAlgorithms,
    issuer: provider.issuer,
    audience: provider.apiAudience ?? '',
    requiredClaims: ['exp', 'iat', 'sub'],
    clockTolerance: clockToleranceSeconds,
  })
  requireAccessToken(payload, protectedHeader, provider)
  const { iat = 0, exp = 0, auth_time: authTime } = payload
  if (iat > Date.now() / 1000 + clockToleranceSeconds) throw new TokenRefusal('it was issued in the future')
  const claims = { ...payload, iat }
  const { id, mapped } = await applyClaims(shared.context, { tenantId, provider, claims, isSignIn: false, request })
  return database.read({ tenantId }, async (handle) => {
    // The version is read before the provider. A later change of the provider has a higher version.
    const access = await findAccess(handle, id)
    const current = await findProvider(handle, provider.id)
    if (access === undefined || current === undefined || current.disabled || current.version !== provider.version)
      throw new TokenRefusal('its identity provider was changed. Try again')
    return {
      tenantId,
      principalId: id,
      grants: mapped,
      expiresAt: exp * 1000,
      accessVersion: access.version,
      ...(typeof authTime === 'number' ? { authenticatedAt: Math.min(authTime * 1000, Date.now()) } : {}),
    }
  })
}

/**
 * Returns the provider of the issuer and audience that a token claims. The token is not verified yet. A token for the
 * audiences of several providers is refused. Otherwise a tenant could take over the requests of another tenant that uses
 * the same issuer.
 */
async function providerOf({ context: { database } }: IdentityContext, { iss, aud }: JWTPayload) {
  const keys = [aud ?? []].flat().map((audience) => issuerKey(String(iss), String(audience)))
  if (keys.length > mostAudiences) throw new TokenRefusal('it has too many audiences')
  const entries = await database.reference(async (handle) => {
    const found = []
    for (const key of new Set(keys)) found.push(await findDirectoryEntry(handle, { kind: 'issuer', key }))
    return found.filter((entry) => entry !== undefined)
  })
  const [entry, ...more] = entries
  if (more.length > 0) throw new TokenRefusal('its audiences belong to several identity providers')
  const tenant = entry && (await database.reference((handle) => findTenantById(handle, entry.tenantId)))
  if (entry === undefined || tenant === undefined)
    throw new TokenRefusal('no identity provider is configured for its issuer and audience')
  if (unavailabilityReason(tenant, 'api') !== undefined)
    throw new TokenRefusal('the application api is not available for its tenant')
  const provider = await database.read({ tenantId: tenant.id }, (handle) => findProvider(handle, entry.principalId))
  if (provider === undefined || provider.disabled) throw new TokenRefusal('its identity provider is disabled')
  return { tenantId: tenant.id, provider }
}

/** Refuses ID tokens, logout tokens and refresh tokens. They have the same issuer and are signed with the same keys. */
function requireAccessToken(payload: JWTPayload, { typ }: JWTHeaderParameters, { clientId }: ProviderRow): void {
  const isAccessType = typ === undefined || /^(application\/)?(at\+jwt|jwt)$/i.test(typ)
  const isIdToken = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'].some((claim) => payload[claim] !== undefined)
  const isOtherKeycloakType = typeof payload.typ === 'string' && payload.typ !== 'Bearer'
  if (!isAccessType || isIdToken || isOtherKeycloakType || [payload.aud].flat().includes(clientId))
    throw new TokenRefusal('it is not an access token')
}

/** Returns why a token is refused. Returns `undefined` for an error of the platform. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof TokenRefusal) return error.message
  if (error instanceof ProviderError) {
    if (error.code === 'group_overage' || error.code === 'too_many_groups') return 'its user is in too many groups'
    return error.code === 'invalid_subject' ? 'its claim sub is not valid' : 'its identity provider cannot be reached'
  }
  if (!(error instanceof errors.JOSEError)) return undefined
  const { code, claim } = error as errors.JOSEError & { claim?: string }
  if (code === 'ERR_JWT_EXPIRED') return 'it has expired'
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED') return `its claim ${claim} is not valid`
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return 'its signature is not valid'
  if (code === 'ERR_JOSE_ALG_NOT_ALLOWED') return 'its algorithm is not allowed'
  if (code === 'ERR_JWKS_TIMEOUT') return 'its identity provider cannot be reached'
  if (code === 'ERR_JWKS_NO_MATCHING_KEY') return 'it is signed with an unknown key'
  return 'it is not a valid token'
}
