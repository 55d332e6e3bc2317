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

describe('a traversal through the graph', () => {
  test('reaches each thing once, at its least depth, and ends in a cycle', () => {
    const traversal = start()
    extend(traversal, { rows: [row('a', 'b'), row('c', 'a'), row('a', 'a')], cut: false }, boundsFor(10))
    extend(traversal, { rows: [row('b', 'c'), row('c', 'a'), row('b', 'd')], cut: false }, boundsFor(10))
    extend(traversal, { rows: [row('d', 'a')], cut: false }, boundsFor(10))
    assert.deepEqual(nodesOf(traversal), ['a0', 'b1', 'c1', 'd2'])
    assert.deepEqual([...traversal.edges.keys()], ['aa', 'ab', 'ca', 'bc', 'bd', 'da'])
    assert.ok(isDone(traversal, 10) && !traversal.truncated)
  })

  test('a node with the id of an asset is another thing', () => {
    const traversal = start()
    extend(traversal, { rows: [{ ...row('a', 'a'), objectType: 'node' }], cut: false }, boundsFor(10))
    assert.equal(traversal.nodes.size, 2)
  })

  test('stops at its bounds and says so; no relation leads to what is not shown', () => {
    const traversal = start()
    extend(traversal, { rows: [row('a', 'b'), row('a', 'c'), row('b', 'a')], cut: false }, { nodes: 2, edges: 8 })
    assert.deepEqual(nodesOf(traversal), ['a0', 'b1'])
    assert.deepEqual([...traversal.edges.keys()], ['ab', 'ba'])
    assert.ok(traversal.truncated && isDone(traversal, 10))
  })

  test('what the database cut off is told too', () => {
    const traversal = start()
    extend(traversal, { rows: [row('a', 'b')], cut: true }, boundsFor(10))
    assert.ok(traversal.truncated)
  })
})

describe('a way between two things', () => {
  test('is put together where two walks meet', () => {
    const from = start()
    const to = startTraversal({ type: 'asset', id: 'd' })
    extend(from, { rows: [row('a', 'b'), row('a', 'x')], cut: false }, boundsFor(10))
    extend(to, { rows: [row('c', 'd')], cut: false }, boundsFor(10))
    assert.equal(pathBetween(from, to, 'out'), undefined)
    extend(from, { rows: [row('b', 'c')], cut: false }, boundsFor(10))
    const way = pathBetween(from, to, 'out')
    assert.deepEqual(
      way?.nodes.map(({ id }) => id),
      ['a', 'b', 'c', 'd'],
    )
    assert.deepEqual(
      way?.edges.map(({ id }) => id),
      ['ab', 'bc', 'cd'],
    )
  })

  test('from a thing to itself is the thing', () => {
    assert.deepEqual(pathBetween(start(), start(), 'both'), { nodes: [{ type: 'asset', id: 'a' }], edges: [] })
  })
})
