import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSort } from './filter.ts'
import { extraKey, things } from './testing.ts'

describe('sort', () => {
  test('is a list of properties, down with a minus', () => {
    assert.deepEqual(parseSort('name, -made', things), [
      { property: 'name', column: 't.name', kind: 'text', nullable: true, descending: false },
      { property: 'made', column: 't.made', kind: 'time', nullable: true, descending: true },
    ])
    assert.deepEqual(
      parseSort('-maker.name,id', things).map(({ property, nullable }) => ({ property, nullable })),
      [
        { property: 'maker/name', nullable: true },
        { property: 'id', nullable: false },
      ],
    )
  })

  test('looks up what is in a row elsewhere', () => {
    assert.deepEqual(
      parseSort(`extras/${extraKey}`, things).map(({ column }) => column),
      [`(select e.value from extras e where e.tenant_id = $1 and e.thing_id = t.id and e.key = '${extraKey}')`],
    )
  })

  const wrong: [string, string, RegExp][] = [
    [
      'colour',
      'unknown_property',
      /no property "colour" to sort by\. There are: id, name, maker\.name, size, active, made, owner, extras\/<key>$/,
    ],
    ['code', 'unknown_property', /no property "code" to sort by/],
    ['__proto__', 'unknown_property', /no property/],
    ['parts', 'sort_on_array', /"parts" is an array/],
    ['parts/no', 'sort_on_array', /"parts\/no" is an array or in one/],
    ['name,-name', 'invalid_query', /names "name" twice/],
    ['maker.name,maker/name', 'invalid_query', /names "maker\/name" twice/],
    ['', 'invalid_query', /list of properties/],
    ['name,', 'invalid_query', /list of properties/],
    ['name,'.repeat(5000), 'invalid_query', /At most 8/],
  ]
  for (const [text, code, message] of wrong) {
    test(`refuses ${JSON.stringify(text.slice(0, 30))}`, () =>
      assert.throws(() => parseSort(text, things), { name: 'Problem', code, message }))
  }
})
