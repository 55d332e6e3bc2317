import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { entryOf, legendOf, otherValue, unsetValue } from './graph-colours.ts'
import { assetKey, graphOf, labelOf, mergeGraphs, neighboursOf, nodesNamed } from './graph-data.ts'
import { initialPositions, layoutRequestOf, numbersPerNode } from './layout.ts'

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({ type: 'asset', id, depth: 0, ...more })
const edge = (id: string, from: string, to: string) => ({
  id,
  subject: { type: 'asset' as const, id: from },
  predicate: 'is_part_of',
  object: { type: 'asset' as const, id: to },
})

describe('graph data', () => {
  const small = graphOf({ nodes: [node('a', { name: 'Rack' }), node('b')], edges: [edge('1', 'b', 'a')] })

  test('returns the neighbours of a node in both directions', () => {
    const comparedFields = (key: string) =>
      neighboursOf(small, key).map(({ direction, key: other }) => `${direction} ${other}`)
    assert.deepEqual([comparedFields(assetKey('a')), comparedFields(assetKey('b'))], [['in asset/b'], ['out asset/a']])
  })

  test('labels a node without a name with its kind and the start of its id', () => {
    assert.equal(labelOf(node('0123456789', { name: '' })), 'asset 01234567')
    assert.deepEqual(
      nodesNamed(small, 'RA').map(({ id }) => id),
      ['a'],
    )
  })

  test('merges graphs and keeps the nodes of the first one', () => {
    const more = mergeGraphs(small, graphOf({ nodes: [node('a', { name: 'Old' }), node('c')], edges: [] }))
    assert.deepEqual([more.nodes.size, more.edges.size, labelOf(more.nodes.get('asset/a'))], [3, 1, 'Rack'])
  })
})

describe('graph legend', () => {
  test('the legend counts values, sorts them by frequency, and groups rare values as other', () => {
    const makers = Array.from({ length: 12 }, (_, at) => node(`m${at}`, { manufacturer: `maker ${at}` }))
    const data = graphOf({ nodes: [...makers, node('x', { manufacturer: 'maker 3' }), node('y')], edges: [] })
    const legend = legendOf(data, { by: 'manufacturer' })
    assert.deepEqual([legend[0]?.value, legend[0]?.count], ['maker 3', 2])
    assert.deepEqual(
      legend.slice(-2).map(({ value, count }) => [value, count]),
      [
        [otherValue, 4],
        [unsetValue, 1],
      ],
    )
    assert.equal(new Set(legend.slice(0, 8).map(({ colour }) => colour)).size, 8)
    const rare = legend.some(({ value }) => value === 'maker 9') ? 'maker 9' : otherValue
    assert.equal(entryOf(node('m9', { manufacturer: 'maker 9' }), { by: 'manufacturer' }, legend), rare)
  })
})

describe('initial layout', () => {
  const keys = Array.from({ length: 300 }, (_, at) => `${at}`)
  const links = keys.slice(1).map((target) => ({ source: `${Math.floor(Number(target) / 3)}`, target }))

  test('assigns a different position to every node, and keeps known positions', () => {
    const places = initialPositions(keys, links, new Map([['7', { x: 5, y: -5 }]]))
    assert.equal(places.size, keys.length)
    assert.equal(new Set([...places.values()].map(({ x, y }) => `${x}/${y}`)).size, keys.length)
    assert.deepEqual(places.get('7'), { x: 5, y: -5 })
  })

  test('encodes nodes and relations for the layout as numbers, with the number of relations as mass', () => {
    const order = layoutRequestOf(
      [
        { key: 'a', x: 1, y: 2, size: 3 },
        { key: 'b', x: 4, y: 5, size: 6 },
      ],
      [{ source: 'b', target: 'a' }],
      1,
    )
    assert.deepEqual([...order.nodes.slice(numbersPerNode, numbersPerNode + 2)], [4, 5])
    assert.deepEqual([...order.edges], [numbersPerNode, 0, 1])
    assert.deepEqual([order.nodes[6], order.nodes[numbersPerNode + 6]], [2, 2])
  })
})
