import assert from 'node:assert/strict'
import { test } from 'node:test'
import { andFilters, type ConditionList, conditionsOf, filterOf, operators } from './filter-conditions.ts'

test('parses the expression of a condition list back to the same list', () => {
  const paths = [
    'name',
    'management_state/state_value',
    'connection_points/any/ipv4_address',
    'custom_properties/0198-a',
  ]
  const values = ["the operator's spare", '', '10.0.', 'and (or) not', 'ä"<b>']
  for (const join of ['and', 'or'] as const) {
    for (const operator of operators) {
      const hasValue = operator !== 'is-empty' && operator !== 'is-set'
      const conditions = paths.map((path, at) => ({ path, operator, value: hasValue ? (values[at] ?? 'x') : '' }))
      const list: ConditionList = { conditions, join }
      assert.deepEqual(conditionsOf(filterOf(list)), list)
    }
  }
})

test('returns undefined for an expression that is not a plain list of conditions', () => {
  for (const text of [
    "name eq 'a' and (name eq 'b' or name eq 'c')",
    "name eq 'a' and name eq 'b' or name eq 'c'",
    "not (name eq 'a')",
    "name in ('a', 'b')",
    'location/any(l: l/slot_number ge 3 and l/slot_number le 5)',
    'name eq',
    "name = 'x'",
    'name eq "x"',
  ])
    assert.equal(conditionsOf(text), undefined, text)
})

test('returns an empty list for an empty filter, and combines two filters with "and"', () => {
  assert.deepEqual(conditionsOf('  '), { conditions: [], join: 'and' })
  assert.equal(andFilters('', "a eq 'b'"), "a eq 'b'")
  assert.equal(andFilters("a eq 'b' or c eq 'd'", "e eq 'f'"), "(a eq 'b' or c eq 'd') and (e eq 'f')")
})
