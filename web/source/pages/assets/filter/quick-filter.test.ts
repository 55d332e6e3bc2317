import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryOf, viewOf } from '../views/view-search.ts'
import { quickFilterChange } from './quick-filter.ts'

test('a filter with a number replaces the search, the filter and the group, and a second click shows all assets', () => {
  const filter = "operating_mode/mode_name eq 'stop'"
  const view = viewOf({ q: 'pump', match: 'inside', filter: "name eq 'a'", by: 'responsible', in: 'Ada' })
  const shown = { ...view, ...quickFilterChange(view, filter) }
  assert.deepEqual(queryOf(shown), { filter, q: '' })
  assert.deepEqual(queryOf({ ...shown, ...quickFilterChange(shown, filter) }), { filter: '', q: '' })
})
