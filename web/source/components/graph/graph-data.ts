import type { Entity, GraphEdge, GraphNode } from '@millwright/api/inventory/inventory.ts'

/** `GraphData` is a graph: its nodes by key, and its relations by id. */
export type GraphData = {
  readonly nodes: ReadonlyMap<string, GraphNode>
  readonly edges: ReadonlyMap<string, GraphEdge>
}

export const emptyGraph: GraphData = { nodes: new Map(), edges: new Map() }

export function keyOf({ type, id }: Entity): string {
  return `${type}/${id}`
}

export function assetKey(id: string): string {
  return keyOf({ type: 'asset', id })
}

type GraphPart = { nodes: readonly GraphNode[]; edges: readonly GraphEdge[] }

export function graphOf({ nodes, edges }: GraphPart): GraphData {
  return {
    nodes: new Map(nodes.map((node) => [keyOf(node), node])),
    edges: new Map(edges.map((edge) => [edge.id, edge])),
  }
}

/** Returns the graph without these nodes and their relations. */
export function withoutNodes({ nodes, edges }: GraphData, keys: ReadonlySet<string>): GraphData {
  return {
    nodes: new Map([...nodes].filter(([key]) => !keys.has(key))),
    edges: new Map(
      [...edges].filter(([, { subject, object }]) => !keys.has(keyOf(subject)) && !keys.has(keyOf(object))),
    ),
  }
}

export type Neighbour = { edge: GraphEdge; direction: 'out' | 'in'; key: string }

/** Returns the neighbours of a node, ordered by predicate, direction and name. */
export function neighboursOf(data: GraphData, key: string): Neighbour[] {
  const neighbours: Neighbour[] = []
  for (const edge of data.edges.values()) {
    const [subject, object] = [keyOf(edge.subject), keyOf(edge.object)]
    if (subject === key) neighbours.push({ edge, direction: 'out', key: object })
    else if (object === key) neighbours.push({ edge, direction: 'in', key: subject })
  }
  const order = ({ edge, direction, key: other }: Neighbour) =>
    `${edge.predicate} ${direction} ${labelOf(data.nodes.get(other))}`
  return neighbours.toSorted((a, b) => order(a).localeCompare(order(b)))
}

/**
 * The number of characters of the id that the label of a hierarchy node shows, because hierarchy nodes have no name in
 * the graph.
 */
const idCharacters = 8

export function labelOf(node: Pick<GraphNode, 'type' | 'id' | 'name'> | undefined): string {
  if (node === undefined) return '?'
  return node.name || `${node.type} ${node.id.slice(0, idCharacters)}`
}
