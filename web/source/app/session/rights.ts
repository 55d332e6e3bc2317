import type { Permission } from '@millwright/api/permission.ts'

/** `Right` is a permission of the user, for the whole tenant or for some access groups. */
export type Right = { permission: Permission; accessGroups: 'all' | string[] }

/** `Rights` determines which controls the console shows. The server checks the permissions again for every request. */
export type Rights = {
  readonly held: readonly Right[]
  /**
   * Returns true when the user has a permission in the given access group. Without an access group, a permission in any
   * group is sufficient.
   */
  has(permission: Permission, accessGroup?: string): boolean
  hasAny(permissions: readonly Permission[]): boolean
}

export function rightsOf(held: readonly Right[]): Rights {
  const byPermission = new Map(held.map((right) => [right.permission, right.accessGroups]))
  const has = (permission: Permission, accessGroup?: string) => {
    const groups = byPermission.get(permission)
    if (groups === undefined) return false
    return groups === 'all' || accessGroup === undefined || groups.includes(accessGroup)
  }
  return { held, has, hasAny: (permissions) => permissions.some((permission) => has(permission)) }
}
