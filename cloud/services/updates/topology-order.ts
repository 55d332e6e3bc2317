import { strongComponents } from './strong-components.ts'
import type { Cluster, ClusterKind, Topology } from './topology.ts'

/**
 * The order in which the targets of a campaign are updated: downstream devices first, then the devices through which they
 * reach the network. Devices that are not targets keep their place in the topology, so the order also applies to two targets
 * with other devices between them.
 */

export type Placement = {
  /** Devices with a lower order are updated first. */
  order: number
  /** The nearest targets downstream. */
  after: string[]
  /** The redundant targets. */
  notWith: string[]
  /** All redundant assets, also those that are not targets. */
  redundant: string[]
  /** Only one device of a group is updated at a time. The group has the same key in all campaigns. */
  group: string
  kind: ClusterKind
  /** The connected group of the device. */
  connectedGroup: string
}

/**
 * Above these sizes, the devices below a device are not listed again for the next device above them. The next device waits for
 * the first one instead. The lists of all devices then stay in proportion to the number of relations.
 */
const listedTargets = 64
const listedClusters = 1_000

/**
 * The group of all devices whose connected assets are not all read. Which assets are read depends on the targets, so two campaigns
 * cannot compare such groups.
 */
const unexploredGroup = 'unexplored'

/** Returns the place of each target in the order. */
export function orderTargets(topology: Topology, targets: readonly string[]): Map<string, Placement> {
  const placements = new Map<string, Placement>()
  const isTarget = new Uint8Array(topology.ids.length)
  for (const id of targets) {
    const node = topology.indexOf.get(id)
    if (node === undefined) placements.set(id, unconnected(id))
    else isTarget[node] = 1
  }
  const downstream = new DownstreamTargets(topology, isTarget)
  for (const cluster of topology.clusters) {
    const members = cluster.members.filter((node) => isTarget[node] === 1)
    if (members.length === 0) continue
    const group = groupKey(topology, cluster)
    let previous = -1
    for (const { node, partsInside } of sequence(topology, cluster, members)) {
      const after = new Set([...downstream.of(node), ...partsInside]).values().map((each) => topology.ids[each] ?? '')
      const own = { after: [...after], isAlone: cluster.kind === 'single' }
      const earliest = own.after.reduce((order, id) => Math.max(order, (placements.get(id)?.order ?? -1) + 1), 0)
      previous = own.isAlone ? earliest : Math.max(earliest, previous + 1)
      const id = topology.ids[node] ?? ''
      const redundant = topology.redundant[node] ?? []
      placements.set(id, {
        order: previous,
        after: own.after,
        notWith: redundant.flatMap((other) => (isTarget[other] === 1 ? [topology.ids[other] ?? ''] : [])),
        redundant: redundant.map((other) => topology.ids[other] ?? ''),
        group: own.isAlone ? id : group,
        kind: cluster.kind,
        connectedGroup: topology.ids[topology.groupOf[node] ?? 0] ?? '',
      })
    }
  }
  return placements
}

function unconnected(id: string): Placement {
  return { order: 0, after: [], notWith: [], redundant: [], group: id, kind: 'single', connectedGroup: id }
}

/** Returns the key of a cluster: its smallest id. It does not depend on the targets, unless relations were not read. */
function groupKey({ ids }: Topology, { kind, members }: Cluster): string {
  if (kind === 'unexplored') return unexploredGroup
  let least = ids[members[0] ?? 0] ?? ''
  for (const node of members) {
    const id = ids[node] ?? ''
    if (id < least) least = id
  }
  return least
}

/** `DownstreamTargets` finds the nearest targets below devices. It must be called in the order of the clusters. */
class DownstreamTargets {
  readonly #topology: Topology
  readonly #isTarget: Uint8Array
  /** For a cluster whose targets are not listed again: the target that waits for all of them. */
  readonly #coveredBy = new Map<number, number>()

  constructor(topology: Topology, isTarget: Uint8Array) {
    this.#topology = topology
    this.#isTarget = isTarget
  }

  of(node: number): number[] {
    const { below, clusters } = this.#topology
    const found = new Set<number>()
    const visited = new Set<number>()
    const waiting = [...(below[node] ?? [])]
    for (let cluster = waiting.pop(); cluster !== undefined; cluster = waiting.pop()) {
      if (visited.has(cluster)) continue
      visited.add(cluster)
      const covering = this.#coveredBy.get(cluster)
      if (covering !== undefined) {
        found.add(covering)
        continue
      }
      for (const member of clusters[cluster]?.members ?? []) {
        if (this.#isTarget[member] === 1) found.add(member)
        else waiting.push(...(below[member] ?? []))
      }
    }
    if (found.size > listedTargets || visited.size > listedClusters) {
      for (const cluster of visited) this.#coveredBy.set(cluster, node)
    }
    return [...found]
  }
}

type Position = { node: number; partsInside: number[] }

/**
 * Returns the targets of a cluster in the order in which they are updated. Parts come before the device that they are a part
 * of, unless the relations form a cycle. After that, devices at the edge of the network come first.
 */
function sequence(topology: Topology, { kind, members }: Cluster, targets: readonly number[]): Position[] {
  if (kind === 'single') return targets.map((node) => ({ node, partsInside: [] }))
  const levels = partLevels(topology, members)
  const distances = edgeDistances(topology, members)
  const isInside = new Set(targets)
  return targets
    .toSorted(
      (one, other) =>
        (levels.get(one) ?? 0) - (levels.get(other) ?? 0) ||
        (distances.get(one) ?? 0) - (distances.get(other) ?? 0) ||
        ((topology.ids[one] ?? '') < (topology.ids[other] ?? '') ? -1 : 1),
    )
    .map((node) => ({
      node,
      partsInside: (topology.parts[node] ?? []).filter(
        (part) => isInside.has(part) && (levels.get(part) ?? 0) < (levels.get(node) ?? 0),
      ),
    }))
}

/** Returns for each device of a cluster how many levels of parts are below it. Devices in a cycle have the same level. */
function partLevels({ parts }: Topology, members: readonly number[]): Map<number, number> {
  const position = new Map(members.map((node, index) => [node, index]))
  const inside = members.map((node) => (parts[node] ?? []).flatMap((part) => position.get(part) ?? []))
  const levels = new Int32Array(members.length)
  for (const component of strongComponents(inside)) {
    const own = new Set(component)
    const lower = component.flatMap((index) => (inside[index] ?? []).filter((part) => !own.has(part)))
    const level = lower.reduce((most, part) => Math.max(most, (levels[part] ?? 0) + 1), 0)
    for (const index of component) levels[index] = level
  }
  return new Map(members.map((node, index) => [node, levels[index] ?? 0]))
}

/** Returns for each device the round in which it is removed if devices with at most one cable are removed in each round. */
function edgeDistances({ cables }: Topology, members: readonly number[]): Map<number, number> {
  const isInside = new Set(members)
  const degree = new Map(
    members.map((node) => [node, (cables[node] ?? []).filter(({ to }) => isInside.has(to)).length] as const),
  )
  const distances = new Map<number, number>()
  let edge = members.filter((node) => (degree.get(node) ?? 0) <= 1)
  for (let round = 0; edge.length > 0; round++) {
    const next = new Set<number>()
    for (const node of edge) distances.set(node, round)
    for (const node of edge) {
      for (const { to } of cables[node] ?? []) {
        if (!isInside.has(to) || distances.has(to)) continue
        const left = (degree.get(to) ?? 0) - 1
        degree.set(to, left)
        if (left <= 1) next.add(to)
      }
    }
    edge = [...next]
  }
  for (const node of members) if (!distances.has(node)) distances.set(node, members.length)
  return distances
}
