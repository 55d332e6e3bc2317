import type { Context } from '../service.ts'
import type { Caller, PrincipalKind } from './caller.ts'
import { type GrantedRole, noRights } from './rights.ts'

/**
 * A principal whose work continues after its request, as it is stored with the work. `roles` contains the roles and the
 * grants of the token with which the work was started.
 */
export type StoredPrincipal = {
  principalId: string
  principalKind: PrincipalKind
  principalName: string
  roles: { roles: string[]; grants?: GrantedRole[] }
}

/** Returns the principal of a request in the form in which it is stored with background work. */
export function storedPrincipal({ principal, roles, token }: Caller): StoredPrincipal {
  return {
    principalId: principal.id,
    principalKind: principal.kind,
    principalName: principal.name,
    roles: { roles: [...roles], ...(token?.grants === undefined ? {} : { grants: [...token.grants] }) },
  }
}

/**
 * Returns the caller of background work: the principal that started it, with its current rights. A deleted or disabled
 * principal has no rights.
 */
export async function currentCaller(
  { access, tenants }: Pick<Context, 'access' | 'tenants'>,
  tenantId: string,
  { principalId, principalKind, principalName, roles, id }: StoredPrincipal & { id: string },
): Promise<Caller> {
  const held = await access.of(tenantId, principalId)
  const rights = held === undefined || held.principal.disabled ? noRights : access.effective(held, roles)
  return {
    tenantId,
    tenantName: (await tenants.byId(tenantId))?.name ?? '',
    principal: { id: principalId, kind: principalKind, name: principalName },
    roles: roles.roles,
    rights,
    // The writes of the work are limited to the same grants. The work does not end when the token expires.
    ...(roles.grants === undefined ? {} : { token: { expiresAt: Number.MAX_SAFE_INTEGER, grants: roles.grants } }),
    request: { id, address: undefined },
  }
}
