import type { GraphEdge } from '@millwright/api/inventory/inventory.ts'
import { xmlText } from '../../../platform/files/xml-text.ts'
import { type ExportedGraph, type ExportedNode, graphTexts, nodeFields } from './graph.ts'
import { textParts } from './text-parts.ts'

/** Writes a graph in the DOT language of Graphviz. The label of a node is its name, the label of an edge its predicate. */
export function dot(graph: ExportedGraph): AsyncGenerator<string> {
  return textParts(documentTexts(graph))
}

async function* documentTexts(graph: ExportedGraph): AsyncGenerator<string> {
  yield 'digraph assets {\n  charset="UTF-8";\n  node [shape=box];\n'
  yield* graphTexts(graph, { node: nodeText, edge: edgeText })
  yield '}\n'
}

function nodeText(node: ExportedNode): string {
  const fields = nodeFields.flatMap((field) => {
    const value = node[field]
    // Graphviz shows the attribute `label`.
    return value === undefined ? [] : [`${field === 'name' ? 'label' : field}=${quoted(value)}`]
  })
  return `  ${quoted(node.id)} [${fields.join(', ')}];\n`
}

function edgeText({ id, subject, predicate, object }: GraphEdge): string {
  return `  ${quoted(subject.id)} -> ${quoted(object.id)} [id=${quoted(id)}, label=${quoted(predicate)}];\n`
}

/**
 * Returns a quoted string. Graphviz replaces escape sequences such as \N and entities such as &amp; in labels, so that
 * backslashes and the start of an entity are escaped. Characters that SVG cannot contain are replaced.
 */
function quoted(text: string): string {
  const escaped = xmlText(text)
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replace(/\r\n?|\n/g, '\\n')
    .replace(/&(?=#?\w+;)/g, '&amp;')
  return `"${escaped}"`
}
