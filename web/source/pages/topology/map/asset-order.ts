import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { TopologyAsset } from '@millwright/api/inventory/topology-groups.ts'
import { clustersOf } from './clusters.ts'

/** The classes in the order of the map: the assets on which the others depend are first. */
const classes: readonly AssetClass[] = [
  'controller',
  'switch',
  'gateway',
  'panel',
  'drive',
  'module',
  'sensor',
  'computer',
  'software',
  'other',
]

/** The classes whose assets a summary of a cluster names. */
export const mainClasses: readonly AssetClass[] = classes.slice(0, 3)

/** Returns the assets of a group by cell, and within a cell by class and name. */
export function orderedAssets(assets: readonly TopologyAsset[]): TopologyAsset[] {
  const clusterOf = new Map<TopologyAsset, number>()
  const clusters = clustersOf(assets.map(({ name }) => name)) ?? []
  for (const [cluster, { members }] of clusters.entries())
    for (const member of members) {
      const asset = assets[member]
      if (asset !== undefined) clusterOf.set(asset, cluster)
    }
  const order = (asset: TopologyAsset) => (clusterOf.get(asset) ?? 0) * classes.length + classes.indexOf(asset.class)
  return assets.toSorted(
    (one, other) =>
      order(one) - order(other) || (one.name ?? '').localeCompare(other.name ?? '', 'en', { numeric: true }),
  )
}
