import type { Relation } from '@millwright/api/inventory/inventory.ts'
import { sanitize } from '../output/text.ts'
import { labelOf } from './asset-labels.ts'

/**
 * This file formats a graph as a tree, in the DOT language of Graphviz, or as a Mermaid flowchart. All functions are
 * pure.
 */

export type GraphNode = { type: string; id: string; name?: string; functional_object_type?: string; depth: number }
export type Graph = { nodes: readonly GraphNode[]; edges: readonly Relation[]; truncated: boolean }

const keyOf = ({ type, id }: { type: string; id: string }) => `${type}/${id}`

function nodeName(node: GraphNode): string {
  return sanitize(node.name ?? `${node.type} ${node.id.slice(0, 8)}`)
}

/**
 * Returns the graph as a tree that starts at its first node. Each node is expanded once, at its smallest depth.
 * Wherever the node occurs again, `…` replaces its relations.
 */
export function tree({ nodes, edges }: Graph): string[] {
  const nodesByKey = new Map(nodes.map((node) => [keyOf(node), node]))
  const root = nodes.find(({ depth }) => depth === 0)
  if (root === undefined) return []
  const shown = new Set<string>([keyOf(root)])
  const drawn = new Set<string>()
  const lines = [`${nodeName(root)}${kind(root)}`]
  const branch = (node: GraphNode, indent: string) => {
    const key = keyOf(node)
    const branches = edges
      .filter(({ id, subject, object }) => !drawn.has(id) && (keyOf(subject) === key || keyOf(object) === key))
      .flatMap((edge) => {
        const isOut = keyOf(edge.subject) === key
        const other = nodesByKey.get(keyOf(isOut ? edge.object : edge.subject))
        return other === undefined ? [] : [{ edge, other, isOut }]
      })
      .toSorted(
        (a, b) =>
          a.edge.predicate.localeCompare(b.edge.predicate) || nodeName(a.other).localeCompare(nodeName(b.other)),
      )
    for (const { edge } of branches) drawn.add(edge.id)
    for (const [index, { edge, other, isOut }] of branches.entries()) {
      const isLast = index === branches.length - 1
      const isHere = other.depth === node.depth + 1 && !shown.has(keyOf(other))
      const arrow = isOut ? `─ ${sanitize(edge.predicate)} → ` : `─ ${sanitize(edge.predicate)} ← `
      lines.push(`${indent}${isLast ? '└' : '├'}${arrow}${nodeName(other)}${isHere ? kind(other) : ' …'}`)
      if (!isHere) continue
      shown.add(keyOf(other))
      branch(other, `${indent}${isLast ? ' ' : '│'}  `)
    }
  }
  branch(root, '')
  return lines
}

function kind({ functional_object_type: type }: GraphNode): string {
  return type === undefined ? '' : `  (${sanitize(String(labelOf('functional_object_type', type)))})`
}

/** Returns the graph in the DOT language of Graphviz. */
export function dot({ nodes, edges }: Graph): string[] {
  const text = (value: string) => `"${sanitize(value).replace(/["\\]/g, '\\$&')}"`
  return [
    'digraph plant {',
    '  rankdir=LR',
    '  node [shape=box, style=rounded]',
    ...nodes.map((node) => `  ${text(keyOf(node))} [label=${text(nodeName(node))}]`),
    ...edges.map(
      ({ subject, predicate, object }) =>
        `  ${text(keyOf(subject))} -> ${text(keyOf(object))} [label=${text(predicate)}]`,
    ),
    '}',
  ]
}

/** Returns the graph as a Mermaid flowchart. */
export function mermaid({ nodes, edges }: Graph): string[] {
  const numbers = new Map(nodes.map((node, index) => [keyOf(node), `n${index}`]))
  const text = (value: string) =>
    `"${sanitize(value).replace(/["<>&#]/g, (character) => `#${character.charCodeAt(0)};`)}"`
  const drawnEdges = edges.filter(({ subject, object }) => numbers.has(keyOf(subject)) && numbers.has(keyOf(object)))
  return [
    'flowchart LR',
    ...nodes.map((node) => `  ${numbers.get(keyOf(node))}[${text(nodeName(node))}]`),
    ...drawnEdges.map(
      ({ subject, predicate, object }) =>
        `  ${numbers.get(keyOf(subject))} -->|${text(predicate)}| ${numbers.get(keyOf(object))}`,
    ),
  ]
}
