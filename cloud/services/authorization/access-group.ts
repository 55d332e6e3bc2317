import type { AccessGroup } from '@millwright/api/authorization.ts'
import { type Permission, permissions } from '@millwright/api/permission.ts'
import type { Rights } from '../../platform/access/rights.ts'
import type { AccessGroupRow } from '../../platform/access/store.ts'

export function showAccessGroup(row: AccessGroupRow): AccessGroup {
  return { id: row.id, name: row.name, createdTimestamp: row.createdAt, lastModifiedTimestamp: row.modifiedAt }
}

/** Who manages access, or holds something in every group, sees all groups; everybody else those they hold something in. */
export function visibleGroups({ everywhere, inGroups }: Rights): 'all' | ReadonlySet<string> {
  const inAll = [...everywhere].some((permission) => permissions[permission]?.scope === 'access-group')
  if (inAll || everywhere.has('glb_access_manage' satisfies Permission)) return 'all'
  return new Set([...inGroups.values()].flatMap((groups) => [...groups]))
}

export function isVisible(rights: Rights, accessGroupId: string): boolean {
  const visible = visibleGroups(rights)
  return visible === 'all' || visible.has(accessGroupId)
}
