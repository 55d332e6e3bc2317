import { type AssetPath, type hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import { readableAssets } from '../../platform/asset-visibility.ts'
import type { Handle } from '../../platform/database/database.ts'
import { createYield } from '../../platform/event-loop.ts'
import { type Context, type Handlers, JsonText } from '../../platform/service.ts'
import { type AssignedAsset, assignedAssets } from './assignment-run.ts'
import { describeNodes, listHierarchies, nodesOnPaths, type PlacedNode, pathsTo } from './node-store.ts'

/** The nodes of assets, with their paths. */

export function assetPathHandlers(
  context: Context,
): Pick<
  Handlers<typeof hierarchy>,
  'listAssetPaths' | 'listPathsOfAssets' | 'describeNodePaths' | 'describeAssetNodes'
> {
  return {
    async listAssetPaths({ params: { id } }, caller) {
      const { nodesOf, pathTo } = await readPaths(context, caller, [id])
      const own = nodesOf.get(id)
      if (own === undefined) throw new Problem('not_found', `Asset ${id} does not exist`)
      return { data: own.map(pathTo) }
    },

    async describeNodePaths({ body: { data } }, caller) {
      requirePermission(caller, 'glb_hierarchy_read')
      return context.database.read(caller, async (handle) => {
        const { rows } = await listHierarchies(handle, { limit: hierarchyLimits.hierarchies, offset: 0 })
        const names = new Map(rows.map(({ id, name }) => [id, name]))
        const paths = await pathsTo(handle, data.nodeIds)
        const found = await describeNodes(handle, data.nodeIds)
        return {
          data: found.map(({ id, hierarchyId }) => {
            const path = paths.get(id)?.map(({ name }) => name) ?? []
            return { nodeId: id, hierarchyId, names: [names.get(hierarchyId) ?? '', ...path] }
          }),
        }
      })
    },

    async describeAssetNodes({ body: { data } }, caller) {
      const assets: AssignedAsset[] = []
      for (let start = 0; start < data.assetIds.length; start += inventoryLimits.classified) {
        const ids = data.assetIds.slice(start, start + inventoryLimits.classified)
        assets.push(...(await assignedAssets(context, caller, ids)))
      }
      return context.database.read(caller, async (handle) => {
        const newest = await newestNodes(handle, assets)
        const nodeIds = [...new Set(assets.flatMap(({ id }) => [...(newest.get(id)?.values() ?? [])]))]
        const nodes = await nodesOnPaths(handle, nodeIds, inventoryLimits.nodesPerQuery)
        return {
          data: {
            assets: [...newest].flatMap(([assetId, own]) =>
              own.size === 0 ? [] : [{ assetId, nodeIds: [...own.values()] }],
            ),
            parents: [...nodes.values()].flatMap(({ id, parentId }) =>
              nodes.has(parentId) ? [{ nodeId: id, parentId }] : [],
            ),
          },
        }
      })
    },

    async listPathsOfAssets({ body: { data } }, caller) {
      const { nodesOf, pathTo } = await readPaths(context, caller, data.assetIds)
      const yieldTurn = createYield(caller.tenantId)
      const texts = new Map<string, { nodes: number; text: string }>()
      const parts: string[] = []
      let nodes = 0
      for (const assetId of data.assetIds) {
        const own = nodesOf.get(assetId)
        if (own === undefined) continue
        parts.push(`${parts.length === 0 ? '' : ','}{"assetId":"${assetId}","paths":[`)
        for (const [index, node] of own.entries()) {
          // Many assets have the same node, so the text of a path is written once.
          const known = texts.get(node.nodeId) ?? printPath(pathTo(node))
          texts.set(node.nodeId, known)
          nodes += known.nodes
          if (nodes > hierarchyLimits.pathNodes) throw tooManyNodes()
          parts.push(index === 0 ? '' : ',', known.text)
        }
        parts.push(']}')
        await yieldTurn()
      }
      return new JsonText('{"data":[', ...parts, ']}')
    },
  }
}

function printPath(assetPath: AssetPath): { nodes: number; text: string } {
  return { nodes: assetPath.path.length, text: JSON.stringify(assetPath) }
}

function tooManyNodes(): Problem {
  const detail = `The paths of these assets have more than ${hierarchyLimits.pathNodes} nodes, which is the limit of one response. Request fewer assets`
  return new Problem('conflict', detail)
}

/** The node of an asset in one hierarchy. */
type AssignedNode = { hierarchyId: string; hierarchyName: string; nodeId: string }

/** Reads the nodes of the readable assets by the id of the asset, ordered by hierarchy. Other assets are left out. */
async function readPaths(context: Context, caller: Caller, assetIds: readonly string[]) {
  const readable = await readableAssets(context, caller, assetIds)
  const assets = await assignedAssets(
    context,
    caller,
    assetIds.filter((id) => readable.has(id)),
  )
  return context.database.read(caller, async (handle) => {
    const newest = await newestNodes(handle, assets)
    const { rows } = await listHierarchies(handle, { limit: hierarchyLimits.hierarchies, offset: 0 })
    const names = new Map(rows.map(({ id, name }) => [id, name]))
    const nodesOf = new Map(
      assets.map((asset) => {
        const own = [...(newest.get(asset.id) ?? [])].map(
          ([hierarchyId, nodeId]): AssignedNode => ({
            hierarchyId,
            hierarchyName: names.get(hierarchyId) ?? '',
            nodeId,
          }),
        )
        return [asset.id, own.toSorted((one, other) => (one.hierarchyName < other.hierarchyName ? -1 : 1))] as const
      }),
    )
    const ids = new Set([...nodesOf.values()].flatMap((own) => own.map(({ nodeId }) => nodeId)))
    const nodes = await nodesOnPaths(handle, [...ids], hierarchyLimits.pathNodes + 1)
    if (nodes.size > hierarchyLimits.pathNodes) throw tooManyNodes()
    return { nodesOf, pathTo: (node: AssignedNode) => pathOf(nodes, node) }
  })
}

/** Returns the nodes of assets by hierarchy. With two relations in one hierarchy, the newer one is last and applies. */
async function newestNodes(
  handle: Handle,
  assets: readonly AssignedAsset[],
): Promise<Map<string, Map<string, string>>> {
  const nodeIds = assets.flatMap((asset) => asset.nodes.map(({ nodeId }) => nodeId))
  const hierarchyOf = new Map((await describeNodes(handle, nodeIds)).map((node) => [node.id, node.hierarchyId]))
  return new Map(
    assets.map((asset) => [
      asset.id,
      new Map(
        asset.nodes.flatMap(({ nodeId }) => {
          const hierarchyId = hierarchyOf.get(nodeId)
          return hierarchyId === undefined ? [] : [[hierarchyId, nodeId] as const]
        }),
      ),
    ]),
  )
}

function pathOf(
  nodes: ReadonlyMap<string, PlacedNode>,
  { hierarchyId, hierarchyName, nodeId }: AssignedNode,
): AssetPath {
  const path: AssetPath['path'] = []
  for (let node = nodes.get(nodeId); node !== undefined; node = nodes.get(node.parentId))
    path.unshift({ id: node.id, name: node.name, ...(node.type === null ? {} : { type: node.type }) })
  return { hierarchyId, hierarchyName, path }
}
