import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'
import { v5, v7 } from 'uuid'
import {
  changeAccess,
  findAccess,
  findAccessGroupByName,
  insertGrant,
  insertPrincipal,
} from '../platform/access/store.ts'
import { record } from '../platform/audit/audit.ts'
import type { Database, Handle } from '../platform/database/database.ts'
import { StartError } from '../platform/start-error.ts'
import type { TenantDirectory } from '../platform/tenants/tenants.ts'
import { type ForeignIssuer, refused } from './token.ts'

/** A company's own identity provider, as configured. */
export type ExternalIssuer = {
  issuer: string
  audience: string
  /** Where its keys are; set by the operator, never taken from a token. */
  jwksUri: string
  tenant: string
  subjectClaim: string
  rolesClaim: string
  /** Value of the claim to role, in the whole tenant or in one access group. */
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
    for (const [claim, target] of Object.entries(roles)) {
      if (typeof target?.role !== 'string')
        throw new StartError(`MILLWRIGHT_EXTERNAL_ISSUERS[${index}].roles.${claim} names no role.`)
    }
    return { ...(entry as ExternalIssuer), subjectClaim, rolesClaim, roles }
  })
}

type Parts = { database: Database; tenants: TenantDirectory }

/**
 * Accepts the tokens of a company's own identity provider. Whoever comes with one for the first time becomes a
 * principal like any other, and the roles that the provider gives become grants: from there on one mechanism decides,
 * explains, revokes and audits. Effective are the token's roles only, so that what the provider takes away is gone.
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
      if (tenant === undefined) throw refused(`the tenant ${configured.tenant} of its issuer does not exist`)
      const subject = String(payload[configured.subjectClaim])
      const wanted = rolesIn(payload, configured)
      const principalId = v5(`${configured.issuer} ${subject}`, namespace)
      await admitPrincipal(database, { tenantId: tenant.id, principalId, subject, wanted })
      return {
        tenantId: tenant.id,
        principalId,
        roles: [...new Set(wanted.map(({ role }) => role))],
        expiresAt: (payload.exp ?? 0) * 1000,
        kid: protectedHeader.kid ?? '',
      }
    },
  }
}

type Wanted = { role: string; accessGroup?: string }

/** The roles that the token's claim stands for. */
export function rolesIn(
  payload: JWTPayload,
  { rolesClaim, roles }: Pick<ExternalIssuer, 'rolesClaim' | 'roles'>,
): Wanted[] {
  const claimed = [payload[rolesClaim] ?? []].flat().map(String)
  return claimed.flatMap((name) => (Object.hasOwn(roles, name) ? [roles[name] as Wanted] : []))
}

type Admitted = { tenantId: string; principalId: string; subject: string; wanted: Wanted[] }

async function admitPrincipal(database: Database, admitted: Admitted): Promise<void> {
  const { tenantId, principalId, subject, wanted } = admitted
  const looked = await database.read({ tenantId }, (handle) => missingOf(handle, principalId, wanted))
  if (looked.known && looked.missing.length === 0) return
  await database.transaction({ tenantId }, async (tx) => {
    await changeAccess(tx)
    // Somebody else may have brought the same token a moment ago: look again, now that nobody can come in between.
    const { known, missing } = await missingOf(tx, principalId, wanted)
    if (known && missing.length === 0) return
    if (!known) await insertPrincipal(tx, { id: principalId, kind: 'external', name: subject })
    for (const { role, accessGroupId } of missing) {
      await insertGrant(tx, { principalId, role, ...(accessGroupId === null ? {} : { accessGroupId }) })
    }
    const who = {
      principal: { id: principalId, kind: 'external', name: subject },
      request: { id: v7(), address: undefined },
    } as const
    await record(tx, who, {
      action: 'identity.externalSignIn',
      target: `principal/${principalId}`,
      detail: { granted: missing },
    })
  })
}

/** What the token stands for and is not granted yet. A group that the tenant does not have gives nothing. */
async function missingOf(handle: Handle, principalId: string, wanted: Wanted[]) {
  const access = await findAccess(handle, principalId)
  const held = new Set(access?.held.map(({ role, accessGroupId }) => `${role} ${accessGroupId}`))
  const missing: { role: string; accessGroupId: string | null }[] = []
  for (const { role, accessGroup } of wanted) {
    const group = accessGroup === undefined ? null : await findAccessGroupByName(handle, accessGroup)
    if (group === undefined) continue
    const accessGroupId = group?.id ?? null
    if (!held.has(`${role} ${accessGroupId}`)) missing.push({ role, accessGroupId })
  }
  return { known: access !== undefined, missing }
}
