import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { assetKey, graphOf, labelOf, neighboursOf } from './graph-data.ts'

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
  })
})
