import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TreeRow, treeStep } from './tree-keys.ts'

/** A tree with two sites. The first one is open, and its hall is closed. */
const rows: TreeRow[] = [
  { level: 0, name: 'Augsburg', isExpandable: true, isExpanded: true },
  { level: 1, name: 'Hall 1', isExpandable: true, isExpanded: false },
  { level: 1, name: 'Hall 2', isExpandable: false, isExpanded: false },
  { level: 0, name: 'Bremen', isExpandable: false, isExpanded: false },
]

test('moves the focus over all visible rows with the arrow keys, Home and End', () => {
  assert.deepEqual(treeStep('ArrowDown', rows, 2), { focus: 3 })
  assert.deepEqual(treeStep('ArrowUp', rows, 3), { focus: 2 })
  assert.deepEqual(treeStep('Home', rows, 3), { focus: 0 })
  assert.deepEqual(treeStep('End', rows, 0), { focus: 3 })
})

test('does not move the focus beyond the first and the last row', () => {
  assert.equal(treeStep('ArrowDown', rows, 3), undefined)
  assert.equal(treeStep('ArrowUp', rows, 0), undefined)
})

test('opens a closed row with the right arrow key, and then moves to its first child', () => {
  assert.deepEqual(treeStep('ArrowRight', rows, 1), { expand: true })
  assert.deepEqual(treeStep('ArrowRight', rows, 0), { focus: 1 })
  assert.equal(treeStep('ArrowRight', rows, 2), undefined)
})

test('closes an open row with the left arrow key, and moves to the parent of a closed row', () => {
  assert.deepEqual(treeStep('ArrowLeft', rows, 0), { expand: false })
  assert.deepEqual(treeStep('ArrowLeft', rows, 2), { focus: 0 })
  assert.equal(treeStep('ArrowLeft', rows, 3), undefined)
})

test('moves to the next row that starts with the typed letter, and continues at the top', () => {
  assert.deepEqual(treeStep('h', rows, 1), { focus: 2 })
  assert.deepEqual(treeStep('h', rows, 2), { focus: 1 })
  assert.equal(treeStep('z', rows, 0), undefined)
})
