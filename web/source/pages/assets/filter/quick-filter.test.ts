import assert from 'node:assert/strict'
import { test } from 'node:test'
import { viewOf } from '../views/view-search.ts'
import { hasQuickFilters } from './quick-filter.ts'

test('filters with the numbers of all assets are hidden while a search, a group or another filter limits the table', () => {
  const stopped = "operating_mode/mode_name eq 'stop'"
  const isShown = (search: Record<string, string>) => hasQuickFilters(viewOf(search), [stopped])
  assert.deepEqual([{}, { by: 'responsible' }, { filter: stopped }].map(isShown), [true, true, true])
  const limited = [{ q: 'pump' }, { by: 'responsible', in: 'Ada' }, { filter: "name eq 'a'" }]
  assert.deepEqual(limited.map(isShown), [false, false, false])
})
