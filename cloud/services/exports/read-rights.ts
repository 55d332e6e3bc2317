import type { ExportContent } from '@millwright/api/exports.ts'
import type { Permission } from '@millwright/api/permission.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith, may, mayIn } from '../../platform/access/rights.ts'

/**
 * The rights that determine what an export contains. They are stored with the content, because the user downloads the
 * content later. A user who has lost one of these rights cannot download it, and must start the export again.
 */
export type ReadRights = {
  /** The permissions that were held in the whole tenant. */
  permissions: Permission[]
  /** The access groups whose assets were readable, if not all of them were. */
  accessGroups: string[]
}

type Holder = Pick<Caller, 'rights'>

export const noReadRights: ReadRights = { permissions: [], accessGroups: [] }

const assetPermission = 'inventory_read_asset_data'
const ofAssets = [assetPermission, 'glb_inventory_read_gateway_data'] as const

/** The permissions on which each content depends. Assets have the paths of their nodes if the user can read hierarchies. */
const permissionsOf: Readonly<Record<ExportContent, readonly Permission[]>> = {
  assets: [...ofAssets, 'glb_hierarchy_read'],
  relations: [...ofAssets, 'glb_inventory_read_relation_data'],
  hierarchy: ['glb_hierarchy_read'],
  audit: ['glb_audit_read'],
  graph: ofAssets,
}

/** Adds the rights with which a caller reads a part of the content. Rights can change while an export runs. */
export function addReadRights(earlier: ReadRights, what: ExportContent, caller: Holder): ReadRights {
  const used = permissionsOf[what]
  const groups = used.includes(assetPermission) ? groupsWith(caller, assetPermission) : []
  return {
    permissions: [...new Set([...earlier.permissions, ...used.filter((permission) => may(caller, permission))])],
    accessGroups: [...new Set([...earlier.accessGroups, ...(groups === 'all' ? [] : groups)])],
  }
}

/** Returns whether a caller still has all rights with which the content was read. */
export function hasReadRights(caller: Holder, { permissions, accessGroups }: ReadRights): boolean {
  return (
    permissions.every((permission) => may(caller, permission)) &&
    accessGroups.every((group) => mayIn(caller, assetPermission, group))
  )
}
