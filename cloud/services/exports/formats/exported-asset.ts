import { parentPredicates } from '@millwright/api/asset-columns.ts'
import type { AssetDocument, GraphEdge } from '@millwright/api/inventory/inventory.ts'

/**
 * An asset to export: its document as the inventory returns it with the field `asset_identifiers`, and its incoming and
 * outgoing relations.
 */
export type ExportedAsset = { document: AssetDocument; relations: readonly Omit<GraphEdge, 'id'>[] }

/**
 * Returns the prefix of the global ids of a tenant's assets. Ids contain the tenant, so that two exports of the same
 * asset have the same ids, and ids of two tenants never collide.
 */
export function assetNamespace(tenantId: string): string {
  return `urn:millwright:tenant:${tenantId}:asset:`
}

/** The predicates whose subject is software on the object. */
export const softwarePredicates: readonly string[] = ['is_installed_on', 'is_running_on']

/** The predicates whose subject is a part of the object. */
export const partPredicates: readonly string[] = [...parentPredicates, ...softwarePredicates]

/** The predicates of relations in a shell: its structure, and connections. */
export const shellPredicates: readonly string[] = [
  ...partPredicates,
  'is_connected_to',
  'is_controlled_by',
  'is_powered_by',
]
