import type { Permission } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handle } from '../database/database.ts'
import type { Caller } from './caller.ts'
import { type Rights, rightsOf } from './rights.ts'
import { findAccess, hasAdministrator } from './store.ts'

/** Returns the requested permissions that the holder lacks, or holds only in a smaller scope. */
export function lacking(holder: Rights, requested: Rights): Permission[] {
  const everywhere = [...requested.everywhere].filter((permission) => !holder.everywhere.has(permission))
  const inGroups = [...requested.inGroups].filter(([permission, groups]) => {
    if (holder.everywhere.has(permission)) return false
    const own = holder.inGroups.get(permission)
    return own === undefined || [...groups].some((group) => !own.has(group))
  })
  return [...new Set([...everywhere, ...inGroups.map(([permission]) => permission)])]
}

/**
 * Prevents privilege escalation. The caller must hold the permissions that it grants, in the access group or, if
 * `accessGroupId` is null, in the whole tenant. The rights of the caller's token count, not those of its principal.
 */
export function requireCovers(
  caller: Pick<Caller, 'rights'>,
  permissions: readonly string[],
  accessGroupId: string | null,
): void {
  const grantedRights = rightsOf([{ accessGroupId, permissions }])
  refuse(lacking(caller.rights, grantedRights), 'grant')
}

/**
 * Throws unless the caller holds all permissions of the principal, because a caller that can reset the password of a
 * user can act as that user. If the principal is disabled, the permissions that it would have after it is enabled
 * again count too.
 */
export async function requireOutranks(handle: Handle, caller: Pick<Caller, 'rights'>, principalId: string) {
  const access = await findAccess(handle, principalId)
  if (access === undefined) return
  refuse(lacking(caller.rights, rightsOf(access.held)), 'act on a principal that has')
}

/**
 * Throws if the tenant has no local administrator left. It must be the last step of every transaction that revokes grants of
 * administrators, or disables or deletes principals.
 */
export async function requireAdministrator(handle: Handle): Promise<void> {
  if (await hasAdministrator(handle)) return
  throw new Problem(
    'last_administrator',
    'This is the last local administrator of the tenant. Make another local user an administrator first',
  )
}

function refuse(missing: Permission[], deed: string): void {
  if (missing.length === 0) return
  throw new Problem('would_escalate', `You cannot ${deed} permissions that you do not have: ${missing.join(', ')}`)
}
