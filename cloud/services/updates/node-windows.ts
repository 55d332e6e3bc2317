import { hierarchy } from '@millwright/api/hierarchy.ts'
import type { MaintenanceWindow } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import { windowKey } from './open-window.ts'
import { listWindows } from './window-store.ts'

/**
 * Returns the windows of the nodes of assets and of the nodes above, each once. Assets without nodes are left out. All nodes
 * count, also those that the caller cannot read, because a window protects the device.
 */
export async function windowsOfAssets(
  { database, peers }: Context,
  caller: Caller,
  assetIds: readonly string[],
): Promise<Map<string, MaintenanceWindow[]>> {
  if (assetIds.length === 0) return new Map()
  const stored = await database.read(caller, listWindows)
  if (stored.length === 0) return new Map()
  const windowOf = new Map(stored.map(({ nodeId, window }) => [nodeId, window]))
  const { tenantId, tenantName } = caller
  const { data } = await peers(hierarchy, systemCaller({ tenantId, tenantName })).describeAssetNodes({
    body: { data: { assetIds: [...assetIds] } },
  })
  const parentOf = new Map(data.parents.map(({ nodeId, parentId }) => [nodeId, parentId]))
  const known = new Map<string, MaintenanceWindow[]>()
  const windowsOf = (nodeId: string): MaintenanceWindow[] => {
    const path: string[] = []
    for (let node: string | undefined = nodeId; node !== undefined; node = parentOf.get(node)) path.push(node)
    return path.flatMap((node) => windowOf.get(node) ?? [])
  }
  return new Map(
    data.assets.map(({ assetId, nodeIds }) => {
      const windows = nodeIds.flatMap((nodeId) => {
        const own = known.get(nodeId) ?? windowsOf(nodeId)
        known.set(nodeId, own)
        return own
      })
      return [assetId, [...new Map(windows.map((one) => [windowKey(one), one])).values()]]
    }),
  )
}
