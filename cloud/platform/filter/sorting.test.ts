import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSort } from './filter.ts'
import { extraKey, items } from './testing.ts'

describe('sort expressions', () => {
  test('accepts a list of sort properties, with a minus sign for descending order', () => {
    assert.deepEqual(parseSort('name, -made', items), [
      { property: 'name', column: 't.name', kind: 'text', nullable: true, descending: false },
      { property: 'made', column: 't.made', kind: 'time', nullable: true, descending: true },
    ])
    assert.deepEqual(
      parseSort('-maker.name,id', items).map(({ property, nullable }) => ({ property, nullable })),
      [
        { property: 'maker/name', nullable: true },
        { property: 'id', nullable: false },
      ],
    )
  })

  test('sorts by a value in another table', () => {
    assert.deepEqual(
      parseSort(`extras/${extraKey}`, items).map(({ column }) => column),
      [`(select e.value from extras e where e.tenant_id = $1 and e.thing_id = t.id and e.key = '${extraKey}')`],
    )
  })

  const wrong: [string, string, RegExp][] = [
    [
      'colour',
      'unknown_property',
      /Unknown property "colour"\. Properties to sort by: id, name, maker\.name, size, active, made, owner, extras\/<key>$/,
    ],
    ['code', 'unknown_property', /Unknown property "code"\. Properties to sort by/],
    ['__proto__', 'unknown_property', /Unknown property "__proto__"/],
    ['parts', 'sort_on_array', /Cannot sort by "parts", because it is an array/],
    ['parts/no', 'sort_on_array', /Cannot sort by "parts\/no", because it is an array or inside an array/],
    ['name,-name', 'invalid_query', /contains "name" twice/],
    ['maker.name,maker/name', 'invalid_query', /contains "maker\/name" twice/],
    ['', 'invalid_query', /list of properties/],
    ['name,', 'invalid_query', /list of properties/],
    ['name,'.repeat(5000), 'invalid_query', /sort contains more than 8 properties/],
  ]
  for (const [text, code, message] of wrong) {
    test(`refuses the sort expression ${JSON.stringify(text.slice(0, 30))}`, () =>
      assert.throws(() => parseSort(text, items), { name: 'Problem', code, message }))
  }
})
