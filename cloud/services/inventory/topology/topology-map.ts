import { inventoryLimits } from '@millwright/api/inventory/shapes.ts'
import {
  type GroupContent,
  restKey,
  type TopologyEdge,
  type TopologyGroup,
  type TopologyGroups,
} from '@millwright/api/inventory/topology-groups.ts'
import type { GroupRow } from './group-store.ts'
import { assetOf, type Counted, countAsset, emptyCount, orderedEdges, selfOf, shownGroup, totalOf } from './groups.ts'

/** Builds the map of the whole topology: all groups with their counts, their assets, and the relations inside each of them. */

/** A group with its place in the tree. The parent of a top group is undefined. */
export type TreeGroup = { key: string; name: string; type?: string; parent: string | undefined }

export type MapInput = {
  kind: 'node' | 'switch' | 'subnet'
  tree: readonly TreeGroup[]
  rows: readonly GroupRow[]
  truncated: boolean
}

type MapContent = GroupContent & { inside: Record<string, GroupContent> }

type Place = { group: TreeGroup | undefined; counted: Counted; children: Place[]; content: Content }
type Content = { assets: TopologyGroups['assets']; edges: Map<string, TopologyEdge> }

const rootKey = ''

export function mapOf({ kind, tree, rows, truncated }: MapInput): MapContent {
  const places = new Map<string, Place>([[rootKey, emptyPlace(undefined)]])
  for (const group of tree) places.set(group.key, emptyPlace(group))
  // A tree that was cut off can lack the parent of a group. Such a group is at the top.
  const parentOf = new Map(
    tree.map(({ key, parent }) => [key, parent !== undefined && places.has(parent) ? parent : rootKey]),
  )
  for (const [key, parent] of parentOf) {
    const place = places.get(key)
    if (place !== undefined) places.get(parent)?.children.push(place)
  }
  const groupOf = new Map<string, string>()
  for (const row of rows) {
    if (row.kind !== 'asset') continue
    const key = places.has(row.other ?? '') ? (row.other ?? '') : restKey
    if (key === restKey && !places.has(restKey)) {
      const rest = emptyPlace({ key: restKey, name: '', parent: undefined })
      places.set(restKey, rest)
      parentOf.set(restKey, rootKey)
      places.get(rootKey)?.children.push(rest)
    }
    groupOf.set(row.key, key)
    places.get(key)?.content.assets.push(assetOf(row))
    for (let at: string | undefined = key; at !== undefined; at = parentOf.get(at)) {
      const place = places.get(at)
      if (place !== undefined) countAsset(place.counted, row)
    }
  }
  for (const row of rows) if (row.kind === 'edge') addEdge(row, { places, parentOf, groupOf })
  const pathTo = (key: string): TopologyGroups['path'] => {
    const path: TopologyGroups['path'] = []
    for (let at: string | undefined = key; at !== undefined && at !== rootKey; at = parentOf.get(at)) {
      const { name = '', type } = places.get(at)?.group ?? {}
      if (at !== restKey) path.unshift({ key: at, name, ...(type === undefined ? {} : { type }) })
    }
    return path
  }
  const inside: Record<string, GroupContent> = {}
  for (const [key, place] of places) if (key !== rootKey) inside[key] = contentOf(kind, place, pathTo(key))
  const top = contentOf(kind, places.get(rootKey) ?? emptyPlace(undefined), [])
  return { ...top, truncated: top.truncated || truncated, inside }
}

function emptyPlace(group: TreeGroup | undefined): Place {
  return { group, counted: emptyCount(), children: [], content: { assets: [], edges: new Map() } }
}

type Places = {
  places: ReadonlyMap<string, Place>
  parentOf: ReadonlyMap<string, string>
  groupOf: ReadonlyMap<string, string>
}

/** Adds a relation between two assets to the innermost group that contains both of them. */
function addEdge({ key, other, name }: GroupRow, { places, parentOf, groupOf }: Places): void {
  const [fromGroup, toGroup] = [groupOf.get(key), groupOf.get(other ?? '')]
  if (fromGroup === undefined || toGroup === undefined || other === null) return
  const above = new Map<string, string>()
  for (
    let [at, below]: [string | undefined, string] = [fromGroup, key];
    at !== undefined;
    [at, below] = [parentOf.get(at), at]
  )
    above.set(at, below)
  for (
    let [at, below]: [string | undefined, string] = [toGroup, other];
    at !== undefined;
    [at, below] = [parentOf.get(at), at]
  ) {
    const from = above.get(at)
    if (from === undefined) continue
    if (from === below) return
    const edges = places.get(at)?.content.edges
    const id = `${from} ${below} ${name}`
    const known = edges?.get(id)
    if (known === undefined) edges?.set(id, { from, to: below, predicate: name ?? '', count: 1 })
    else known.count++
    return
  }
}

function contentOf(
  kind: TopologyGroup['kind'],
  { counted, children, content }: Place,
  path: TopologyGroups['path'],
): GroupContent {
  const edges = orderedEdges(content.edges.values())
  return {
    path,
    total: totalOf([counted]),
    groups: children.flatMap((child) => {
      const { group } = child
      if (group === undefined) return []
      const named = {
        key: group.key,
        children: child.children.length,
        ...(group.type === undefined ? {} : { type: group.type }),
      }
      return group.key === restKey
        ? [shownGroup('rest', named, child.counted)]
        : [{ ...shownGroup(kind, { ...named, name: group.name }, child.counted), ...switchOf(kind, child) }]
    }),
    assets: content.assets,
    edges: edges.slice(0, inventoryLimits.topologyEdges),
    truncated: edges.length > inventoryLimits.topologyEdges,
  }
}

/** Returns the state of the switch of a group of assets at a switch. */
function switchOf(kind: TopologyGroup['kind'], { group, content }: Place): Pick<TopologyGroup, 'self'> {
  const own = kind === 'switch' ? content.assets.find(({ id }) => id === group?.key) : undefined
  return own === undefined ? {} : { self: selfOf(own) }
}
