import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { destinationOf, sideAt } from './tree-drop.ts'

function node(id: string, parentId: string | null, position: number): HierarchyNode {
  return { id, parentId, position } as HierarchyNode
}

test('places a node before, into or after a row, depending on the height of the pointer', () => {
  assert.equal(sideAt('node', 0.1), 'before')
  assert.equal(sideAt('node', 0.5), 'into')
  assert.equal(sideAt('node', 0.9), 'after')
})

test('puts assets into the node at every height of the pointer', () => {
  assert.equal(sideAt('assets', 0.1), 'into')
  assert.equal(sideAt('assets', 0.9), 'into')
})

test('counts the position of a moved node without the node itself', () => {
  const [first, second, third] = [node('a', 'p', 0), node('b', 'p', 1), node('c', 'p', 2)]
  assert.deepEqual(destinationOf(first, { node: third, side: 'before' }), { parentId: 'p', position: 1 })
  assert.deepEqual(destinationOf(first, { node: third, side: 'after' }), { parentId: 'p', position: 2 })
  assert.deepEqual(destinationOf(third, { node: second, side: 'before' }), { parentId: 'p', position: 1 })
  assert.deepEqual(destinationOf(third, { node: first, side: 'into' }), { parentId: 'a' })
})

test('keeps the position of the target for a node of another parent', () => {
  assert.deepEqual(destinationOf(node('x', 'q', 0), { node: node('b', null, 1), side: 'after' }), {
    parentId: null,
    position: 2,
  })
})
