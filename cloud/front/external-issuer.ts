import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'
import { v5, v7 } from 'uuid'
import type { GrantedRole } from '../platform/access/rights.ts'
import {
  changeAccess,
  findAccess,
  findAccessGroupByName,
  findPrincipalByName,
  insertGrant,
  insertPrincipal,
} from '../platform/access/store.ts'
import { record } from '../platform/audit/audit.ts'
import type { Database, Handle } from '../platform/database/database.ts'
import { StartError } from '../platform/start-error.ts'
import type { TenantDirectory } from '../platform/tenants/tenants.ts'
import { type ForeignIssuer, invalidToken } from './token.ts'

/** The configuration of an external identity provider. */
export type ExternalIssuer = {
  issuer: string
  audience: string
  /** The URL of the provider's public keys. The operator sets it. It is never read from a token. */
  jwksUri: string
  tenant: string
  subjectClaim: string
  rolesClaim: string
  /** Maps values of `rolesClaim` to roles, in the whole tenant or in one access group. */
  roles: Record<string, { role: string; accessGroup?: string }>
}

const namespace = '5e1c0b1e-6c1f-4d0e-9a57-6d696c6c7772'

export function checkExternalIssuers(value: unknown): ExternalIssuer[] {
  if (!Array.isArray(value)) throw new StartError('MILLWRIGHT_EXTERNAL_ISSUERS must be a JSON array.')
  return value.map((entry: Partial<ExternalIssuer>, index) => {
    for (const name of ['issuer', 'audience', 'jwksUri', 'tenant'] as const) {
      if (typeof entry?.[name] !== 'string' || entry[name] === '') {
        throw new StartError(`MILLWRIGHT_EXTERNAL_ISSUERS[${index}] has no ${name}.`)
      }
    }
    const { subjectClaim = 'sub', rolesClaim = 'roles', roles = {} } = entry
    if (!/^https?:/.test(entry.jwksUri ?? '') || !URL.canParse(entry.jwksUri ?? ''))
      throw new StartError(`MILLWRIGHT_EXTERNAL_ISSUERS[${index}].jwksUri is not an http or https URL.`)
    if (typeof roles !== 'object' || roles === null)
      throw new StartError(`MILLWRIGHT_EXTERNAL_ISSUERS[${index}].roles must be an object.`)
    for (const [claim, target] of Object.entries(roles)) {
      if (typeof target?.role !== 'string')
        throw new StartError(`MILLWRIGHT_EXTERNAL_ISSUERS[${index}].roles.${claim} has no role.`)
    }
    return { ...(entry as ExternalIssuer), subjectClaim, rolesClaim, roles }
  })
}

type Parts = { database: Database; tenants: TenantDirectory }

/**
 * Accepts the tokens of an external identity provider. A user with a new subject becomes a principal, and the roles of
 * the provider become grants. So external users have the same access checks, revocation and audit as other principals.
 * Only the roles in the token are effective, so a role that the provider removes has no effect from the next token on.
 */
export function foreignIssuer(configured: ExternalIssuer, { database, tenants }: Parts): ForeignIssuer {
  const keys = createRemoteJWKSet(new URL(configured.jwksUri), { timeoutDuration: 5_000, cooldownDuration: 10_000 })
  return {
    issuer: configured.issuer,
    async verify(token) {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        algorithms: ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'],
        issuer: configured.issuer,
        audience: configured.audience,
        requiredClaims: ['exp', configured.subjectClaim],
        clockTolerance: 5,
      })
      const tenant = await tenants.byName(configured.tenant)
      if (tenant === undefined) throw invalidToken(`the tenant ${configured.tenant} of its issuer does not exist`)
      const subject = String(payload[configured.subjectClaim])
      const mapped = rolesIn(payload, configured)
      const principalId = v5(`${configured.issuer} ${subject}`, namespace)
      const grants = await syncPrincipal(database, {
        tenantId: tenant.id,
        principalId,
        subject,
        issuer: configured.issuer,
        mapped,
      })
      return {
        tenantId: tenant.id,
        principalId,
        roles: [...new Set(mapped.map(({ role }) => role))],
        grants,
        expiresAt: (payload.exp ?? 0) * 1000,
        kid: protectedHeader.kid ?? '',
      }
    },
  }
}

type MappedRole = { role: string; accessGroup?: string }

/** Returns the roles to which the configuration maps the values of the roles claim in a token. */
export function rolesIn(
  payload: JWTPayload,
  { rolesClaim, roles }: Pick<ExternalIssuer, 'rolesClaim' | 'roles'>,
): MappedRole[] {
  const claimed = [payload[rolesClaim] ?? []].flat().map(String)
  return claimed.flatMap((name) => (Object.hasOwn(roles, name) ? [roles[name] as MappedRole] : []))
}

type ExternalPrincipal = {
  tenantId: string
  principalId: string
  subject: string
  issuer: string
  mapped: MappedRole[]
}

/**
 * Creates or updates the principal. Returns the roles of the token, each in the whole tenant or in one access group.
 */
async function syncPrincipal(database: Database, external: ExternalPrincipal): Promise<GrantedRole[]> {
  const { tenantId, principalId, subject, issuer, mapped } = external
  const looked = await database.read({ tenantId }, (handle) => compare(handle, principalId, mapped))
  if (looked.known && looked.missing.length === 0) return looked.granted
  return database.transaction({ tenantId }, async (tx) => {
    await changeAccess(tx)
    // A concurrent request may have created the principal, so the principal is read again under the lock.
    const { known, granted, missing } = await compare(tx, principalId, mapped)
    if (known && missing.length === 0) return granted
    const name = known ? subject : await freeName(tx, { subject, issuer })
    if (!known) await insertPrincipal(tx, { id: principalId, kind: 'external', name })
    for (const { role, accessGroupId } of missing) await insertGrant(tx, { principalId, role, accessGroupId })
    const actor = {
      principal: { id: principalId, kind: 'external', name },
      request: { id: v7(), address: undefined },
    } as const
    await record(tx, actor, {
      action: 'identity.externalSignIn',
      target: `principal/${principalId}`,
      detail: { granted: missing },
    })
    return granted
  })
}

/**
 * Returns a name for a new principal. If another principal has the subject as its name, the issuer is added, because
 * two providers may use the same subject for different users.
 */
async function freeName(handle: Handle, { subject, issuer }: { subject: string; issuer: string }): Promise<string> {
  const taken = await findPrincipalByName(handle, { kind: 'external', name: subject })
  return taken === undefined ? subject : `${subject} (${issuer})`
}

/**
 * Compares the roles of the token with the grants of the principal. A role in an access group that does not exist is
 * ignored.
 */
async function compare(handle: Handle, principalId: string, mapped: MappedRole[]) {
  const access = await findAccess(handle, principalId)
  const held = new Set(access?.held.map(({ role, accessGroupId }) => `${role} ${accessGroupId}`))
  const granted: GrantedRole[] = []
  for (const { role, accessGroup } of mapped) {
    const group = accessGroup === undefined ? null : await findAccessGroupByName(handle, accessGroup)
    if (group !== undefined) granted.push({ role, accessGroupId: group?.id ?? null })
  }
  const missing = granted.filter(({ role, accessGroupId }) => !held.has(`${role} ${accessGroupId}`))
  return { known: access !== undefined, granted, missing }
}
