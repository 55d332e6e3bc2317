import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joinPath, splitPath } from './hierarchy-path.ts'

test('splitPath returns the names that joinPath joined, also with the separator in a name', () => {
  const name = fc.string({ unit: fc.constantFrom('/', '\\', 'a', ' ') })
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), (names) => {
      assert.deepEqual(splitPath(joinPath(names)), names)
    }),
    { numRuns: 1_000 },
  )
  assert.equal(joinPath(['I/O', 'Rack']), 'I\\/O/Rack')
  assert.deepEqual(splitPath('a/'), ['a', ''])
})
