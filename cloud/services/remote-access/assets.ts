import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'

/** The properties of assets that remote access uses. The inventory is queried each time, so a move takes effect at once. */

export type AssetDescription = {
  id: string
  /** The access group. A deleted asset has its last one. */
  accessGroupId: string
  isDeleted: boolean
  isGatewayOrLink: boolean
}

/** Returns the assets that exist or existed, by id. */
export async function describeAssets(
  { peers }: Pick<Context, 'peers'>,
  caller: Pick<Caller, 'tenantId' | 'tenantName'>,
  ids: readonly string[],
): Promise<Map<string, AssetDescription>> {
  const once = [...new Set(ids)]
  const found = new Map<string, AssetDescription>()
  const { tenantId, tenantName } = caller
  const client = peers(inventory, systemCaller({ tenantId, tenantName }))
  for (let start = 0; start < once.length; start += inventoryLimits.classified) {
    const part = once.slice(start, start + inventoryLimits.classified)
    const { data } = await client.describeAssets({ body: { data: { ids: part } } })
    for (const asset of data) found.set(asset.id, asset)
  }
  return found
}

/** Returns whether the caller can read the asset and open sessions to it. */
export function mayConnect(caller: Pick<Caller, 'rights'>, { accessGroupId }: AssetDescription): boolean {
  return (
    mayIn(caller, 'inventory_read_asset_data', accessGroupId) && mayIn(caller, 'remote_access_connect', accessGroupId)
  )
}

/** Returns whether the caller can read the asset and supervise its sessions. */
export function maySupervise(caller: Pick<Caller, 'rights'>, { accessGroupId }: AssetDescription): boolean {
  return (
    mayIn(caller, 'inventory_read_asset_data', accessGroupId) && mayIn(caller, 'remote_access_approve', accessGroupId)
  )
}
