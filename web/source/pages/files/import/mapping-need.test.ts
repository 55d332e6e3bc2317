import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MappingSuggestion } from '@millwright/api/imports.ts'
import { needsMapping } from './mapping-need.ts'

type Suggested = MappingSuggestion['columns'][number]

const properties = [{ key: 'a1', name: 'Cost centre' }]

function suggestion(columns: [from: string, to: string | null][], mappingId?: string): MappingSuggestion {
  const suggested = columns.map(([from, to]): Suggested => ({ from, to, reason: 'heading', examples: [] }))
  return { format: 'csv', columns: suggested, ...(mappingId !== undefined && { mappingId }) }
}

function isNeeded(given: MappingSuggestion, targets = given.columns.map(({ to }) => to)): boolean {
  return needsMapping(given, targets, properties)
}

test('headings of the template need no mapping', () => {
  assert.equal(
    isNeeded(
      suggestion([
        ['name', 'name'],
        ['Cost centre', 'custom_properties/a1'],
        ['ID', 'id'],
        ['x', null],
      ]),
    ),
    false,
  )
})

test('a suggested field of a foreign heading needs a mapping', () => {
  assert.equal(
    isNeeded(
      suggestion([
        ['Name', 'name'],
        ['Serien-Nr.', 'serial_number'],
      ]),
    ),
    true,
  )
})

test('a saved mapping is used again until the user changes a field', () => {
  const saved = suggestion([['Serien-Nr.', 'serial_number']], '0198f0c2-7b1e-7c3a-9d55-0242ac120002')
  assert.equal(isNeeded(saved), false)
  assert.equal(isNeeded(saved, ['name']), true)
})
