import { v5 } from 'uuid'
import { findPermissions } from '../../../platform/access/role-permissions.ts'
import {
  changeAccess,
  deleteGrant,
  findAccessGroup,
  findPrincipal,
  insertGrant,
  insertPrincipal,
  isPrincipalName,
  listMappedGrants,
  updatePrincipal,
} from '../../../platform/access/store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import type { AnonymousCaller, Context } from '../../../platform/service.ts'
import { type Claims, displayNameOf, keyOf, type MappedRole, mappedRoles, nameOf, subjectOf } from './claims.ts'
import { lockAccount, putExternalAccount } from './external-account-store.ts'
import type { ProviderRow } from './provider-store.ts'

const namespace = '5e1c0b1e-6c1f-4d0e-9a57-6d696c6c7772'

/** Returns the id of the principal of a person. It depends on issuer and subject only, never on an email address. */
export function externalPrincipalId(issuer: string, subject: string): string {
  return v5(`${issuer} ${subject}`, namespace)
}

/** The permission that only a provider with `mayGrantAdministrator` can grant. */
export const administrativePermission = 'glb_access_manage'

type VerifiedClaims = {
  tenantId: string
  provider: ProviderRow
  claims: Claims & { iat: number }
  /** True for a sign-in, false for a request with a token of the provider. */
  isSignIn: boolean
  request: AnonymousCaller['request']
}

export type ExternalPrincipal = { id: string; name: string; disabled: boolean; mapped: MappedRole[] }

type Target = Omit<VerifiedClaims, 'tenantId'> & { principalId: string; subject: string; claimsAt: string }

/**
 * Creates or updates the account of a person from verified claims, and replaces the grants from earlier claims. Older
 * claims change nothing. Most calls change no grants. They do not call `changeAccess`, so that the caches stay valid.
 */
export async function applyClaims({ database }: Context, verified: VerifiedClaims): Promise<ExternalPrincipal> {
  const { tenantId, provider, claims } = verified
  const subject = subjectOf(claims)
  const target = {
    ...verified,
    subject,
    principalId: externalPrincipalId(provider.issuer, subject),
    claimsAt: new Date(claims.iat * 1000).toISOString(),
  }
  const unchanged = await database.transaction({ tenantId }, (tx) => keepAccount(tx, target))
  return unchanged ?? database.transaction({ tenantId }, (tx) => changeAccount(tx, target))
}

/** Records the use of an account whose grants do not change. Returns `undefined` if the account must change. */
async function keepAccount(tx: Transaction, target: Target): Promise<ExternalPrincipal | undefined> {
  const account = await lockAccount(tx, target.principalId)
  const principal = await findPrincipal(tx, target.principalId)
  if (account === undefined || principal === undefined || account.providerId !== target.provider.id) return undefined
  const mapped = await allowedRoles(tx, target)
  if (account.claimsAt <= target.claimsAt) {
    const displayName = displayNameOf(target.claims)
    const { missing, obsolete } = await compare(tx, target, mapped)
    if (missing.length > 0 || obsolete.length > 0 || displayName !== principal.displayName) return undefined
  }
  await putAccount(tx, target)
  return { id: principal.id, name: principal.name, disabled: principal.disabled, mapped }
}

async function changeAccount(tx: Transaction, target: Target): Promise<ExternalPrincipal> {
  const { provider, principalId, claims, request, subject } = target
  await changeAccess(tx)
  const account = await lockAccount(tx, principalId)
  const before = await findPrincipal(tx, principalId)
  const displayName = displayNameOf(claims)
  const principal =
    before ??
    (await insertPrincipal(tx, { id: principalId, kind: 'external', name: await freeName(tx, target), displayName }))
  const mapped = await allowedRoles(tx, target)
  // The claims of another provider with the same issuer, which was deleted, do not count.
  const isOlder = account !== undefined && account.providerId === provider.id && account.claimsAt > target.claimsAt
  if (!isOlder) {
    const { missing, obsolete } = await compare(tx, target, mapped)
    for (const grant of missing) await insertGrant(tx, { principalId, ...grant, providerId: provider.id })
    for (const { id } of obsolete) await deleteGrant(tx, id)
    if (principal.displayName !== displayName) await updatePrincipal(tx, principalId, { displayName })
    if (before === undefined || missing.length > 0 || obsolete.length > 0) {
      const actor = { principal: { id: principalId, kind: 'external' as const, name: principal.name }, request }
      const revoked = obsolete.map(({ role, accessGroupId }) => ({ role, accessGroupId }))
      const detail = { provider: provider.name, subject, isNew: before === undefined, granted: missing, revoked }
      await record(tx, actor, { action: 'identity.externalSignIn', target: `principal/${principalId}`, detail })
    }
  }
  await putAccount(tx, target)
  return { id: principalId, name: principal.name, disabled: principal.disabled, mapped }
}

function putAccount(tx: Transaction, { principalId, provider, subject, claimsAt, isSignIn }: Target): Promise<void> {
  const signInAt = isSignIn ? new Date().toISOString() : null
  return putExternalAccount(tx, {
    principalId,
    providerId: provider.id,
    issuer: provider.issuer,
    subject,
    claimsAt,
    signInAt,
  })
}

/**
 * Returns the roles of the claims that exist and that the provider can grant. A role or access group that was deleted is
 * ignored.
 */
async function allowedRoles(handle: Handle, { provider, claims }: Target): Promise<MappedRole[]> {
  const allowed: MappedRole[] = []
  for (const { role, accessGroupId } of mappedRoles(claims, provider)) {
    const permissions = await findPermissions(handle, role)
    if (permissions === undefined) continue
    if (permissions.includes(administrativePermission) && !provider.mayGrantAdministrator) continue
    if (accessGroupId !== null && (await findAccessGroup(handle, accessGroupId)) === undefined) continue
    allowed.push({ role, accessGroupId })
  }
  return allowed
}

/** Compares the roles of the claims with the grants from earlier claims. */
async function compare(handle: Handle, { principalId, provider }: Target, mapped: readonly MappedRole[]) {
  const granted = await listMappedGrants(handle, { principalId, providerId: provider.id })
  const before = new Set(granted.map(keyOf))
  const after = new Set(mapped.map(keyOf))
  return {
    missing: mapped.filter((role) => !before.has(keyOf(role))),
    obsolete: granted.filter((grant) => !after.has(keyOf(grant))),
  }
}

/**
 * Returns a name for a new principal. A name at a provider is not unique. If another principal of any kind has the same
 * name, the issuer or the subject is added, so that lists and the audit trail do not show the name of another principal.
 */
async function freeName(handle: Handle, { claims, provider, subject }: Target): Promise<string> {
  const name = nameOf(claims, provider.nameClaim)
  for (const candidate of [name, `${name} (${provider.issuer})`, `${name} (${subject})`])
    if (!(await isPrincipalName(handle, candidate))) return candidate
  return `${name} (${externalPrincipalId(provider.issuer, subject)})`
}
