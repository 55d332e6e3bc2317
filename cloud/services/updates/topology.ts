import { strongComponents } from './strong-components.ts'

/**
 * The topology of devices: which device reaches the network through which other device. It is computed from relations.
 * - `is_module_of`, `is_periphery_of` and `is_part_of` have a direction: the subject is downstream of the object.
 * - `is_connected_to` is a cable. In a network with a gateway, cables lead away from the gateway. In other networks, a cable
 *   that is recorded in one direction leads from the object to the subject. A cable that is recorded in both directions, as
 *   switches report it, has no direction.
 * - `is_redundant_with` has no direction.
 *
 * Devices between which there is no order form a cluster, and only one of them is updated at a time. A cluster is a ring of
 * cables, devices whose cables have no direction, the devices between several gateways, or a cycle of directions. Between
 * clusters, the directions have no cycles.
 */

const cablePredicate = 'is_connected_to'
const redundancyPredicate = 'is_redundant_with'

/** The predicates of relations from which the topology is computed: with a direction, and without one. */
export const directedPredicates = ['is_module_of', 'is_periphery_of', 'is_part_of'] as const
export const undirectedPredicates = [cablePredicate, redundancyPredicate] as const

export type TopologyRelation = { subject: string; predicate: string; object: string }

export type TopologyInput = {
  relations: readonly TopologyRelation[]
  /** The assets of gateways, and of the machines on which they run. */
  gateways: ReadonlySet<string>
  /** Assets whose relations are not all in `relations`, because the group of connected assets is too large. */
  unexplored?: ReadonlySet<string>
}

export type ClusterKind = 'single' | 'ring' | 'no-direction' | 'contradiction' | 'unexplored'

export type Cluster = { kind: ClusterKind; members: number[] }

/** A cable from a device to another one. `isUp`: the other device is upstream; undefined: the cable has no direction. */
export type Cable = { to: number; isUp: boolean | undefined }

export type Topology = {
  /** The assets in relations. All other fields contain the positions of assets in this list. */
  readonly ids: readonly string[]
  readonly indexOf: ReadonlyMap<string, number>
  readonly gateways: ReadonlySet<number>
  readonly unexplored: ReadonlySet<number>
  /** The cables of each device. */
  readonly cables: readonly (readonly Cable[])[]
  /** The devices of which each device is a part, module or periphery. */
  readonly wholes: readonly (readonly number[])[]
  /** The parts, modules and peripheries of each device. */
  readonly parts: readonly (readonly number[])[]
  readonly redundant: readonly (readonly number[])[]
  /** The clusters, downstream clusters first. */
  readonly clusters: readonly Cluster[]
  readonly clusterOf: readonly number[]
  /** The clusters that are downstream of each device, without its own cluster. */
  readonly below: readonly (readonly number[])[]
  /** The connected group of each device, over all relations. */
  readonly groupOf: readonly number[]
}

type Graph = Omit<Topology, 'clusters' | 'clusterOf' | 'below' | 'groupOf'>

export function createTopology(input: TopologyInput): Topology {
  const graph = graphOf(input)
  const sets = new DisjointSets(graph.ids.length)
  const kinds = new Map<number, ClusterKind>()
  const join = (one: number, other: number, kind: ClusterKind) => {
    const known = [kinds.get(sets.find(one)), kinds.get(sets.find(other)), kind]
    sets.join(one, other)
    kinds.set(sets.find(one), known.find((each) => each !== undefined) ?? kind)
  }
  const directed = directCables(graph, join)
  for (const [part, wholes] of graph.wholes.entries()) for (const whole of wholes) directed.push([part, whole])
  joinCycles({ directed, sets, join })
  return { ...graph, ...clustersOf({ graph, sets, kinds, directed }), groupOf: groupsOf(graph) }
}

function graphOf({ relations, gateways, unexplored = new Set() }: TopologyInput): Graph {
  const indexOf = new Map<string, number>()
  const ids: string[] = []
  const indexed = (id: string) => {
    const known = indexOf.get(id)
    if (known !== undefined) return known
    indexOf.set(id, ids.length)
    return ids.push(id) - 1
  }
  const lists = () => Array.from(ids, (): number[] => [])
  const edges = relations
    .filter(({ subject, object }) => subject !== object)
    .map(({ subject, predicate, object }) => ({ from: indexed(subject), predicate, to: indexed(object) }))
  const [wholes, parts, redundant] = [lists(), lists(), lists()]
  const cables = new Set<number>()
  for (const { from, predicate, to } of edges) {
    if (predicate === cablePredicate) cables.add(from * ids.length + to)
    else if (predicate === redundancyPredicate) {
      redundant[from]?.push(to)
      redundant[to]?.push(from)
    } else {
      wholes[from]?.push(to)
      parts[to]?.push(from)
    }
  }
  const unique = (all: number[][]) => all.map((list) => (list.length < 2 ? list : [...new Set(list)]))
  const positions = (set: ReadonlySet<string>) => new Set([...set].flatMap((id) => indexOf.get(id) ?? []))
  return {
    ids,
    indexOf,
    gateways: positions(gateways),
    unexplored: positions(unexplored),
    cables: cableLists(cables, ids.length),
    wholes: unique(wholes),
    parts: unique(parts),
    redundant: unique(redundant),
  }
}

/** Returns the cables of each device. The number of a cable is `from * size + to`. */
function cableLists(cables: ReadonlySet<number>, size: number): Cable[][] {
  const lists = Array.from({ length: size }, (): Cable[] => [])
  for (const cable of cables) {
    const from = Math.floor(cable / size)
    const to = cable % size
    const isBoth = cables.has(to * size + from)
    lists[from]?.push({ to, isUp: isBoth ? undefined : true })
    if (!isBoth) lists[to]?.push({ to: from, isUp: false })
  }
  return lists
}

type Join = (one: number, other: number, kind: ClusterKind) => void
/** The downstream and the upstream device. */
type Direction = [downstream: number, upstream: number]

/** Joins the devices of rings and of cables without direction. Returns the directions of all other cables. */
function directCables(graph: Graph, join: Join): Direction[] {
  const directed: Direction[] = []
  const trees = new SpanningTrees(graph)
  for (const start of [...graph.gateways, ...graph.ids.keys()]) {
    if (trees.isVisited(start)) continue
    const network = trees.search(start)
    const isExplored = graph.unexplored.size === 0 || network.every((node) => !graph.unexplored.has(node))
    const hasGateway = graph.gateways.has(start)
    for (const node of network) {
      const parent = trees.parentOf(node)
      if (parent === undefined) continue
      if (!isExplored) join(node, parent, 'unexplored')
      else if (!trees.isBridge(node)) join(node, parent, 'ring')
      else if (hasGateway && trees.gatewaysBelow(node) > 0) join(node, parent, 'no-direction')
      else if (hasGateway) directed.push([node, parent])
      else {
        const isUp = directionOf(graph, node, parent)
        if (isUp === undefined) join(node, parent, 'no-direction')
        else directed.push(isUp ? [node, parent] : [parent, node])
      }
    }
  }
  return directed
}

/** Returns whether the other end of a cable is upstream, in a network without a gateway. Undefined: it is not known. */
export function directionOf(
  { cables, wholes }: Pick<Graph, 'cables' | 'wholes'>,
  node: number,
  other: number,
): boolean | undefined {
  const [isPart, isWhole] = [wholes[node]?.includes(other) === true, wholes[other]?.includes(node) === true]
  if (isPart !== isWhole) return isPart
  return cables[node]?.find(({ to }) => to === other)?.isUp
}

/** `SpanningTrees` searches networks of cables in depth, without recursion. Each network has one tree. */
class SpanningTrees {
  readonly #graph: Graph
  /** The parent of each device in the tree, or -1. */
  readonly #parent: Int32Array
  /** The place of each device in the search, or -1. */
  readonly #place: Int32Array
  /** The first place that a device or the devices below it in the tree reach through a cable that is not in the tree. */
  readonly #low: Int32Array
  readonly #next: Int32Array
  readonly #gatewaysBelow: Int32Array
  #places = 0

  constructor(graph: Graph) {
    const size = graph.ids.length
    this.#graph = graph
    this.#parent = new Int32Array(size).fill(-1)
    this.#place = new Int32Array(size).fill(-1)
    this.#low = new Int32Array(size)
    this.#next = new Int32Array(size)
    this.#gatewaysBelow = new Int32Array(size)
  }

  isVisited(node: number): boolean {
    return this.#place[node] !== -1
  }

  parentOf(node: number): number | undefined {
    const parent = this.#parent[node] ?? -1
    return parent === -1 ? undefined : parent
  }

  /** Returns whether the cable from a device to its parent is the only connection between both sides. */
  isBridge(node: number): boolean {
    return this.#low[node] === this.#place[node]
  }

  /** Returns the number of gateways among a device and the devices below it in the tree. */
  gatewaysBelow(node: number): number {
    return this.#gatewaysBelow[node] ?? 0
  }

  /** Returns the devices of a network, each after its parent. */
  search(start: number): number[] {
    const network: number[] = []
    const path = [start]
    this.#enter(start, network)
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const cable = this.#graph.cables[node]?.[this.#next[node] ?? 0]
      if (cable === undefined) {
        path.pop()
        continue
      }
      this.#next[node] = (this.#next[node] ?? 0) + 1
      const { to } = cable
      if (!this.isVisited(to)) {
        this.#parent[to] = node
        this.#enter(to, network)
        path.push(to)
      } else if (to !== this.#parent[node]) {
        this.#low[node] = Math.min(this.#low[node] ?? 0, this.#place[to] ?? 0)
      }
    }
    this.#sumUp(network)
    return network
  }

  #enter(node: number, network: number[]): void {
    this.#place[node] = this.#low[node] = this.#places++
    network.push(node)
  }

  /** Passes the values of each device to its parent, from the last device to the first. */
  #sumUp(network: readonly number[]): void {
    for (let index = network.length - 1; index >= 0; index--) {
      const node = network[index] ?? 0
      const below = this.gatewaysBelow(node) + (this.#graph.gateways.has(node) ? 1 : 0)
      this.#gatewaysBelow[node] = below
      const above = this.#parent[node] ?? -1
      if (above === -1) continue
      this.#low[above] = Math.min(this.#low[above] ?? 0, this.#low[node] ?? 0)
      this.#gatewaysBelow[above] = this.gatewaysBelow(above) + below
    }
  }
}

type Cycles = { directed: readonly Direction[]; sets: DisjointSets; join: Join }

/** Joins the devices whose directions form a cycle. */
function joinCycles({ directed, sets, join }: Cycles): void {
  const below = Array.from({ length: sets.size }, (): number[] => [])
  for (const [downstream, upstream] of directed) below[sets.find(upstream)]?.push(sets.find(downstream))
  for (const component of strongComponents(below)) {
    const [first = 0, ...others] = component
    for (const other of others) join(first, other, 'contradiction')
  }
}

type Joined = { graph: Graph; sets: DisjointSets; kinds: ReadonlyMap<number, ClusterKind>; directed: Direction[] }

function clustersOf({ graph, sets, kinds, directed }: Joined): Pick<Topology, 'clusters' | 'clusterOf' | 'below'> {
  const members = Map.groupBy(graph.ids.keys(), (node) => sets.find(node))
  const belowSet = Array.from(graph.ids, (): number[] => [])
  for (const [downstream, upstream] of directed) {
    const [lower, upper] = [sets.find(downstream), sets.find(upstream)]
    if (lower !== upper) belowSet[upper]?.push(lower)
  }
  const clusters: Cluster[] = []
  const numberOf = new Map<number, number>()
  for (const [set = 0] of strongComponents(belowSet)) {
    const own = members.get(set)
    if (own === undefined) continue
    numberOf.set(set, clusters.length)
    clusters.push({ kind: own.length === 1 ? 'single' : (kinds.get(set) ?? 'no-direction'), members: own })
  }
  const clusterOf = Array.from(graph.ids.keys(), (node) => numberOf.get(sets.find(node)) ?? 0)
  const below = Array.from(graph.ids, (): number[] => [])
  for (const [downstream, upstream] of directed) {
    const lower = clusterOf[downstream] ?? 0
    if (lower !== clusterOf[upstream]) below[upstream]?.push(lower)
  }
  return { clusters, clusterOf, below: below.map((list) => (list.length < 2 ? list : [...new Set(list)])) }
}

function groupsOf({ ids, cables, wholes, redundant }: Graph): number[] {
  const sets = new DisjointSets(ids.length)
  for (const [node, list] of cables.entries()) for (const { to } of list) sets.join(node, to)
  for (const [node, list] of wholes.entries()) for (const to of list) sets.join(node, to)
  for (const [node, list] of redundant.entries()) for (const to of list) sets.join(node, to)
  return Array.from(ids.keys(), (node) => sets.find(node))
}

/** `DisjointSets` joins elements to sets, each with one element that represents it. */
class DisjointSets {
  readonly #parent: number[]

  constructor(size: number) {
    this.#parent = Array.from({ length: size }, (_, index) => index)
  }

  get size(): number {
    return this.#parent.length
  }

  find(element: number): number {
    let current = element
    for (let parent = this.#parent[current] ?? current; parent !== current; parent = this.#parent[current] ?? current) {
      this.#parent[current] = this.#parent[parent] ?? parent
      current = parent
    }
    return current
  }

  join(one: number, other: number): void {
    const [low, high] = [this.find(one), this.find(other)]
    this.#parent[Math.max(low, high)] = Math.min(low, high)
  }
}
