import { directionOf, type Topology } from './topology.ts'

/** The devices that can lose their connection while a device restarts. */

export type TopologyImpact = {
  interrupted: string[]
  redundant: string[]
  /** False in rings and if the direction of cables is not known. */
  isCertain: boolean
  /** False if the group of connected assets was not read completely. */
  isComplete: boolean
}

/**
 * Returns what a restart of a device interrupts: its parts, all devices that reach a gateway only through it, and the parts of
 * these devices. In a network without a gateway, the largest part of the network counts as the part that stays connected.
 */
export function impactOf(topology: Topology, id: string): TopologyImpact {
  const node = topology.indexOf.get(id)
  if (node === undefined) return { interrupted: [], redundant: [], isCertain: true, isComplete: true }
  const down = new Set([node])
  let isCertain = true
  let restarted = withParts(topology, [node], down)
  while (restarted.length > 0) {
    const unreachable: number[] = []
    for (const network of networksOf(topology, restarted)) {
      const cut = cutOff(topology, network, down)
      isCertain &&= cut.isCertain
      unreachable.push(...cut.nodes)
    }
    for (const each of unreachable) down.add(each)
    restarted = withParts(topology, unreachable, down).slice(unreachable.length)
  }
  down.delete(node)
  const names = (nodes: Iterable<number>) => [...nodes].map((each) => topology.ids[each] ?? '')
  const kind = topology.clusters[topology.clusterOf[node] ?? 0]?.kind ?? 'single'
  return {
    interrupted: names(down),
    redundant: names(topology.redundant[node] ?? []),
    isCertain: isCertain && kind === 'single',
    isComplete: topology.unexplored.size === 0,
  }
}

/** Adds the parts of devices, the parts of these parts, and so on. Returns the devices together with the added ones. */
function withParts({ parts }: Topology, nodes: readonly number[], down: Set<number>): number[] {
  const all = [...nodes]
  for (const node of all) {
    for (const part of parts[node] ?? []) {
      if (down.has(part)) continue
      down.add(part)
      all.push(part)
    }
  }
  return all
}

/** Returns the networks of cables that contain these devices. */
function networksOf({ cables }: Topology, nodes: readonly number[]): number[][] {
  const visited = new Set<number>()
  return nodes.flatMap((start) => {
    if (visited.has(start)) return []
    visited.add(start)
    const network = [start]
    for (const node of network) {
      for (const { to } of cables[node] ?? []) {
        if (visited.has(to)) continue
        visited.add(to)
        network.push(to)
      }
    }
    return [network]
  })
}

type Cut = { nodes: number[]; isCertain: boolean }

/** Returns the devices of a network that lose their connection because the devices in `down` are interrupted. */
function cutOff(topology: Topology, network: readonly number[], down: ReadonlySet<number>): Cut {
  const left = network.filter((node) => !down.has(node))
  const pieces = piecesOf(topology, left, down)
  if (network.some((node) => topology.gateways.has(node))) {
    const cut = pieces.filter((piece) => !piece.some((node) => topology.gateways.has(node)))
    return { nodes: cut.flat(), isCertain: true }
  }
  const sides = pieces.map((piece) => ({ piece, side: sideOf(topology, piece, down) }))
  const unclear = sides.filter(({ side }) => side === 'unclear').map(({ piece }) => piece)
  const hasUpstream = sides.some(({ side }) => side === 'upstream')
  const largest = unclear.reduce<number[]>((most, piece) => (piece.length > most.length ? piece : most), [])
  const cutUnclear = hasUpstream ? unclear : unclear.filter((piece) => piece !== largest)
  const downstream = sides.filter(({ side }) => side === 'downstream').map(({ piece }) => piece)
  return { nodes: [...downstream, ...cutUnclear].flat(), isCertain: unclear.length === 0 }
}

/** Returns the connected pieces of a network without the interrupted devices. */
function piecesOf({ cables }: Topology, left: readonly number[], down: ReadonlySet<number>): number[][] {
  const visited = new Set<number>(down)
  return left.flatMap((start) => {
    if (visited.has(start)) return []
    visited.add(start)
    const piece = [start]
    for (const node of piece) {
      for (const { to } of cables[node] ?? []) {
        if (visited.has(to)) continue
        visited.add(to)
        piece.push(to)
      }
    }
    return [piece]
  })
}

/** Returns whether a piece of a network is upstream or downstream of the interrupted devices. */
function sideOf(topology: Topology, piece: readonly number[], down: ReadonlySet<number>) {
  const directions = new Set(
    piece.flatMap((node) =>
      (topology.cables[node] ?? []).filter(({ to }) => down.has(to)).map(({ to }) => directionOf(topology, node, to)),
    ),
  )
  if (directions.has(false)) return 'upstream'
  return directions.has(undefined) ? 'unclear' : 'downstream'
}
