import { monitoringCounts, type TopologyGroup, type TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { type CommonParts, commonParts, distinctName, namesOf } from './names.ts'
import { rootKey } from './scene-keys.ts'

/**
 * Divides the switches into networks: switches that are connected with each other. The top of the map contains the networks, and
 * a network contains its switches with the switch above each of them.
 */

const networkPrefix = 'network:'
/**
 * The types of groups of switches: a network, the switch at its top, several switches of a place or with names that start with the same
 * words, and several switches whose names differ.
 */
export const networkType = 'network'
export const coreType = 'core-switch'
export const switchesType = 'switches'
export const rangeType = 'switch-range'

export function isNetworkKey(key: string): boolean {
  return key.startsWith(networkPrefix)
}

type LoadedGroups = ReadonlyMap<string, TopologyGroups>

/** Returns the loaded groups with networks at the top. Without the parents of switches, the groups do not change. */
export function withNetworks(loaded: LoadedGroups): LoadedGroups {
  const top = loaded.get(rootKey)
  if (top === undefined || top.groups.every(({ parent }) => parent === undefined)) return loaded
  const switches = new Map(top.groups.filter(({ kind }) => kind === 'switch').map((each) => [each.key, each]))
  const rootOf = new Map<string, string>()
  for (const { key } of switches.values()) {
    let root = key
    for (let above = switches.get(root)?.parent; above !== undefined; above = switches.get(root)?.parent) root = above
    rootOf.set(key, root)
  }
  const members = Map.groupBy(switches.values(), ({ key }) => rootOf.get(key) ?? key)
  const common = commonParts(namesOf([...members.keys()].map((key) => ({ name: switches.get(key)?.name }))))
  const placeOf = new Map([...members].map(([root, own]) => [root, sharedPlace(own)]))
  const places = [...placeOf.values()].map((place) => place?.at(-1)?.key)
  const networks = [...members].map(([root, own]): TopologyGroup => {
    const place = placeOf.get(root)
    const node = place?.at(-1)
    // A place that several networks share does not identify them.
    const isNamedByPlace = node !== undefined && places.filter((key) => key === node.key).length === 1
    const name = distinctName(switches.get(root)?.name ?? root, common)
    const group = { key: networkPrefix + root, kind: 'switch', type: networkType, name, children: own.length } as const
    return { ...sumOf(own), ...group, ...(place !== undefined && isNamedByPlace && { name: node.name, place }) }
  })
  const found = new Map<string, TopologyGroups>()
  const rest = top.groups.filter(({ kind }) => kind !== 'switch')
  const networkOf = (key: string) => networkPrefix + rootOf.get(key)
  const between = top.edges
    .filter(({ from, to }) => rootOf.has(from) && rootOf.has(to) && rootOf.get(from) !== rootOf.get(to))
    .map((edge) => ({ ...edge, from: networkOf(edge.from), to: networkOf(edge.to) }))
  found.set(rootKey, { ...top, groups: [...networks, ...rest], edges: between })
  for (const network of networks) {
    const groups = members.get(network.key.slice(networkPrefix.length)) ?? []
    const type = network.place === undefined ? networkType : 'node'
    const path = [{ key: network.key, name: network.name ?? '', type }]
    const keys = new Set(groups.map(({ key }) => key))
    const edges = top.edges.filter(({ from, to }) => keys.has(from) && keys.has(to))
    const { assets, reachability, stopped, stoppedRead, outdated, monitoring, changes } = network
    found.set(network.key, {
      ...top,
      path,
      total: { assets, reachability, stopped, stoppedRead, outdated, monitoring, changes },
      groups,
      assets: [],
      edges,
    })
  }
  for (const [key, data] of loaded) {
    const own = switches.get(key)
    if (key === rootKey) continue
    if (own === undefined) {
      found.set(key, data)
      continue
    }
    const network = found.get(networkPrefix + rootOf.get(key))
    const { assets, reachability, stopped, stoppedRead, outdated, monitoring, changes } = own
    found.set(key, {
      ...data,
      path: [...(network?.path ?? []), { key, name: own.name ?? key }],
      total: { assets, reachability, stopped, stoppedRead, outdated, monitoring, changes },
      // The switches below are next to this switch, not inside it.
      groups: [],
    })
  }
  return found
}

/** Returns the number of networks if no connection between them is known, and otherwise 0. */
export function separateNetworks({
  groups,
  edges,
  truncated,
}: Pick<TopologyGroups, 'groups' | 'edges' | 'truncated'>): number {
  const networks = groups.filter(({ type }) => type === networkType).length
  return truncated || edges.length > 0 ? 0 : networks
}

type SummaryOptions = {
  key: string
  common: CommonParts
  isCore?: boolean
  /** The switches of the other groups of the network. */
  others?: readonly (readonly TopologyGroup[])[]
}

/**
 * Returns a group that stands for several switches. Its name is the place that only these switches have, the start that their names
 * have in common, or the first and the last name. The name of a core switch is complete.
 */
export function summaryGroup(
  members: readonly TopologyGroup[],
  { key, common, isCore = false, others = [] }: SummaryOptions,
): TopologyGroup {
  const names = namesOf(members)
  const summary = { ...sumOf(members), key, kind: 'switch', children: members.length } as const
  const place = sharedPlace(members)
  if (isCore && members.length === 1) {
    const self = members[0]?.self
    return {
      ...summary,
      type: coreType,
      name: names[0] ?? key,
      ...(place !== undefined && { place }),
      ...(self !== undefined && { self }),
    }
  }
  const node = place?.at(-1)
  const isOwn = others.every((each) => sharedPlace(each)?.at(-1)?.key !== node?.key)
  // The only group of a network has the place of the network, so the place does not identify it.
  if (node !== undefined && place !== undefined && isOwn && others.length > 0)
    return { ...summary, type: switchesType, name: node.name, place }
  const [first = ''] = names
  const shared = names.length > 1 ? first.slice(common.start, commonParts(names).start).replace(/[-_]$/, '') : ''
  const last = names.at(-1) ?? first
  // The last name of a range leaves out what it shares with the first one.
  const end = distinctName(last, { ...common, start: Math.max(common.start, commonParts([first, last]).start) })
  const name = shared || (first === last ? distinctName(first, common) : `${distinctName(first, common)} – ${end}`)
  const several = shared === '' ? rangeType : switchesType
  const type = members.length > 1 ? several : isCore ? coreType : undefined
  return { ...summary, ...(type !== undefined && { type }), name }
}

/** Returns the path to the node that the places of all switches share. Switches without a place do not count. */
function sharedPlace(groups: readonly TopologyGroup[]): TopologyGroup['place'] {
  const [first, ...others] = groups.flatMap(({ place }) => (place === undefined ? [] : [place]))
  if (first === undefined) return undefined
  const differs = first.findIndex(({ key }, depth) => others.some((place) => place[depth]?.key !== key))
  const shared = differs === -1 ? first : first.slice(0, differs)
  return shared.length === 0 ? undefined : shared
}

/** Returns whether a core switch is at the place of a group of switches. Then the group counts it and the assets at it. */
export function isAtPlaceOf(
  core: Pick<TopologyGroup, 'place'> | undefined,
  { place }: Pick<TopologyGroup, 'place'>,
): boolean {
  const node = place?.at(-1)
  return node !== undefined && core?.place?.some(({ key }) => key === node.key) === true
}

/**
 * Returns a group without the switch itself. Its numbers then count only the assets at the switch. A search that the
 * switch does not match returns a group that does not count the switch, without the state of the switch.
 */
export function withoutSwitch(group: TopologyGroup): TopologyGroup {
  const { assets, outdated, monitoring, self } = group
  if (self === undefined) return group
  const state = self.monitoring
  return {
    ...group,
    assets: assets - 1,
    outdated: outdated - (self.outdated ? 1 : 0),
    monitoring: state === undefined ? monitoring : { ...monitoring, [state]: monitoring[state] - 1 },
  }
}

/** Returns a group that counts only the switch itself, and no assets at it. */
export function switchAlone(group: TopologyGroup): TopologyGroup {
  const { self } = group
  const none = sumOf([])
  if (self === undefined) return { ...group, ...none }
  const { monitoring: state, outdated } = self
  const monitoring = state === undefined ? none.monitoring : { ...none.monitoring, [state]: 1 }
  return { ...group, ...none, assets: 1, outdated: outdated ? 1 : 0, monitoring }
}

function sumOf(
  groups: readonly TopologyGroup[],
): Pick<
  TopologyGroup,
  'assets' | 'reachability' | 'stopped' | 'stoppedRead' | 'outdated' | 'monitoring' | 'classes' | 'changes'
> {
  const sum = {
    assets: 0,
    reachability: { reached: 0, failed: 0, unknown: 0 },
    stopped: 0,
    stoppedRead: 0,
    outdated: 0,
    monitoring: { reachable: 0, unreachable: 0, unchecked: 0, unmonitored: 0 },
    changes: { added: 0, changed: 0, removed: 0 },
  }
  const classes = new Map<TopologyGroup['classes'][number]['class'], number>()
  for (const group of groups) {
    sum.assets += group.assets
    sum.stopped += group.stopped
    sum.stoppedRead += group.stoppedRead
    sum.outdated += group.outdated
    for (const state of ['reached', 'failed', 'unknown'] as const) sum.reachability[state] += group.reachability[state]
    for (const state of monitoringCounts) sum.monitoring[state] += group.monitoring[state]
    for (const change of ['added', 'changed', 'removed'] as const) sum.changes[change] += group.changes[change]
    for (const { class: each, assets } of group.classes) classes.set(each, (classes.get(each) ?? 0) + assets)
  }
  const ordered = [...classes].toSorted(([, one], [, other]) => other - one)
  return { ...sum, classes: ordered.map(([each, assets]) => ({ class: each, assets })) }
}
