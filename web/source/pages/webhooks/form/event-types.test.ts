import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectionOf, typesOf } from './event-types.ts'

test('typesOf returns the prefixes of the selected groups and the typed prefixes without duplicates', () => {
  const selection = {
    isAll: false,
    groups: ['assets', 'access'],
    prefixes: 'inventory.asset.\n io.millwright.x.y ',
  } as const
  assert.deepEqual(typesOf(selection), [
    'io.millwright.inventory.asset.',
    'io.millwright.authorization.',
    'io.millwright.identity.',
    'io.millwright.x.y',
  ])
  assert.deepEqual(typesOf({ ...selection, isAll: true }), ['io.millwright.'])
  assert.deepEqual(typesOf({ isAll: false, groups: [], prefixes: ' \n' }), [])
})

test('selectionOf selects a group only if all of its prefixes are selected', () => {
  assert.deepEqual(selectionOf(['io.millwright.']), { isAll: true, groups: [], prefixes: '' })
  assert.deepEqual(selectionOf(['io.millwright.identity.', 'io.millwright.updates.']), {
    isAll: false,
    groups: ['updates'],
    prefixes: 'io.millwright.identity.',
  })
})

test('typesOf returns the types that selectionOf received', () => {
  const types = [
    'io.millwright.inventory.asset.',
    'io.millwright.imports.',
    'io.millwright.exports.',
    'io.millwright.a.b',
  ]
  assert.deepEqual(typesOf(selectionOf(types)).toSorted(), types.toSorted())
})
