import assert from 'node:assert/strict'
import { test } from 'node:test'
import { predicateName } from './predicate-name.ts'

test('a relation type is shown in words', () => {
  assert.equal(predicateName('is_module_of', 'en'), 'module of')
  assert.equal(predicateName('is_module_of', 'de'), 'Modul von')
})

test('an own relation type is shown with the words of its identifier', () => {
  assert.equal(predicateName('is_cooled_by', 'de'), 'cooled by')
  assert.equal(predicateName('feeds', 'en'), 'feeds')
})
