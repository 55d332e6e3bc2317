import { usePermission } from '../../../app/session/app-context.tsx'

/**
 * Returns true when the user has permission to assign assets to nodes. The server also checks the access group of each
 * asset.
 */
export function useCanAssign(): boolean {
  const canWrite = usePermission('glb_hierarchy_write')
  const canRelate = usePermission('glb_inventory_write_relation_data')
  return canWrite && canRelate
}
