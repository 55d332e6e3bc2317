import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GraphNode } from '@millwright/api/inventory.ts'
import { entryOf, legendOf, otherValue, unsetValue } from './graph-colours.ts'
import { assetKey, compareGraphs, graphOf, labelOf, mergeGraphs, neighboursOf, nodesNamed } from './graph-data.ts'
import { initialPositions, layoutRequestOf, numbersPerNode } from './layout.ts'

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({ type: 'asset', id, depth: 0, ...more })
const edge = (id: string, from: string, to: string) => ({
  id,
  subject: { type: 'asset' as const, id: from },
  predicate: 'is_part_of',
  object: { type: 'asset' as const, id: to },
})

describe('a graph as it is drawn', () => {
  const small = graphOf({ nodes: [node('a', { name: 'Rack' }), node('b')], edges: [edge('1', 'b', 'a')] })

  test('tells what a thing is related to, from both ends', () => {
    const comparedFields = (key: string) =>
      neighboursOf(small, key).map(({ direction, key: other }) => `${direction} ${other}`)
    assert.deepEqual([comparedFields(assetKey('a')), comparedFields(assetKey('b'))], [['in asset/b'], ['out asset/a']])
  })

  test('names what has no name by its kind and the beginning of its id', () => {
    assert.equal(labelOf(node('0123456789', { name: '' })), 'asset 01234567')
    assert.deepEqual(
      nodesNamed(small, 'RA').map(({ id }) => id),
      ['a'],
    )
  })

  test('grows without losing what was there', () => {
    const more = mergeGraphs(small, graphOf({ nodes: [node('a', { name: 'Old' }), node('c')], edges: [] }))
    assert.deepEqual([more.nodes.size, more.edges.size, labelOf(more.nodes.get('asset/a'))], [3, 1, 'Rack'])
  })

  test('of two times, tells what came, went and changed, and shows all of it', () => {
    const later = graphOf({ nodes: [node('a', { name: 'Rack 2' }), node('c')], edges: [edge('2', 'c', 'a')] })
    const { data, changes } = compareGraphs(small, later)
    assert.deepEqual([...changes].toSorted(), [
      ['1', 'removed'],
      ['2', 'added'],
      ['asset/a', 'changed'],
      ['asset/b', 'removed'],
      ['asset/c', 'added'],
    ])
    assert.deepEqual([data.nodes.size, data.edges.size], [3, 2])
  })
})

describe('its legend', () => {
  test('counts values, the most frequent first, and puts the rare ones together', () => {
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

describe('the first places of things', () => {
  const keys = Array.from({ length: 300 }, (_, at) => `${at}`)
  const links = keys.slice(1).map((target) => ({ source: `${Math.floor(Number(target) / 3)}`, target }))

  test('are all different, and those that were known stay', () => {
    const places = initialPositions(keys, links, new Map([['7', { x: 5, y: -5 }]]))
    assert.equal(places.size, keys.length)
    assert.equal(new Set([...places.values()].map(({ x, y }) => `${x}/${y}`)).size, keys.length)
    assert.deepEqual(places.get('7'), { x: 5, y: -5 })
  })

  test('go to the worker as numbers, with what hangs on a thing as its weight', () => {
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
