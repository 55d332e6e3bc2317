import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostHavePlaces, placeNames } from './place-names.ts'

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

test('finds that most assets have places from half of them on', () => {
  const placeOf = (id: string) => (id.startsWith('placed') ? ['Plant'] : [])
  const most = (...ids: string[]) =>
    mostHavePlaces(
      ids.map((id) => ({ id })),
      placeOf,
    )
  assert.equal(most('placed 1', 'other 1'), true)
  assert.equal(most('placed 1', 'other 1', 'other 2'), false)
  assert.equal(most(), false)
})
