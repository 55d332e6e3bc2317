import type { Impact, ImpactedAsset } from '@millwright/api/inventory/impact.ts'
import { printCsvRow } from '../../../platform/files/csv.ts'

/** The stored form of an impact: the assets, and the names of their nodes. Counts are computed for each reader. */
export type StoredImpact = {
  assets: ImpactedAsset[]
  nodes: { nodeId: string; names: string[] }[]
  truncated: boolean
}

type Counts = { affected: number; degraded: number }

/** Returns the counts of the assets, in total, by node and by class. */
export function summaryOf({
  assets,
  nodes,
}: Pick<StoredImpact, 'assets' | 'nodes'>): Pick<Impact, 'total' | 'byNode' | 'byClass'> {
  const total: Counts = { affected: 0, degraded: 0 }
  const names = new Map(nodes.map(({ nodeId, names }) => [nodeId, names]))
  const byNode = new Map<string, Counts>()
  const byClass = new Map<ImpactedAsset['class'], Counts>()
  const withoutNode: Counts = { affected: 0, degraded: 0 }
  for (const { effect, class: each, nodeIds } of assets) {
    total[effect]++
    countedAt(byClass, each)[effect]++
    const known = nodeIds.filter((id) => names.has(id))
    for (const id of known) countedAt(byNode, id)[effect]++
    if (known.length === 0) withoutNode[effect]++
  }
  const more = (one: Counts, other: Counts) => other.affected - one.affected || other.degraded - one.degraded
  const rest = withoutNode.affected + withoutNode.degraded > 0 ? [{ names: [], ...withoutNode }] : []
  return {
    total,
    byNode: [
      ...[...byNode]
        .map(([nodeId, counts]) => ({ nodeId, names: names.get(nodeId) ?? [], ...counts }))
        .toSorted((one, other) => more(one, other) || one.names.join().localeCompare(other.names.join())),
      ...rest,
    ],
    byClass: [...byClass].map(([each, counts]) => ({ class: each, ...counts })).toSorted(more),
  }
}

function countedAt<Key>(counts: Map<Key, Counts>, key: Key): Counts {
  const known = counts.get(key) ?? { affected: 0, degraded: 0 }
  counts.set(key, known)
  return known
}

const headings = ['id', 'name', 'class', 'type', 'effect', 'reason', 'depth', 'reachability', 'nodes']

/** Returns the assets as CSV. */
export function csvOf({ assets, nodes }: Pick<StoredImpact, 'assets' | 'nodes'>): string {
  const names = new Map(nodes.map((node) => [node.nodeId, node.names.join(' / ')]))
  const rows = assets.map((asset) => [
    asset.id,
    asset.name ?? '',
    asset.class,
    asset.functional_object_type ?? '',
    asset.effect,
    asset.reason,
    String(asset.depth),
    asset.reachability_state,
    asset.nodeIds.flatMap((id) => names.get(id) ?? []).join(' | '),
  ])
  return [headings, ...rows].map(printCsvRow).join('')
}
