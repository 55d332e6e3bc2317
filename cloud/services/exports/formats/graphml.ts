import type { GraphEdge } from '@millwright/api/inventory/inventory.ts'
import { escapedXml } from '../../../platform/files/xml-text.ts'
import { type ExportedGraph, type ExportedNode, graphTexts, nodeFields } from './graph.ts'
import { textParts } from './text-parts.ts'

/** Writes a graph as GraphML 1.0, with one typed key for each field of nodes and edges. Memory does not grow with its size, except for ids. */
export function graphml(graph: ExportedGraph): AsyncGenerator<string> {
  return textParts(documentTexts(graph))
}

async function* documentTexts(graph: ExportedGraph): AsyncGenerator<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n'
  yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
  yield 'xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
  for (const field of nodeFields) yield key('node', field)
  yield key('edge', 'predicate')
  yield '<graph id="assets" edgedefault="directed">\n'
  yield* graphTexts(graph, { node: nodeText, edge: edgeText })
  yield '</graph>\n</graphml>\n'
}

function key(of: 'node' | 'edge', name: string): string {
  return `<key id="${name}" for="${of}" attr.name="${name}" attr.type="string"/>\n`
}

function nodeText(node: ExportedNode): string {
  const data = nodeFields.map((field) => dataText(field, node[field]))
  return `<node id="${escapedXml(node.id)}">${data.join('')}</node>\n`
}

function edgeText({ id, subject, predicate, object }: GraphEdge): string {
  const ends = `source="${escapedXml(subject.id)}" target="${escapedXml(object.id)}"`
  return `<edge id="${escapedXml(id)}" ${ends}>${dataText('predicate', predicate)}</edge>\n`
}

function dataText(name: string, value: string | undefined): string {
  return value === undefined ? '' : `<data key="${name}">${escapedXml(value)}</data>`
}
