import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LabelSpace } from './label-space.ts'

const [source, target] = [
  { x: 0, y: 0 },
  { x: 200, y: 0 },
]

test('the label of a relation is in the middle if there is space', () => {
  assert.deepEqual(new LabelSpace().placeEdge(source, target, 60), { source, target })
})

test('the label of a relation moves away from the label of a node', () => {
  const space = new LabelSpace()
  space.addNode({ x: 110, y: 0, size: 4 }, 20, 12)
  const moved = space.placeEdge(source, target, 40)
  assert.ok(moved !== undefined && moved.source.x < 0)
})

test('the label of a relation is left out if there is no space for it', () => {
  const space = new LabelSpace()
  space.addNode({ x: 20, y: 0, size: 4 }, 160, 12)
  assert.equal(space.placeEdge(source, target, 40), undefined)
  space.clear()
  assert.notEqual(space.placeEdge(source, target, 40), undefined)
})
