import type { AssetDocument, GraphEdge, GraphNode } from '@millwright/api/inventory/inventory.ts'
import { productOf, textIn } from '../../../platform/files/asset-fields.ts'

/** A node of an exported graph: an asset, or a node of a hierarchy. */
export type ExportedNode = Omit<GraphNode, 'depth'>

/** A graph to export. All nodes are read before the edges. */
export type ExportedGraph = {
  nodes: AsyncIterable<ExportedNode> | Iterable<ExportedNode>
  edges: AsyncIterable<GraphEdge> | Iterable<GraphEdge>
}

/** The fields of a node that the formats write, in their order. */
export const nodeFields = [
  'name',
  'type',
  'functional_object_type',
  'manufacturer',
  'management_state',
  'reachability_state',
] as const satisfies readonly (keyof ExportedNode)[]

/** Returns the node of an asset document, as the operations on graphs return it. */
export function nodeOfAsset(document: AssetDocument): ExportedNode {
  const state = (field: string) => textIn(document[field], 'state_value')
  const fields = {
    name: textIn(document, 'name'),
    functional_object_type: textIn(document, 'functional_object_type'),
    manufacturer: productOf(document).manufacturer,
    management_state: state('management_state'),
    reachability_state: state('reachability_state'),
  }
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return { type: 'asset', id: String(document.id), ...Object.fromEntries(present) }
}

/**
 * Writes the nodes, then the edges between them. An edge is left out if one of its ends is not a node of the graph,
 * because readers reject such an edge or add a node without data.
 */
export async function* graphTexts(
  { nodes, edges }: ExportedGraph,
  print: { node: (node: ExportedNode) => string; edge: (edge: GraphEdge) => string },
): AsyncGenerator<string> {
  const ids = new Set<string>()
  for await (const node of nodes) {
    if (ids.has(node.id)) continue
    ids.add(node.id)
    yield print.node(node)
  }
  for await (const edge of edges) {
    if (ids.has(edge.subject.id) && ids.has(edge.object.id)) yield print.edge(edge)
  }
}
