import { crc32 } from 'node:zlib'
import type { Role } from '@millwright/api/authorization.ts'
import { offeredPermissions } from '@millwright/api/contracts.ts'
import { type BuiltInRoleName, builtInRoles, isPermission, type Permission } from '@millwright/api/permission.ts'
import type { Paging, RoleRow } from '../../platform/access/store.ts'

export const builtInNames = Object.keys(builtInRoles) as BuiltInRoleName[]

export function showBuiltIn(name: BuiltInRoleName): Role {
  const { title, permissions } = builtInRoles[name]
  const contained: readonly Permission[] = permissions
  const shown = offeredPermissions.filter((permission) => contained.includes(permission))
  return { name, title, permissions: shown, builtIn: true }
}

export function showOwn(row: RoleRow): Role {
  return {
    name: row.name,
    title: row.title,
    // Leaves out stored permissions that this version of the program does not define, for example after a downgrade.
    permissions: row.permissions.filter(isPermission),
    builtIn: false,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}

/**
 * Returns the version of a built-in role for its ETag. Built-in roles are not stored, so the version is a hash of the
 * content of the role.
 */
export function versionOfBuiltIn(name: BuiltInRoleName): number {
  return crc32(JSON.stringify(showBuiltIn(name)))
}

export function builtInRolesWith(permission: Permission): string[] {
  return builtInNames.filter((name) => (builtInRoles[name].permissions as readonly Permission[]).includes(permission))
}

/** Splits a page of the role list into its two parts. The built-in roles come first, then the roles of the tenant. */
export function splitPage({ limit, offset }: Paging): { builtIn: BuiltInRoleName[]; own: Paging } {
  const builtIn = builtInNames.slice(offset, offset + limit)
  return { builtIn, own: { limit: limit - builtIn.length, offset: Math.max(0, offset - builtInNames.length) } }
}

/** Returns the permissions that a change of a role adds. */
export function added(before: readonly string[], after: readonly string[]): string[] {
  return after.filter((permission) => !before.includes(permission))
}
