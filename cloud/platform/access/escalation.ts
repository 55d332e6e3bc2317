import type { Permission } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handle } from '../database/database.ts'
import type { Caller } from './caller.ts'
import { type Rights, rightsOf } from './rights.ts'
import { findAccess, hasAdministrator } from './store.ts'

/** What of the wanted rights the holder does not have, anywhere or wide enough. */
export function lacking(holder: Rights, wanted: Rights): Permission[] {
  const everywhere = [...wanted.everywhere].filter((permission) => !holder.everywhere.has(permission))
  const inGroups = [...wanted.inGroups].filter(([permission, groups]) => {
    if (holder.everywhere.has(permission)) return false
    const own = holder.inGroups.get(permission)
    return own === undefined || [...groups].some((group) => !own.has(group))
  })
  return [...new Set([...everywhere, ...inGroups.map(([permission]) => permission)])]
}

/**
 * Nobody gives away what they do not have: what these permissions give, in the whole tenant (null) or in one access
 * group, the caller holds there too. The rights of the token count, not those of the principal behind it.
 */
export function requireCovers(
  caller: Pick<Caller, 'rights'>,
  permissions: readonly string[],
  accessGroupId: string | null,
): void {
  const given = rightsOf([{ accessGroupId, permissions }])
  refuse(lacking(caller.rights, given), 'give away')
}

/**
 * Whoever can reset somebody's password can act as them, so that needs all the rights they have; those they would have
 * again once enabled count as well.
 */
export async function requireOutranks(handle: Handle, caller: Pick<Caller, 'rights'>, principalId: string) {
  const access = await findAccess(handle, principalId)
  if (access === undefined) return
  refuse(lacking(caller.rights, rightsOf(access.held)), 'act on somebody who has')
}

/** The last thing in every transaction that revokes grants of administrators, or disables or deletes principals. */
export async function requireAdministrator(handle: Handle): Promise<void> {
  if (await hasAdministrator(handle)) return
  throw new Problem(
    'last_administrator',
    'Nobody would be left to manage the tenant: make another user administrator first',
  )
}

function refuse(missing: Permission[], deed: string): void {
  if (missing.length === 0) return
  throw new Problem('would_escalate', `You cannot ${deed} what you do not have yourself: ${missing.join(', ')}`)
}
