/**
 * This file contains the force-directed layout of a graph. The layout runs in a worker, so that it does not block the
 * page.
 */

export type PlacedNode = { key: string; x: number; y: number; size: number }

export type LayoutRequest = {
  /** The matrices of ForceAtlas2. `nodes` has ten numbers per node, and `edges` has three numbers per relation. */
  nodes: Float32Array
  edges: Float32Array
  iterations: number
}

/** `LayoutUpdate` contains the x and y coordinates of every node, in the order of the nodes in the request. */
export type LayoutUpdate = { positions: Float32Array; isDone: boolean }

export const numbersPerNode = 10
export const numbersPerEdge = 3

type Link = { source: string; target: string }

export function layoutRequestOf(
  placed: readonly PlacedNode[],
  links: readonly Link[],
  iterations: number,
): LayoutRequest {
  const nodes = new Float32Array(placed.length * numbersPerNode)
  const edges = new Float32Array(links.length * numbersPerEdge)
  const start = new Map<string, number>()
  placed.forEach(({ key, x, y, size }, index) => {
    const at = index * numbersPerNode
    start.set(key, at)
    // The ten numbers are: x, y, four forces, mass, convergence, size, and whether the node is fixed.
    nodes.set([x, y, 0, 0, 0, 0, 1, 1, size, 0], at)
  })
  links.forEach(({ source, target }, index) => {
    const [from = 0, to = 0] = [start.get(source), start.get(target)]
    edges.set([from, to, 1], index * numbersPerEdge)
    for (const end of [from, to]) nodes[end + 6] = (nodes[end + 6] ?? 1) + 1
  })
  return { nodes, edges, iterations }
}

/**
 * Returns the number of iterations of the layout. Large graphs have fewer iterations, because each iteration takes
 * longer.
 */
export function iterationsFor(nodeCount: number): number {
  return nodeCount > 2_000 ? 150 : 500
}

/**
 * Returns the initial positions for the layout. Nodes with a previous position keep it. All other nodes start near a
 * neighbour, in rings around the node with the most relations. Good initial positions shorten the layout.
 */
export function initialPositions(
  keys: readonly string[],
  links: readonly Link[],
  previous: ReadonlyMap<string, { x: number; y: number }>,
): Map<string, { x: number; y: number }> {
  const neighbours = new Map<string, string[]>(keys.map((key) => [key, []]))
  for (const { source, target } of links) {
    neighbours.get(source)?.push(target)
    neighbours.get(target)?.push(source)
  }
  const positions = new Map(
    keys.flatMap((key) => (previous.has(key) ? [[key, previous.get(key) ?? origin] as const] : [])),
  )
  const degree = (key: string) => neighbours.get(key)?.length ?? 0
  const starts = [...positions.keys(), ...keys.toSorted((a, b) => degree(b) - degree(a))]
  const reach = Math.sqrt(keys.length) * spacing
  let turn = positions.size
  for (const start of starts) {
    if (!positions.has(start))
      positions.set(start, turn === 0 ? origin : pointAround(origin, turn, reach * Math.sqrt(turn / keys.length)))
    turn++
    // The traversal is breadth-first, because nodes are added to the set while the loop iterates over it.
    const reached = new Set([start])
    for (const key of reached) {
      const here = positions.get(key) ?? origin
      const fresh = new Set((neighbours.get(key) ?? []).filter((other) => !positions.has(other)))
      for (const other of fresh) {
        positions.set(other, pointAround(here, turn++, spacing * Math.sqrt(fresh.size)))
        reached.add(other)
      }
    }
  }
  return positions
}

const origin = { x: 0, y: 0 }
const spacing = 10
const goldenAngle = 2.399963229728653

/** Returns a point at a distance from another point. Each turn by the golden angle leads to a different direction. */
function pointAround({ x, y }: { x: number; y: number }, turn: number, distance: number): { x: number; y: number } {
  return { x: x + Math.cos(turn * goldenAngle) * distance, y: y + Math.sin(turn * goldenAngle) * distance }
}
