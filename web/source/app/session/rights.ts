import type { Permission } from '@millwright/api/permission.ts'

/** What somebody holds: a permission, everywhere or in some access groups. */
export type Right = { permission: Permission; accessGroups: 'all' | string[] }

/** Answers what the console offers; the platform decides again on every request. */
export type Rights = {
  readonly held: readonly Right[]
  /** Whether a permission is held: anywhere, or in the given access group. */
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
