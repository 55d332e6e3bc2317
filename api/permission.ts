/** All permissions and the built-in roles. */

type Description = {
  scope: 'global' | 'access-group'
  title: string
  /**
   * The broader permission that this permission is a part of. A holder of this permission has the broader permission
   * for some assets of every access group. Operations that require the broader permission also accept this permission.
   */
  partOf?: string
}

/**
 * All permissions. A `global` permission applies to the whole tenant. An `access-group` permission can also apply to the
 * assets of one group.
 */
export const permissions = {
  glb_inventory_read_relation_data: { scope: 'global', title: 'Read all relations of the tenant' },
  glb_inventory_write_relation_data: { scope: 'global', title: 'Create and delete relations' },
  glb_inventory_read_gateway_data: {
    scope: 'global',
    title: 'Read the gateways and asset links of every access group',
    partOf: 'inventory_read_asset_data',
  },
  glb_file_import: { scope: 'global', title: 'Import files' },
  glb_file_export: { scope: 'global', title: 'Export files' },
  glb_discovery_run: { scope: 'global', title: 'Run and schedule discoveries' },
  glb_gateway_manage: { scope: 'global', title: 'Onboard and revoke gateways' },
  glb_jobs_read: { scope: 'global', title: 'Read all jobs' },
  glb_workflow_manage: { scope: 'global', title: 'Manage workflows' },
  glb_hierarchy_read: { scope: 'global', title: 'Read hierarchies' },
  glb_hierarchy_write: { scope: 'global', title: 'Change hierarchies' },
  glb_update_manage: { scope: 'global', title: 'Manage artefacts and update campaigns' },
  glb_schema_write: { scope: 'global', title: 'Add asset schemas and custom properties' },
  glb_webhook_manage: { scope: 'global', title: 'Manage webhooks and MQTT publishers' },
  glb_audit_read: { scope: 'global', title: 'Read the audit trail' },
  glb_access_manage: { scope: 'global', title: 'Manage users, service accounts, roles, access groups and grants' },
  glb_credential_read: { scope: 'global', title: 'Read credentials (never their secrets)' },
  glb_credential_write: { scope: 'global', title: 'Manage credentials' },
  write_template: { scope: 'global', title: 'Upload credential schemas' },
  glb_gateway_work: { scope: 'global', title: 'Work as a gateway: lease jobs, upload findings, get credentials' },
  inventory_read_asset_data: { scope: 'access-group', title: 'Read assets' },
  inventory_write_asset_data: { scope: 'access-group', title: 'Create, change and delete assets' },
  remote_access_connect: { scope: 'access-group', title: 'Open remote connections to assets' },
  remote_access_approve: {
    scope: 'access-group',
    title: 'Approve and end remote connections of other users, and read their recordings',
  },
} as const satisfies Record<string, Description>

export type Permission = keyof typeof permissions

export const permissionNames = Object.keys(permissions) as Permission[]

const reading: Permission[] = [
  'glb_inventory_read_relation_data',
  'glb_jobs_read',
  'glb_hierarchy_read',
  'inventory_read_asset_data',
]

const operating: Permission[] = [
  ...reading,
  'glb_inventory_write_relation_data',
  'glb_file_import',
  'glb_file_export',
  'glb_discovery_run',
  'glb_hierarchy_write',
  'inventory_write_asset_data',
]

type BuiltInRole = { title: string; permissions: readonly Permission[] }

/** The roles that every tenant has. They are defined in code, so an upgrade changes them in all tenants. */
export const builtInRoles = {
  viewer: { title: 'Reads assets, relations, hierarchies and jobs', permissions: reading },
  operator: { title: 'Edits assets and runs discoveries', permissions: operating },
  supervisor: {
    title: 'Operator with remote access',
    permissions: [...operating, 'remote_access_connect', 'remote_access_approve'],
  },
  update_manager: {
    title: 'Operator who installs firmware and other artefacts on devices',
    permissions: [...operating, 'glb_update_manage'],
  },
  administrator: { title: 'Has all permissions in the tenant', permissions: permissionNames },
  credential_manager: {
    title: 'Manages credential schemas, templates and instances',
    permissions: [
      'write_template',
      'glb_credential_read',
      'glb_credential_write',
      'glb_inventory_read_relation_data',
      'glb_inventory_read_gateway_data',
    ],
  },
  gateway: {
    title: 'Permissions of the token of a gateway',
    permissions: ['glb_gateway_work'],
  },
} as const satisfies Record<string, BuiltInRole>

/** The access group that every tenant has, for assets without another group. */
export const defaultAccessGroup = 'default'

export type BuiltInRoleName = keyof typeof builtInRoles

export function isPermission(name: string): name is Permission {
  return Object.hasOwn(permissions, name)
}

export function isBuiltInRole(name: string): name is BuiltInRoleName {
  return Object.hasOwn(builtInRoles, name)
}
