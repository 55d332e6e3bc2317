import { type hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { joinPath, splitPath } from '@millwright/api/hierarchy-path.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requirePermission } from '../../platform/access/permission-denied.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { assignNow, currentNodes } from './assignment-run.ts'
import { findChildren, listHierarchies } from './node-store.ts'

/** Operations for the import service: nodes by their paths, and assignments of assets to different nodes. */
export function placementHandlers(context: Context): Pick<Handlers<typeof hierarchy>, 'resolvePaths' | 'placeAssets'> {
  const { database } = context
  return {
    async resolvePaths({ body: { data } }, caller) {
      requirePermission(caller, 'glb_hierarchy_read')
      const { rows } = await database.read(caller, (handle) =>
        listHierarchies(handle, { limit: hierarchyLimits.hierarchies, offset: 0 }),
      )
      const hierarchyIds = new Map(rows.map(({ id, name }) => [name, id]))
      const open = data.paths.map((path) => openPath(path, hierarchyIds))
      for (let level = 0; ; level++) {
        const next = open.filter(({ names, detail }) => detail === undefined && names.length > level)
        if (next.length === 0) break
        const pairs = next.map(({ hierarchyId, names, nodeId }) => ({
          hierarchyId,
          parentId: nodeId,
          name: names[level] ?? '',
        }))
        const found = await database.read(caller, (handle) => findChildren(handle, pairs))
        const childrenOf = Map.groupBy(found, ({ parentId, name }) => JSON.stringify([parentId, name]))
        for (const path of next) stepInto(path, childrenOf, level)
      }
      return {
        data: open.map(({ hierarchyId, nodeId, detail }) =>
          detail === undefined ? { hierarchyId, nodeId } : { detail },
        ),
      }
    },

    async placeAssets({ body: { data } }, caller) {
      const { placements, dryRun } = data
      requirePermission(caller, 'glb_hierarchy_write')
      requirePermission(caller, 'glb_inventory_write_relation_data')
      const results = new Map<string, PlacedAsset>()
      for (const [hierarchyId, own] of Map.groupBy(placements, (placement) => placement.hierarchyId)) {
        const placed = await (dryRun ? comparePlaces : assignPlaces)(context, caller, { hierarchyId, placements: own })
        for (const [assetId, result] of placed) results.set(`${hierarchyId} ${assetId}`, result)
      }
      return {
        data: placements.map(
          ({ hierarchyId, assetId }) => results.get(`${hierarchyId} ${assetId}`) ?? { outcome: 'unchanged' as const },
        ),
      }
    },
  }
}

type OpenPath = { text: string; names: string[]; hierarchyId: string; nodeId: string; detail?: string }

function openPath(text: string, hierarchyIds: ReadonlyMap<string, string>): OpenPath {
  const [hierarchyName = '', ...names] = splitPath(text).map((name) => name.trim())
  const hierarchyId = hierarchyIds.get(hierarchyName)
  const path = { text, names, hierarchyId: hierarchyId ?? '', nodeId: hierarchyId ?? '' }
  if (hierarchyId === undefined)
    return {
      ...path,
      detail: `No hierarchy has the name "${hierarchyName}". A path begins with the name of its hierarchy`,
    }
  if (names.length === 0) return { ...path, detail: `The path "${text}" names a hierarchy, but no node in it` }
  return path
}

type Child = { id: string; parentId: string; name: string }

function stepInto(path: OpenPath, childrenOf: ReadonlyMap<string, Child[]>, level: number): void {
  const name = path.names[level] ?? ''
  const children = childrenOf.get(JSON.stringify([path.nodeId, name])) ?? []
  const [child, other] = children
  if (child !== undefined && other === undefined) {
    path.nodeId = child.id
    return
  }
  const above = joinPath(splitPath(path.text).slice(0, level + 1))
  path.detail =
    child === undefined
      ? `"${above}" has no node with the name "${name}". Create the node first, or correct the path`
      : `"${above}" has several nodes with the name "${name}". Rename all but one of them`
}

type PlacedAsset = { outcome: 'changed' | 'unchanged' | 'failed'; code?: string; detail?: string }
type HierarchyPlacements = { hierarchyId: string; placements: readonly { assetId: string; nodeId: string }[] }

/** Assigns assets to their nodes. */
async function assignPlaces(context: Context, caller: Caller, { hierarchyId, placements }: HierarchyPlacements) {
  const targets = [...new Map(placements.map(({ assetId, nodeId }) => [assetId, { assetId, nodeId }])).values()]
  const placed = new Map<string, PlacedAsset>()
  for (let start = 0; start < targets.length; start += hierarchyLimits.assetsAssigned) {
    const part = targets.slice(start, start + hierarchyLimits.assetsAssigned)
    const assetIds = part.map(({ assetId }) => assetId)
    const { results } = await assignNow(context, caller, { hierarchyId, kind: 'rules', assetIds, targets: part })
    for (const { assetId, outcome, code, detail } of results)
      placed.set(assetId, {
        outcome: outcome === 'failed' || outcome === 'unchanged' ? outcome : 'changed',
        ...(code === undefined ? {} : { code }),
        ...(detail === undefined ? {} : { detail }),
      })
  }
  return placed
}

/** Returns which assets would be assigned to another node. */
async function comparePlaces(context: Context, caller: Caller, { hierarchyId, placements }: HierarchyPlacements) {
  const assetIds = placements.map(({ assetId }) => assetId)
  const { assetOf } = await currentNodes(context, caller, { hierarchyId, assetIds })
  return new Map(
    placements.map(({ assetId, nodeId }): [string, PlacedAsset] => {
      const isAssigned = assetOf.get(assetId)?.nodes.some((node) => node.nodeId === nodeId) ?? false
      return [assetId, { outcome: isAssigned ? 'unchanged' : 'changed' }]
    }),
  )
}
