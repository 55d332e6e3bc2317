import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { changedFields, mergedValues, requireSendable, type StoredValues } from './values.ts'

const people = {
  values: [
    { name: 'a', pin: '1' },
    { name: 'b', pin: '2' },
  ],
  shown: [
    { name: 'a', pin: '***' },
    { name: 'b', pin: '***' },
  ],
} as const

const before: StoredValues = {
  values: {
    people: people.values,
    hidden: { a: 1, b: 2 },
    user: 'u',
    pin: '1',
    deep: { key: 'k', port: 1 },
    list: [{ pin: 'a' }, { pin: 'b' }],
  },
  shown: {
    people: people.shown,
    hidden: '***',
    user: 'u',
    pin: '***',
    deep: { key: '***', port: 1 },
    list: [{ pin: '***' }, { pin: '***' }],
  },
}

describe('changes of credential values', () => {
  const cases: [string, Record<string, unknown>, Partial<StoredValues['values']>][] = [
    ['preserves absent fields', {}, {}],
    ['preserves a secret that is sent as its placeholder', { user: 'v', pin: '***' }, { user: 'v' }],
    ['preserves a nested secret', { deep: { key: '***', port: 2 } }, { deep: { key: 'k', port: 2 } }],
    [
      'preserves the secrets of a list by position',
      { list: [{ pin: '***' }, { pin: 'c' }] },
      { list: [{ pin: 'a' }, { pin: 'c' }] },
    ],
    [
      'preserves the secret of a list entry that moved',
      { people: [{ name: 'b', pin: '***' }] },
      { people: [{ name: 'b', pin: '2' }] },
    ],
    [
      'preserves the secrets of existing list entries next to a new entry',
      { people: [{ name: 'c', pin: '3' }, ...people.shown] },
      { people: [{ name: 'c', pin: '3' }, ...people.values] },
    ],
    [
      'preserves the secret of a list entry whose name changes',
      { people: [{ name: 'A', pin: '***' }, people.shown[1]] },
      { people: [{ name: 'A', pin: '1' }, people.values[1]] },
    ],
    [
      'leaves a placeholder that could belong to several list entries',
      { people: [{ name: 'x', pin: '***' }], list: [{ pin: '***' }] },
      { people: [{ name: 'x', pin: '***' }], list: [{ pin: '***' }] },
    ],
    [
      'merges the sent fields into an object that is masked as a whole',
      { hidden: { b: 3 } },
      { hidden: { a: 1, b: 3 } },
    ],
    ['omits the null fields of a new object', { fresh: { a: null, b: { c: null } } }, { fresh: { b: {} } }],
    ['replaces sent fields', { pin: '2' }, { pin: '2' }],
    ['stores the text of the placeholder in a field that is not secret', { user: '***' }, { user: '***' }],
  ]
  for (const [what, change, changed] of cases) {
    test(`${what} when credential values are changed`, () =>
      assert.deepEqual(mergedValues(before, change), { ...before.values, ...changed }))
  }

  test('removes a credential field that is sent as null', () => {
    assert.deepEqual(
      mergedValues({ values: { user: 'u', pin: '1', deep: {} }, shown: {} }, { pin: null, deep: null }),
      { user: 'u' },
    )
  })

  test('refuses the placeholder of a credential secret that does not exist', () => {
    assert.throws(() => requireSendable({ a: { pin: '***' } }), /\/data\/values\/a\/pin is the placeholder of a secret/)
  })

  test('refuses credential values that are too large or nested too deep', () => {
    assert.throws(() => requireSendable({ a: 'x'.repeat(70_000) }), /64 KiB/)
    let deep: Record<string, unknown> = {}
    for (let level = 0; level < 20; level++) deep = { deep }
    assert.throws(() => requireSendable(deep), /deeper than 16/)
  })
})

describe('names of changed fields', () => {
  const fieldsOf = (change: Record<string, unknown>, shown: Record<string, unknown>) => {
    const after = { values: mergedValues(before, change), shown: { ...before.shown, ...shown } }
    return changedFields(change, before, after)
  }

  test('lists credential fields with a new value as changed', () => {
    assert.deepEqual(fieldsOf({ user: 'v', deep: { port: 2 } }, { user: 'v', deep: { key: '***', port: 2 } }), [
      'values/user',
      'values/deep/port',
    ])
    assert.deepEqual(fieldsOf({ user: 'u' }, {}), [])
  })

  test('lists every sent secret as changed, so that the list does not confirm a guessed secret', () => {
    assert.deepEqual(fieldsOf({ pin: '1' }, {}), ['values/pin'])
    assert.deepEqual(fieldsOf({ pin: '2' }, {}), ['values/pin'])
    assert.deepEqual(fieldsOf({ pin: '***', list: [{ pin: '***' }, { pin: '***' }] }, {}), [])
    assert.deepEqual(fieldsOf({ list: [{ pin: 'a' }, { pin: '***' }] }, {}), ['values/list'])
  })
})
