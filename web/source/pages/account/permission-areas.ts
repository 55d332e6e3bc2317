import type { Permission } from '@millwright/api/permission.ts'

const areaOf = {
  inventory_read_asset_data: 'assets',
  inventory_write_asset_data: 'assets',
  glb_inventory_read_relation_data: 'assets',
  glb_inventory_write_relation_data: 'assets',
  glb_hierarchy_read: 'assets',
  glb_hierarchy_write: 'assets',
  glb_schema_write: 'assets',
  glb_inventory_read_gateway_data: 'collection',
  glb_discovery_run: 'collection',
  glb_gateway_manage: 'collection',
  glb_gateway_work: 'collection',
  glb_credential_read: 'collection',
  glb_credential_write: 'collection',
  write_template: 'collection',
  glb_file_import: 'collection',
  glb_file_export: 'collection',
  glb_jobs_read: 'operation',
  glb_workflow_manage: 'operation',
  glb_update_manage: 'operation',
  remote_access_connect: 'operation',
  remote_access_approve: 'operation',
  glb_access_manage: 'administration',
  glb_audit_read: 'administration',
  glb_webhook_manage: 'administration',
} as const satisfies Record<Permission, string>

const ids = ['assets', 'collection', 'operation', 'administration'] as const

/** The areas of the console, each with its permissions. */
export const permissionAreas: readonly { id: (typeof ids)[number]; members: readonly string[] }[] = ids.map((id) => ({
  id,
  members: Object.entries(areaOf).flatMap(([permission, area]) => (area === id ? [permission] : [])),
}))
