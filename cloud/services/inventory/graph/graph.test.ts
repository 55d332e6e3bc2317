import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RelationRow } from '../relations/relation.ts'
import { boundsFor, extend, isDone, pathBetween, startTraversal } from './graph.ts'

function row(subjectId: string, objectId: string, id = `${subjectId}${objectId}`): RelationRow {
  return {
    id,
    subjectType: 'asset',
    subjectId,
    predicate: 'x',
    objectType: 'asset',
    objectId,
    sourceType: 'manual',
    sourceValue: null,
    createdAt: '',
    modifiedAt: '',
  }
}

const start = () => startTraversal({ type: 'asset', id: 'a' })
const nodesOf = ({ nodes }: ReturnType<typeof start>) => [...nodes.values()].map(({ id, depth }) => `${id}${depth}`)

describe('traversal of a graph', () => {
  test('reaches each node once, at its smallest depth, and terminates in a cycle', () => {
    const traversal = start()
    extend(traversal, { rows: [row('a', 'b'), row('c', 'a'), row('a', 'a')], cut: false }, boundsFor(10))
    extend(traversal, { rows: [row('b', 'c'), row('c', 'a'), row('b', 'd')], cut: false }, boundsFor(10))
    extend(traversal, { rows: [row('d', 'a')], cut: false }, boundsFor(10))
    assert.deepEqual(nodesOf(traversal), ['a0', 'b1', 'c1', 'd2'])
    assert.deepEqual([...traversal.edges.keys()], ['aa', 'ab', 'ca', 'bc', 'bd', 'da'])
    assert.ok(isDone(traversal, 10) && !traversal.truncated)
  })

  test('distinguishes a node from an asset with the same id', () => {
    const traversal = start()
    extend(traversal, { rows: [{ ...row('a', 'a'), objectType: 'node' }], cut: false }, boundsFor(10))
    assert.equal(traversal.nodes.size, 2)
  })

  test('sets truncated at the node limit, and leaves out relations to omitted nodes', () => {
    const traversal = start()
    extend(traversal, { rows: [row('a', 'b'), row('a', 'c'), row('b', 'a')], cut: false }, { nodes: 2, edges: 8 })
    assert.deepEqual(nodesOf(traversal), ['a0', 'b1'])
    assert.deepEqual([...traversal.edges.keys()], ['ab', 'ba'])
    assert.ok(traversal.truncated && isDone(traversal, 10))
  })

  test('sets truncated when the database returned only a part of the rows', () => {
    const traversal = start()
    extend(traversal, { rows: [row('a', 'b')], cut: true }, boundsFor(10))
    assert.ok(traversal.truncated)
  })
})

describe('pathBetween', () => {
  test('pathBetween joins two traversals at the node where they meet', () => {
    const from = start()
    const to = startTraversal({ type: 'asset', id: 'd' })
    extend(from, { rows: [row('a', 'b'), row('a', 'x')], cut: false }, boundsFor(10))
    extend(to, { rows: [row('c', 'd')], cut: false }, boundsFor(10))
    assert.equal(pathBetween(from, to, 'out'), undefined)
    extend(from, { rows: [row('b', 'c')], cut: false }, boundsFor(10))
    const path = pathBetween(from, to, 'out')
    assert.deepEqual(
      path?.nodes.map(({ id }) => id),
      ['a', 'b', 'c', 'd'],
    )
    assert.deepEqual(
      path?.edges.map(({ id }) => id),
      ['ab', 'bc', 'cd'],
    )
  })

  test('pathBetween returns one node for the path from a node to itself', () => {
    assert.deepEqual(pathBetween(start(), start(), 'both'), { nodes: [{ type: 'asset', id: 'a' }], edges: [] })
  })
})
