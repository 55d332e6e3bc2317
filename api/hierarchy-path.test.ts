import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinPath, splitPath } from './hierarchy-path.ts'

test('splitPath returns the names that joinPath joined, also with the separator in a name', () => {
  for (const names of [['Site 1'], ['Site 1', 'Line A'], ['I/O', 'a//b', 'c'], ['a/', 'b']]) {
    assert.deepEqual(splitPath(joinPath(names)), names)
  }
  assert.equal(joinPath(['I/O', 'Rack']), 'I//O/Rack')
  assert.deepEqual(splitPath('a/'), ['a', ''])
})
