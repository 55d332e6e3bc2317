import { errors, importJWK, jwtVerify } from 'jose'
import { findAccess } from '../../../platform/access/store.ts'
import { useOnce } from '../../../platform/access/token-store.ts'
import type { AnonymousCaller } from '../../../platform/service.ts'
import { findDirectoryEntry, findTenantById } from '../../../platform/tenants/store.ts'
import { findGatewayKey } from '../accounts/gateway-store.ts'
import type { IdentityContext } from '../context.ts'
import { optional, type Parameters, Refusal } from './parameters.ts'

/** The type of an assertion that the client signed to authenticate itself (RFC 7523 §2.2). */
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const clockToleranceSeconds = 60
const longestLifetimeSeconds = 300

const longestId = 128

const clientIds = /^gw_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

export function gatewayClientId(gatewayId: string): string {
  return `gw_${gatewayId}`
}

export function hasAssertion(form: Parameters): boolean {
  return optional(form, 'client_assertion') !== undefined
}

/**
 * Returns the gateway that signed the assertion. Throws `Refusal` when the assertion is not valid. Each assertion is
 * accepted only once over all processes.
 */
export async function authenticatedGateway(
  shared: IdentityContext,
  { form, visitor }: { form: Parameters; visitor: AnonymousCaller },
) {
  if (optional(form, 'client_assertion_type') !== assertionType)
    throw new Refusal('invalid_client', `client_assertion_type must be ${assertionType}`)
  const assertion = optional(form, 'client_assertion') ?? ''
  const clientId = clientOf(assertion)
  const attempt = { subject: `client ${clientId}`, address: visitor.request.address }
  const retryAfter = shared.guard.waitFor(attempt)
  if (retryAfter > 0)
    throw new Refusal('slow_down', 'Too many invalid assertions. Wait before you try again.', { retryAfter })
  const gateway = await findGateway(shared, clientId)
  const why =
    gateway === undefined
      ? 'the gateway does not exist'
      : await invalidityReason(shared, assertion, { gateway, clientId })
  const signIn = { attempt, action: 'identity.token', requestId: visitor.request.id }
  await shared.guard.recordSecretCheck(signIn, {
    isCorrect: why === undefined,
    tenantId: gateway?.tenant.id,
    principal: gateway?.principal,
  })
  if (gateway === undefined || why !== undefined)
    throw new Refusal('invalid_client', `The assertion of the gateway is not accepted: ${why}`)
  return { ...gateway, clientId }
}

/** Reads the client id from the assertion. The id is not trusted until the signature is verified. */
function clientOf(assertion: string): string {
  try {
    const payload = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString())
    if (typeof payload.sub === 'string' && clientIds.test(payload.sub)) return payload.sub
  } catch {
    // Invalid JSON is refused after this block.
  }
  throw new Refusal('invalid_client', 'client_assertion is not an assertion of a gateway')
}

async function findGateway({ context: { database } }: IdentityContext, clientId: string) {
  const place = await database.reference(async (handle) => {
    const entry = await findDirectoryEntry(handle, { kind: 'client', key: clientId })
    return entry && { tenant: await findTenantById(handle, entry.tenantId) }
  })
  const tenant = place?.tenant
  if (tenant === undefined) return undefined
  return database.read({ tenantId: tenant.id }, async (handle) => {
    const key = await findGatewayKey(handle, clientId)
    const access = key === undefined ? undefined : await findAccess(handle, key.principalId)
    if (key === undefined || access === undefined || access.principal.kind !== 'gateway') return undefined
    return { tenant, key, principal: { ...access.principal, kind: access.principal.kind }, held: access.held }
  })
}

type GatewayIdentity = NonNullable<Awaited<ReturnType<typeof findGateway>>>

async function invalidityReason(
  { context: { settings, database } }: IdentityContext,
  assertion: string,
  { gateway, clientId }: { gateway: GatewayIdentity; clientId: string },
): Promise<string | undefined> {
  if (gateway.principal.disabled) return 'the gateway was revoked'
  try {
    const { payload } = await jwtVerify(assertion, await importJWK(gateway.key.publicJwk, 'ES256'), {
      algorithms: ['ES256'],
      issuer: clientId,
      subject: clientId,
      audience: [settings.baseUrl, `${settings.baseUrl}/oauth/token`],
      maxTokenAge: longestLifetimeSeconds,
      requiredClaims: ['exp', 'iat', 'jti'],
      clockTolerance: clockToleranceSeconds,
    })
    const { iat = 0, exp = 0, jti = '' } = payload
    if (exp - iat > longestLifetimeSeconds) return `it is valid for more than ${longestLifetimeSeconds} seconds`
    if (jti === '' || jti.length > longestId) return `its claim jti must have 1 to ${longestId} characters`
    const proof = {
      tenantId: gateway.tenant.id,
      signer: clientId,
      id: jti,
      expiresAt: (exp + clockToleranceSeconds) * 1000,
    }
    return (await useOnce(database, proof)) ? undefined : 'it was already used'
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    if (error instanceof errors.JWTExpired) return 'it has expired; check the clock of the gateway'
    if (error instanceof errors.JWTClaimValidationFailed) return `its claim ${error.claim} is wrong`
    return 'its signature is wrong'
  }
}
