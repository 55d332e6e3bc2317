import {
  builtInRoles,
  isBuiltInRole,
  type Permission,
  permissionNames,
  permissions,
} from '@millwright/api/permission.ts'

/** A role in the whole tenant or in one access group. */
export type GrantedRole = { role: string; accessGroupId: string | null }

/** A role that a principal holds. */
export type HeldRole = GrantedRole & {
  grantId: string
  /** The permissions of the role. Those of built-in roles are defined in the code. */
  permissions: readonly string[]
}

/** The permissions of a principal. They are computed once per change of access, then looked up. */
export type Rights = {
  /** Held in the whole tenant. */
  readonly everywhere: ReadonlySet<Permission>
  /** Held in some access groups. */
  readonly inGroups: ReadonlyMap<Permission, ReadonlySet<string>>
}

export const noRights: Rights = { everywhere: new Set(), inGroups: new Map() }

export function permissionsOf(role: string, own: readonly string[] | undefined): readonly string[] {
  return isBuiltInRole(role) ? builtInRoles[role].permissions : (own ?? [])
}

/**
 * A role in an access group gives its access-group permissions there, not its global permissions. So the administrator
 * of one group does not become administrator of the tenant.
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
 * The rights to write for a gateway: assets of its own access group, and of groups where it has the grant to write
 * assets. Assets that it can write it can also read and relate.
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

/** Returns true if the permission is held in one access group. */
export function mayIn({ rights }: Holder, permission: Permission, accessGroupId: string): boolean {
  return rights.everywhere.has(permission) || rights.inGroups.get(permission)?.has(accessGroupId) === true
}

/**
 * Returns true if the permission is held in any access group, or for some assets of every group. The front accepts the
 * request then; the service checks the rest.
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

/** The groups in which the permission is held, for filtering lists. */
export function groupsWith({ rights }: Holder, permission: Permission): 'all' | string[] {
  if (rights.everywhere.has(permission)) return 'all'
  return [...(rights.inGroups.get(permission) ?? [])]
}

/**
 * A caller that manages access, or holds a permission in every group, sees all groups. Other callers see the groups in
 * which they hold a permission.
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

/** The reasons why a permission is held: the roles that contain it and apply to the group. */
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
