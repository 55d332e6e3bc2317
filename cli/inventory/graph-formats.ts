import type { Relation } from '@millwright/api/inventory.ts'
import { plain } from '../output/text.ts'

/** A graph as text: pure, so that a picture can be tested by looking at it. */

export type GraphNode = { type: string; id: string; name?: string; functional_object_type?: string; depth: number }
export type Graph = { nodes: readonly GraphNode[]; edges: readonly Relation[]; truncated: boolean }

const keyOf = ({ type, id }: { type: string; id: string }) => `${type}/${id}`

function labelOf(node: GraphNode): string {
  return plain(node.name ?? `${node.type} ${node.id.slice(0, 8)}`)
}

/**
 * What hangs on the first node, each thing once, where it is nearest to the first: wherever else it comes, … stands for
 * what hangs on it.
 */
export function tree({ nodes, edges }: Graph): string[] {
  const known = new Map(nodes.map((node) => [keyOf(node), node]))
  const root = nodes.find(({ depth }) => depth === 0)
  if (root === undefined) return []
  const shown = new Set<string>([keyOf(root)])
  const drawn = new Set<string>()
  const lines = [`${labelOf(root)}${kind(root)}`]
  const branch = (node: GraphNode, indent: string) => {
    const key = keyOf(node)
    const ways = edges
      .filter(({ id, subject, object }) => !drawn.has(id) && (keyOf(subject) === key || keyOf(object) === key))
      .flatMap((edge) => {
        const isOut = keyOf(edge.subject) === key
        const other = known.get(keyOf(isOut ? edge.object : edge.subject))
        return other === undefined ? [] : [{ edge, other, isOut }]
      })
      .toSorted(
        (a, b) => a.edge.predicate.localeCompare(b.edge.predicate) || labelOf(a.other).localeCompare(labelOf(b.other)),
      )
    for (const { edge } of ways) drawn.add(edge.id)
    for (const [index, { edge, other, isOut }] of ways.entries()) {
      const isLast = index === ways.length - 1
      const isHere = other.depth === node.depth + 1 && !shown.has(keyOf(other))
      const arrow = isOut ? `─ ${plain(edge.predicate)} → ` : `─ ${plain(edge.predicate)} ← `
      lines.push(`${indent}${isLast ? '└' : '├'}${arrow}${labelOf(other)}${isHere ? kind(other) : ' …'}`)
      if (!isHere) continue
      shown.add(keyOf(other))
      branch(other, `${indent}${isLast ? ' ' : '│'}  `)
    }
  }
  branch(root, '')
  return lines
}

function kind({ functional_object_type: type }: GraphNode): string {
  return type === undefined ? '' : `  (${plain(type)})`
}

/** For Graphviz. */
export function dot({ nodes, edges }: Graph): string[] {
  const text = (value: string) => `"${plain(value).replace(/["\\]/g, '\\$&')}"`
  return [
    'digraph plant {',
    '  rankdir=LR',
    '  node [shape=box, style=rounded]',
    ...nodes.map((node) => `  ${text(keyOf(node))} [label=${text(labelOf(node))}]`),
    ...edges.map(
      ({ subject, predicate, object }) =>
        `  ${text(keyOf(subject))} -> ${text(keyOf(object))} [label=${text(predicate)}]`,
    ),
    '}',
  ]
}

/** For Mermaid, as many pages of documentation draw it. */
export function mermaid({ nodes, edges }: Graph): string[] {
  const numbers = new Map(nodes.map((node, index) => [keyOf(node), `n${index}`]))
  const text = (value: string) => `"${plain(value).replace(/["<>&#]/g, (character) => `#${character.charCodeAt(0)};`)}"`
  const known = edges.filter(({ subject, object }) => numbers.has(keyOf(subject)) && numbers.has(keyOf(object)))
  return [
    'flowchart LR',
    ...nodes.map((node) => `  ${numbers.get(keyOf(node))}[${text(labelOf(node))}]`),
    ...known.map(
      ({ subject, predicate, object }) =>
        `  ${numbers.get(keyOf(subject))} -->|${text(predicate)}| ${numbers.get(keyOf(object))}`,
    ),
  ]
}
