import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { filterLimits, parseFilter, printFilter } from './filter.ts'
import { filter, withoutColumns } from './testing.ts'

const printed = (text: string) => printFilter(parseFilter(text))

describe('filter parser', () => {
  const same: [string, string][] = [
    [`a eq 1 or b eq 2 and c eq 3`, `a eq 1 or b eq 2 and c eq 3`],
    [`(a eq 1 or b eq 2) and c eq 3`, `(a eq 1 or b eq 2) and c eq 3`],
    [`a eq 1 and (b eq 2 and c eq 3)`, `a eq 1 and b eq 2 and c eq 3`],
    [`not a eq 1 and b eq 2`, `not (a eq 1) and b eq 2`],
    [`not(a eq 1 and b eq 2)`, `not (a eq 1 and b eq 2)`],
    [`not not a eq 1`, `not (not (a eq 1))`],
    [`((a eq'x'))`, `a eq 'x'`],
    [`subject.type eq 'asset'`, `subject/type eq 'asset'`],
    [`a\teq\n'it''s'`, `a eq 'it''s'`],
    [`a eq ''`, `a eq ''`],
    [`a eq-1.5e3`, `a eq -1.5e3`],
    [`a in('x','y')and b ne null`, `a in ('x', 'y') and b ne null`],
    [`contains(a,'x')or startswith(a.b,'y')`, `contains(a, 'x') or startswith(a/b, 'y')`],
    [`arr.any( i : i.value eq 'x' and contains(i/name, 'y') )`, `arr/any(i: i/value eq 'x' and contains(i/name, 'y'))`],
    [`not arr/any()`, `not (arr/any())`],
    [`tags/any(t: t eq 'x')`, `tags/any(t: t eq 'x')`],
    [`a/any(i: i/b/any(j: j/c eq true))`, `a/any(i: i/b/any(j: j/c eq true))`],
    [`a/any(i: i/any(j: j eq true))`, `a/any(i: i/any(j: j eq true))`],
    [
      `custom_properties/0198a1b2-0000-7000-8000-00000000000a eq '1'`,
      `custom_properties/0198a1b2-0000-7000-8000-00000000000a eq '1'`,
    ],
    [`contains eq 'a property of that name'`, `contains eq 'a property of that name'`],
    [`a eq 'nul \0 and \ud800'`, `a eq 'nul \ufffd and \ufffd'`],
  ]
  for (const [text, meaning] of same) {
    test(`parses the filter ${JSON.stringify(text)} as ${meaning}`, () => assert.equal(printed(text), meaning))
  }

  const wrong: [string, string][] = [
    ['', 'Column 1: expected a property, "not", "(" or a function, found the end of the filter'],
    ['   ', 'Column 4: expected a property, "not", "(" or a function, found the end of the filter'],
    ['name', 'Column 5: expected an operator (eq, ne, gt, ge, lt, le, in), found the end of the filter'],
    [
      `name = 'x'`,
      'Column 6: expected an operator (eq, ne, gt, ge, lt, le, in), but "=" is not part of the filter language',
    ],
    [`name eq`, 'Column 8: expected text in single quotes, a number, true, false or null, found the end of the filter'],
    [
      `name eq "x"`,
      'Column 9: expected text in single quotes, a number, true, false or null, but "\\"" is not part of the filter language; write text in single quotes',
    ],
    [`name eq x`, 'Column 9: expected text in single quotes, a number, true, false or null, found "x"'],
    [
      `name eq 'it''s`,
      'Column 9: expected text in single quotes, a number, true, false or null, but the text that starts here has no closing quote',
    ],
    [
      `name EQ 'x'`,
      'Column 6: expected an operator (eq, ne, gt, ge, lt, le, in), found "EQ"; keywords are lower-case: "eq"',
    ],
    [
      `a eq 1 AND b eq 2`,
      'Column 8: expected "and", "or" or the end of the filter, found "AND"; keywords are lower-case: "and"',
    ],
    [
      `NOT a eq 1`,
      'Column 1: expected a property, "not", "(" or a function, found "NOT"; keywords are lower-case: "not"',
    ],
    [
      `NOT (a eq 1)`,
      'Column 1: expected contains, startswith, endswith or an array with /any, found "NOT"; keywords are lower-case: "not"',
    ],
    [
      `a eq TRUE`,
      'Column 6: expected text in single quotes, a number, true, false or null, found "TRUE"; keywords are lower-case: "true"',
    ],
    [
      `a/Any(i: i eq 1)`,
      'Column 1: expected contains, startswith, endswith or an array with /any, found "a/Any"; keywords are lower-case: "any"',
    ],
    [`tolower(a) eq 'x'`, 'Column 1: expected contains, startswith, endswith or an array with /any, found "tolower"'],
    [`(a eq 1`, 'Column 8: expected "and", "or" or ")", found the end of the filter'],
    [`a eq 1)`, 'Column 7: expected "and", "or" or the end of the filter, found ")"'],
    [`and eq 1`, 'Column 1: expected a property, "not", "(" or a function, found "and"'],
    [`a eq 1 and`, 'Column 11: expected a property, "not", "(" or a function, found the end of the filter'],
    [`a gt null`, 'Column 6: null can only be compared with eq and ne, expected another value after gt'],
    [`a in ()`, 'Column 7: expected text in single quotes, a number, true, false or null, found ")"'],
    [`a in ('x', null)`, 'Column 12: expected a value other than null; to match null, add "or … eq null"'],
    [`a in 'x'`, 'Column 6: expected "(" and a list of values, found \'x\''],
    [`contains(a)`, 'Column 11: expected ",", found ")"'],
    [`contains(a, 5)`, 'Column 13: expected text in single quotes, found "5"'],
    [`contains('x', a)`, "Column 10: expected a property, found 'x'"],
    [`arr/any(i/value eq 1)`, 'Column 9: expected a name for the element, found "i/value"'],
    [
      `arr/any(i: value eq 1)`,
      'Column 12: expected a property of the element (i/…), "not", "(" or a function, found "value"',
    ],
    [`arr/any(i: i/a eq 1`, 'Column 20: expected "and", "or" or ")", found the end of the filter'],
    [
      `id eq 0198a1b2-0000-7000-8000-00000000000a`,
      'Column 7: expected text in single quotes, a number, true, false or null, but "0198a1b2-0000-7000-8000-00000000000a" is not a number; UUIDs and times go in single quotes',
    ],
    [
      `a eq 1e999`,
      'Column 6: expected text in single quotes, a number, true, false or null, but a number has at most 64 characters, and an exponent of at most 300',
    ],
    [`a eq '😀😀' b`, 'Column 11: expected "and", "or" or the end of the filter, found "b"'],
    [
      `a/ eq 1`,
      'Column 2: expected an operator (eq, ne, gt, ge, lt, le, in), but "/" is not part of the filter language',
    ],
    [`a eq 1 ) '`, 'Column 8: expected "and", "or" or the end of the filter, found ")"'],
  ]
  for (const [text, detail] of wrong) {
    test(`reports the column and the expected token for the filter ${JSON.stringify(text)}`, () =>
      assert.throws(() => parseFilter(text), { name: 'Problem', code: 'invalid_filter', message: detail }))
  }

  test('reports the limit that a filter exceeds', () => {
    const conditions = (count: number) => Array(count).fill('a eq 1').join(' and ')
    const nested = (depth: number) => `${'('.repeat(depth)}a eq 1${')'.repeat(depth)}`
    parseFilter(conditions(filterLimits.terms))
    assert.throws(
      () => parseFilter(conditions(filterLimits.terms + 1)),
      /Column 705: a filter has at most 64 conditions/,
    )
    parseFilter(nested(filterLimits.depth))
    assert.throws(() => parseFilter(nested(filterLimits.depth + 1)), /conditions are nested more than 32 deep/)
    assert.throws(() => parseFilter(`${'not '.repeat(500)}a eq 1`), /nested more than 32 deep/)
    parseFilter(`a eq '${'ä'.repeat(2044)}'`)
    assert.throws(() => parseFilter(`a eq '${'ä'.repeat(2045)}'`), /longer than 4096 bytes/)
  })

  test('parses a printed filter as the same filter', () => {
    const roundTrip = fc.property(filter, (made) => {
      const expression = parseFilter(printFilter(made))
      const again = printFilter(expression)
      assert.deepEqual(withoutColumns(parseFilter(again)), withoutColumns(expression))
      assert.equal(printed(again), again)
    })
    fc.assert(roundTrip, { numRuns: 1000 })
  })

  test('parses a printed filter of the maximum depth', () => {
    const deep = `${'not '.repeat(filterLimits.depth)}a eq 1`
    assert.deepEqual(withoutColumns(parseFilter(printed(deep))), withoutColumns(parseFilter(deep)))
  })
})
