import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'

export type DescribedAsset = { id: string; accessGroupId: string; isDeleted: boolean }

/** Returns the assets that exist or existed, by id. A deleted asset has its last access group. */
export async function describeAssets(
  { peers }: Pick<Context, 'peers'>,
  { tenantId, tenantName }: Pick<Caller, 'tenantId' | 'tenantName'>,
  ids: readonly string[],
): Promise<Map<string, DescribedAsset>> {
  const once = [...new Set(ids)]
  const found = new Map<string, DescribedAsset>()
  const client = peers(inventory, systemCaller({ tenantId, tenantName }))
  for (let start = 0; start < once.length; start += inventoryLimits.classified) {
    const part = once.slice(start, start + inventoryLimits.classified)
    const { data } = await client.describeAssets({ body: { data: { ids: part } } })
    for (const asset of data) found.set(asset.id, asset)
  }
  return found
}
