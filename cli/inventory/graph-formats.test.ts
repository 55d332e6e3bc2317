import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dot, type Graph, mermaid, tree } from './graph-formats.ts'

const id = (number: number) => `00000000-0000-7000-8000-00000000000${number}`
const entity = (number: number) => ({ type: 'asset' as const, id: id(number) })
const node = (number: number, name: string, depth: number) => ({
  ...entity(number),
  name,
  depth,
  functional_object_type: 'Device',
})

function edge(number: number, from: number, to: number): Graph['edges'][number] {
  return {
    id: id(number),
    subject: entity(from),
    predicate: 'is_module_of',
    object: entity(to),
    source: { type: 'manual' },
    createdTimestamp: '',
    lastModifiedTimestamp: '',
  }
}

/** A rack with two modules. One module has a part, and the part is also related to the other module. */
const graph: Graph = {
  nodes: [node(1, 'Rack "1"', 0), node(2, 'Module A', 1), node(3, 'Module B\u001b[31m', 1), node(4, 'Part', 2)],
  edges: [edge(5, 2, 1), edge(6, 3, 1), edge(7, 4, 2), edge(8, 3, 4)],
  truncated: false,
}

test('the tree format expands each node once, at its smallest depth', () => {
  assert.deepEqual(tree(graph), [
    'Rack "1"  (Device)',
    '├─ is_module_of ← Module A  (Device)',
    '│  └─ is_module_of ← Part  (Device)',
    '│     └─ is_module_of ← Module B\ufffd[31m …',
    '└─ is_module_of ← Module B\ufffd[31m  (Device)',
  ])
})

test('the dot format escapes names for Graphviz', () => {
  const lines = dot(graph)
  assert.ok(lines.includes(`  "asset/${id(1)}" [label="Rack \\"1\\""]`))
  assert.ok(lines.includes(`  "asset/${id(2)}" -> "asset/${id(1)}" [label="is_module_of"]`))
  assert.equal(lines.at(-1), '}')
})

test('the Mermaid format escapes names and numbers the nodes', () => {
  assert.deepEqual(mermaid(graph).slice(0, 3), ['flowchart LR', '  n0["Rack #34;1#34;"]', '  n1["Module A"]'])
  assert.ok(mermaid(graph).includes('  n1 -->|"is_module_of"| n0'))
})
