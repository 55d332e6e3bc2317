import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GraphEdge } from '@millwright/api/inventory/inventory.ts'
import { instance } from '@viz-js/viz'
import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { xmlText } from '../../../platform/files/xml-text.ts'
import { dot } from './dot.ts'
import { type ExportedNode, nodeFields, nodeOfAsset } from './graph.ts'
import { graphml } from './graphml.ts'
import { hostileText, textOf } from './testing.ts'

const field = fc.option(hostileText, { nil: undefined })

const node = fc
  .record({
    id: fc.uuid(),
    type: fc.constantFrom('asset', 'node'),
    name: field,
    functional_object_type: field,
    manufacturer: field,
    management_state: fc.constantFrom('regarded', undefined),
  })
  .map((fields) => JSON.parse(JSON.stringify(fields)) as ExportedNode)

const graph = fc.uniqueArray(node, { minLength: 5, maxLength: 30, selector: ({ id }) => id }).chain((nodes) => {
  const end = fc.constantFrom(...nodes).map(({ id, type }) => ({ id, type }))
  const edge = fc.record({ id: fc.uuid(), subject: end, predicate: hostileText, object: end })
  return fc.record({ nodes: fc.constant(nodes), edges: fc.array(edge, { maxLength: 30 }) })
})

describe('GraphML', () => {
  test('contains every field of hostile nodes and edges, for a strict XML parser', async () => {
    await fc.assert(
      fc.asyncProperty(graph, async ({ nodes, edges }) => {
        const read = readGraphml(await textOf(graphml({ nodes, edges })))
        assert.deepEqual(
          read.nodes,
          nodes.map((one) => {
            const fields = nodeFields.flatMap((name) => (one[name] === undefined ? [] : [[name, xmlText(one[name])]]))
            return { id: one.id, ...Object.fromEntries(fields) }
          }),
        )
        assert.deepEqual(
          read.edges,
          edges.map(({ id, subject, predicate, object }) => ({
            id,
            source: subject.id,
            target: object.id,
            predicate: xmlText(predicate),
          })),
        )
        assert.deepEqual(read.keys, [...nodeFields.map((name) => `node ${name} string`), 'edge predicate string'])
      }),
      { numRuns: 50 },
    )
  })
})

describe('DOT', () => {
  test('contains every node and edge with its label, for Graphviz', async () => {
    await fc.assert(
      fc.asyncProperty(graph, async ({ nodes, edges }) => {
        // A new instance for each graph: the WebAssembly build damages its memory after many renderings.
        const graphviz = await instance()
        const rendered = graphviz.renderJSON(await textOf(dot({ nodes, edges }))) as RenderedGraph
        const { objects = [], edges: lines = [] } = rendered
        const ids = objects.map(({ name }) => name)
        assert.deepEqual(
          ids,
          nodes.map(({ id }) => id),
        )
        assert.deepEqual(
          objects.map(({ label, manufacturer = '' }) => [label, manufacturer]),
          nodes.map(({ name, manufacturer }) => [
            name === undefined ? '\\N' : labelOf(name),
            manufacturer === undefined ? '' : labelOf(manufacturer),
          ]),
        )
        const printed = lines.map(({ id, tail, head, label }) => [id, ids[tail], ids[head], label])
        const expected = edges.map((edge) => [edge.id, edge.subject.id, edge.object.id, labelOf(edge.predicate)])
        assert.deepEqual(printed.toSorted(), expected.toSorted())
      }),
      { numRuns: 5 },
    )
  })

  test('shows a hostile name unchanged in the rendered picture', async () => {
    const name = 'say "\\N" & <b>&amp;</b>\nlast\\'
    const id = '0199d1c0-0000-7000-8000-000000000001'
    const graphviz = await instance()
    const picture = graphviz.renderString(await textOf(dot({ nodes: [{ type: 'asset', id, name }], edges: [] })), {
      format: 'svg',
    })
    const texts: string[] = []
    let isText = false
    const parser = new SaxesParser()
    parser.on('opentag', (tag) => {
      isText = tag.name === 'text'
    })
    parser.on('text', (text) => {
      if (isText && text.trim() !== '') texts.push(text.replaceAll('\u00a0', ' '))
    })
    parser.write(picture).close()
    assert.deepEqual(texts, name.split('\n'))
  })
})

test('an edge to a missing node, and a repeated node, are left out of both formats', async () => {
  const a: ExportedNode = { type: 'asset', id: '0199d1c0-0000-7000-8000-00000000000a', name: 'A' }
  const b: ExportedNode = { type: 'asset', id: '0199d1c0-0000-7000-8000-00000000000b', name: 'B' }
  const edge: GraphEdge = {
    id: '0199d1c0-0000-7000-8000-0000000000ab',
    subject: { type: 'asset', id: a.id },
    predicate: 'is_part_of',
    object: { type: 'asset', id: b.id },
  }
  for (const format of [graphml, dot]) {
    const text = await textOf(format({ nodes: [a, a], edges: [edge] }))
    assert.equal(text.split(a.id).length, 2)
    assert.ok(!text.includes(b.id))
  }
})

test('returns the node of an asset document, without empty fields', () => {
  const document = {
    id: '0199d1c0-0000-7000-8000-00000000000a',
    name: 'Pump',
    functional_object_type: 'Device',
    product_instance_information: { manufacturer_product: { manufacturer: { name: 'Acme' } } },
    management_state: { state_value: 'regarded' },
  }
  assert.deepEqual(nodeOfAsset(document), {
    type: 'asset',
    id: document.id,
    name: 'Pump',
    functional_object_type: 'Device',
    manufacturer: 'Acme',
    management_state: 'regarded',
  })
})

type RenderedGraph = {
  objects?: { name: string; label: string; manufacturer?: string }[]
  edges?: { id: string; tail: number; head: number; label: string }[]
}

/** The attribute that Graphviz reads for a text: with its escape sequences, before it draws the label. */
function labelOf(text: string): string {
  return xmlText(text)
    .replaceAll('\\', '\\\\')
    .replace(/\r\n?|\n/g, '\\n')
    .replace(/&(?=#?\w+;)/g, '&amp;')
}

function readGraphml(text: string) {
  type Read = { [name: string]: string }
  const nodes: Read[] = []
  const edges: Read[] = []
  const keys: string[] = []
  let current: Read = {}
  let data: string | undefined
  const parser = new SaxesParser({ xmlns: true })
  parser.on('opentag', ({ local, uri, attributes }) => {
    assert.equal(uri, 'http://graphml.graphdrawing.org/xmlns')
    const values = Object.fromEntries(Object.entries(attributes).map(([name, { value }]) => [name, value]))
    if (local === 'key') keys.push(`${values.for} ${values['attr.name']} ${values['attr.type']}`)
    if (local === 'node') nodes.push(values)
    if (local === 'edge') edges.push(values)
    if (local === 'node' || local === 'edge') current = values
    data = local === 'data' ? values.key : undefined
  })
  parser.on('text', (value) => {
    if (data !== undefined) current[data] = value
  })
  parser.on('closetag', () => {
    data = undefined
  })
  parser.write(text).close()
  return { nodes, edges, keys }
}
