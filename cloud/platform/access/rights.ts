import {
  builtInRoles,
  isBuiltInRole,
  type Permission,
  permissionNames,
  permissions,
} from '@millwright/api/permission.ts'

/** A role that applies in the whole tenant or in one access group. */
export type GrantedRole = { role: string; accessGroupId: string | null }

/** A role that a principal holds. */
export type HeldRole = GrantedRole & {
  grantId: string
  /** The permissions of the role. The code defines the permissions of built-in roles. */
  permissions: readonly string[]
}

/** The permissions of a principal. They are computed after each change of access, and then only looked up. */
export type Rights = {
  /** The permissions that are held in the whole tenant. */
  readonly everywhere: ReadonlySet<Permission>
  /** For each permission, the access groups in which it is held. */
  readonly inGroups: ReadonlyMap<Permission, ReadonlySet<string>>
}

export const noRights: Rights = { everywhere: new Set(), inGroups: new Map() }

export function permissionsOf(role: string, own: readonly string[] | undefined): readonly string[] {
  return isBuiltInRole(role) ? builtInRoles[role].permissions : (own ?? [])
}

/**
 * Computes the rights of held roles. A role in an access group gives only its access-group permissions, not its global
 * permissions. So the administrator of one group does not become administrator of the tenant.
 */
export function rightsOf(held: readonly Pick<HeldRole, 'accessGroupId' | 'permissions'>[]): Rights {
  const everywhere = new Set<Permission>()
  const inGroups = new Map<Permission, Set<string>>()
  for (const { accessGroupId, permissions: names } of held) {
    for (const name of names as Permission[]) {
      if (accessGroupId === null) everywhere.add(name)
      else if (permissions[name]?.scope === 'access-group') {
        const groups = inGroups.get(name) ?? new Set()
        inGroups.set(name, groups.add(accessGroupId))
      }
    }
  }
  return { everywhere, inGroups }
}

/**
 * Returns the rights of a gateway. It can write assets of its own access group, and of the groups in which a grant
 * allows it to write assets. It can read these assets and create relations between them.
 */
export function gatewayRights(granted: Rights, ownGroup: string): Rights {
  const [read, write] = ['inventory_read_asset_data', 'inventory_write_asset_data'] as const
  const isEverywhere = granted.everywhere.has(write)
  const groups = new Set([ownGroup, ...(granted.inGroups.get(write) ?? [])])
  return {
    everywhere: new Set(['glb_inventory_write_relation_data', ...(isEverywhere ? ([read, write] as const) : [])]),
    inGroups: new Map([
      [read, groups],
      [write, groups],
    ]),
  }
}

type Holder = { readonly rights: Rights }

/** Returns true if the permission is held in the whole tenant. */
export function may({ rights }: Holder, permission: Permission): boolean {
  return rights.everywhere.has(permission)
}

/** Returns true if the permission is held in the given access group. */
export function mayIn({ rights }: Holder, permission: Permission, accessGroupId: string): boolean {
  return rights.everywhere.has(permission) || rights.inGroups.get(permission)?.has(accessGroupId) === true
}

/**
 * Returns true if the permission is held in any access group, or for some assets of every group. The front then accepts
 * the request, and the service checks the access groups.
 */
export function maySomewhere({ rights }: Holder, permission: Permission): boolean {
  const isHeld = rights.everywhere.has(permission) || rights.inGroups.has(permission)
  return isHeld || (partsOf.get(permission) ?? []).some((part) => rights.everywhere.has(part))
}

/** The global permissions that give an access-group permission for some assets of every group. */
const partsOf: ReadonlyMap<string | undefined, readonly Permission[]> = Map.groupBy(
  permissionNames,
  (name) => (permissions[name] as { partOf?: string }).partOf,
)

/** Returns the groups in which the permission is held. Lists are filtered by these groups. */
export function groupsWith({ rights }: Holder, permission: Permission): 'all' | string[] {
  if (rights.everywhere.has(permission)) return 'all'
  return [...(rights.inGroups.get(permission) ?? [])]
}

/**
 * Returns the groups that a caller can see. A caller that manages access, or holds a permission in every group, sees
 * all groups. Other callers see the groups in which they hold a permission.
 */
export function visibleGroups({ everywhere, inGroups }: Rights): 'all' | ReadonlySet<string> {
  const inAll = [...everywhere].some((permission) => permissions[permission]?.scope === 'access-group')
  if (inAll || everywhere.has('glb_access_manage')) return 'all'
  return new Set([...inGroups.values()].flatMap((groups) => [...groups]))
}

export function isVisibleGroup(rights: Rights, accessGroupId: string): boolean {
  const visible = visibleGroups(rights)
  return visible === 'all' || visible.has(accessGroupId)
}

/**
 * Returns the held roles that give a permission: the roles that contain the permission and apply in the access group.
 * Null means the whole tenant.
 */
export function reasonsFor(
  held: readonly HeldRole[],
  permission: Permission,
  accessGroupId: string | null,
): HeldRole[] {
  const perGroup = permissions[permission].scope === 'access-group'
  return held.filter(
    (role) =>
      role.permissions.includes(permission) &&
      (role.accessGroupId === null || (perGroup && role.accessGroupId === accessGroupId)),
  )
}
