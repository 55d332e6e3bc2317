import type { TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import type { TreeGroup } from './topology-map.ts'

/**
 * Returns a function that finds the place of a group: the lowest node that contains more than half of its assets, as the path from the
 * top. `counts` are the numbers of assets that are assigned to each node directly.
 */
export function placeFinder(tree: readonly TreeGroup[]) {
  const nodes = new Map(tree.map((node) => [node.key, node]))
  const pathTo = (key: string): TreeGroup[] => {
    const path: TreeGroup[] = []
    for (let node = nodes.get(key); node !== undefined; node = nodes.get(node.parent ?? '')) path.unshift(node)
    return path
  }
  return (counts: ReadonlyMap<string, number>, assets: number): TopologyGroup['place'] => {
    const inside = new Map<string, number>()
    for (const [key, count] of counts)
      for (const node of pathTo(key)) inside.set(node.key, (inside.get(node.key) ?? 0) + count)
    // At most one node of each level contains more than half of the assets, so these nodes are one path.
    const path = [...inside]
      .filter(([, count]) => count * 2 > assets)
      .map(([key]) => pathTo(key))
      .toSorted((one, other) => other.length - one.length)
      .at(0)
    return path?.map(({ key, name, type }) => ({ key, name, ...(type === undefined ? {} : { type }) }))
  }
}
