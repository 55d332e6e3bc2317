import { type AssetPath, type hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { readableAssets } from '../../platform/asset-visibility.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { describeNodes, listHierarchies, pathsTo } from './node-store.ts'

/** The nodes of assets, with their paths. */

export function assetPathHandlers(
  context: Context,
): Pick<Handlers<typeof hierarchy>, 'listAssetPaths' | 'listPathsOfAssets'> {
  return {
    async listAssetPaths({ params: { id } }, caller) {
      const paths = (await pathsOf(context, caller, [id])).get(id)
      if (paths === undefined) throw new Problem('not_found', `Asset ${id} does not exist`)
      return { data: paths }
    },

    async listPathsOfAssets({ body: { data } }, caller) {
      const paths = await pathsOf(context, caller, data.assetIds)
      return { data: [...paths].map(([assetId, assetPaths]) => ({ assetId, paths: assetPaths })) }
    },
  }
}

/** Returns the paths of the readable assets by the id of the asset. Other assets are left out. */
async function pathsOf(
  context: Context,
  caller: Caller,
  assetIds: readonly string[],
): Promise<Map<string, AssetPath[]>> {
  const readable = await readableAssets(context, caller, assetIds)
  const system = systemCaller({ tenantId: caller.tenantId, tenantName: caller.tenantName })
  const body = { data: { assetIds: assetIds.filter((id) => readable.has(id)) } }
  if (body.data.assetIds.length === 0) return new Map()
  const { data: assets } = await context.peers(inventory, system).describeAssignedAssets({ body })
  return context.database.read(caller, async (handle) => {
    const nodeIds = assets.flatMap((asset) => asset.nodes.map(({ nodeId }) => nodeId))
    const named = new Map((await describeNodes(handle, nodeIds)).map((node) => [node.id, node]))
    const paths = await pathsTo(handle, [...named.keys()])
    const { rows } = await listHierarchies(handle, { limit: hierarchyLimits.hierarchies, offset: 0 })
    const names = new Map(rows.map(({ id, name }) => [id, name]))
    return new Map(
      assets.map((asset) => {
        // With two relations in one hierarchy, the newer one is last and applies.
        const newest = new Map(
          asset.nodes.flatMap(({ nodeId }) => {
            const node = named.get(nodeId)
            return node === undefined ? [] : [[node.hierarchyId, nodeId] as const]
          }),
        )
        const own = [...newest].map(([hierarchyId, nodeId]) => ({
          hierarchyId,
          hierarchyName: names.get(hierarchyId) ?? '',
          path: paths.get(nodeId) ?? [],
        }))
        return [asset.id, own.toSorted((one, other) => (one.hierarchyName < other.hierarchyName ? -1 : 1))]
      }),
    )
  })
}
