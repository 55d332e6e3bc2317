import assert from 'node:assert/strict'
import { test } from 'node:test'
import { predicateName, relationName } from './predicate-name.ts'

test('a relation type is shown in words', () => {
  assert.equal(predicateName('is_module_of', 'en'), 'module of')
  assert.equal(predicateName('is_module_of', 'de'), 'Modul von')
})

test('an own relation type is shown with the words of its identifier', () => {
  assert.equal(predicateName('is_cooled_by', 'de'), 'cooled by')
  assert.equal(predicateName('feeds', 'en'), 'feeds')
})

test('a relation type has a name for each direction', () => {
  assert.equal(relationName('is_module_of', 'out', 'en'), 'Module of')
  assert.equal(relationName('is_module_of', 'in', 'en'), 'Modules')
  assert.equal(relationName('feeds', 'in', 'en'), '← feeds')
})
