import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeNames } from './place-names.ts'

const pathOf = (...names: string[]) => ({ path: names.map((name) => ({ name })) })

test('distinguishes an asset without a node from an asset whose place is not loaded', () => {
  const names = placeNames([undefined, { data: [{ assetId: 'a', paths: [] }] }])
  assert.deepEqual(names.get('a'), [])
  assert.equal(names.get('b'), undefined)
})

test('returns the place in the first hierarchy', () => {
  const answer = { data: [{ assetId: 'a', paths: [pathOf('Plant', 'Line 1'), pathOf('Buildings')] }] }
  assert.deepEqual(placeNames([answer]).get('a'), ['Plant', 'Line 1'])
})
