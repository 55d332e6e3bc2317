import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { filteredText, parseResponseFilter } from './response-filter.ts'

const answer = {
  pagination: { total: 2 },
  content: [
    { id: '1', status: { state: 'OPEN' }, tags: ['a', 'b'], 'odd name': 1 },
    { id: '2', status: { state: 'CLOSED' }, tags: [] },
  ],
}

const cases: [string, string][] = [
  ['.', `${JSON.stringify(answer)}\n`],
  ['.pagination.total', '2\n'],
  ['.content[0].id', '"1"\n'],
  ['.content[].id', '"1"\n"2"\n'],
  ['.content | .[] | .id', '"1"\n"2"\n'],
  ['.content[].tags[]', '"a"\n"b"\n'],
  ['[.content[].status.state]', '["OPEN","CLOSED"]\n'],
  ['[ .content[] | {id, state: .status.state} ]', '[{"id":"1","state":"OPEN"},{"id":"2","state":"CLOSED"}]\n'],
  ['.content[0]."odd name"', '1\n'],
  ['.content[0]["odd name"], .pagination', '1\n{"total":2}\n'],
  ['(.content[0] | .id)', '"1"\n'],
  ['{total: .pagination.total, "first": .content[0].id}', '{"total":2,"first":"1"}\n'],
  ['.nothing.here[3]', 'null\n'],
  ['.content.id', 'null\n'],
  ['.constructor', 'null\n'],
  ['.nothing[]', ''],
  ['[]', '[]\n'],
]

for (const [filter, expected] of cases) {
  test(`applies the response filter ${filter}`, () => {
    assert.equal(filteredText(parseResponseFilter(filter), answer), expected)
  })
}

test('refuses an unsupported response filter when it is parsed', () => {
  const refused = ['', '..', '.a.', '.[', '.a[b]', '{', '{a:}', '{1}', '.a | ', 'del(.a)', 'map(.id)', '.a == 1', '"a']
  for (const filter of [...refused, '."\\q"', `${'('.repeat(40)}.${')'.repeat(40)}`, '.a'.repeat(1_000)])
    assert.throws(
      () => parseResponseFilter(filter),
      (problem) => problem instanceof Problem && problem.code === 'invalid_filter',
      filter,
    )
})

test('limits the number of results of a response filter', () => {
  const twice = parseResponseFilter(Array.from({ length: 30 }, () => '(.,.)').join('|'))
  assert.throws(() => twice(answer), /more than 10000 results/)
})

test('applies or refuses random text as a response filter without an internal error', () => {
  const parts = fc.constantFrom('.', '.a', '[', ']', '{', '}', '(', ')', ',', '|', ':', '"x"', '0', 'a', ' ', '"', '\\')
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), fc.jsonValue(), (tokens, value) => {
      try {
        filteredText(parseResponseFilter(tokens.join('')), value)
      } catch (problem) {
        assert.equal((problem as Problem).code, 'invalid_filter')
      }
    }),
    { numRuns: 300 },
  )
})
