import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { changedFields, type Known, mergedValues, requireSendable } from './values.ts'

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

const before: Known = {
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

describe('changed values', () => {
  const cases: [string, Record<string, unknown>, Partial<Known['values']>][] = [
    ['keep what is left out', {}, {}],
    ['keep a secret that is sent as it is shown', { user: 'v', pin: '***' }, { user: 'v' }],
    ['keep one that is deep inside', { deep: { key: '***', port: 2 } }, { deep: { key: 'k', port: 2 } }],
    [
      'keep those of a list by their places',
      { list: [{ pin: '***' }, { pin: 'c' }] },
      { list: [{ pin: 'a' }, { pin: 'c' }] },
    ],
    ['know an entry that moved', { people: [{ name: 'b', pin: '***' }] }, { people: [{ name: 'b', pin: '2' }] }],
    [
      'know the others beside a new entry',
      { people: [{ name: 'c', pin: '3' }, ...people.shown] },
      { people: [{ name: 'c', pin: '3' }, ...people.values] },
    ],
    [
      'keep the secret of an entry whose name changes',
      { people: [{ name: 'A', pin: '***' }, people.shown[1]] },
      { people: [{ name: 'A', pin: '1' }, people.values[1]] },
    ],
    [
      'do not guess which entry is meant',
      { people: [{ name: 'x', pin: '***' }], list: [{ pin: '***' }] },
      { people: [{ name: 'x', pin: '***' }], list: [{ pin: '***' }] },
    ],
    ['reach into what is hidden as a whole', { hidden: { b: 3 } }, { hidden: { a: 1, b: 3 } }],
    ['leave out what is null in something new', { fresh: { a: null, b: { c: null } } }, { fresh: { b: {} } }],
    ['replace what is sent', { pin: '2' }, { pin: '2' }],
    ['take a placeholder at its word where nothing is hidden', { user: '***' }, { user: '***' }],
  ]
  for (const [what, change, changed] of cases) {
    test(what, () => assert.deepEqual(mergedValues(before, change), { ...before.values, ...changed }))
  }

  test('lose what is sent as null', () => {
    assert.deepEqual(
      mergedValues({ values: { user: 'u', pin: '1', deep: {} }, shown: {} }, { pin: null, deep: null }),
      { user: 'u' },
    )
  })

  test('cannot hold the placeholder of a secret that is not there', () => {
    assert.throws(() => requireSendable({ a: { pin: '***' } }), /\/data\/values\/a\/pin is what is shown/)
  })

  test('cannot be huge or deep', () => {
    assert.throws(() => requireSendable({ a: 'x'.repeat(70_000) }), /64 KiB/)
    let deep: Record<string, unknown> = {}
    for (let level = 0; level < 20; level++) deep = { deep }
    assert.throws(() => requireSendable(deep), /deeper than 16/)
  })
})

describe('the names of changed fields', () => {
  const fieldsOf = (change: Record<string, unknown>, shown: Record<string, unknown>) => {
    const after = { values: mergedValues(before, change), shown: { ...before.shown, ...shown } }
    return changedFields(change, before, after)
  }

  test('are those that are new, gone or different', () => {
    assert.deepEqual(fieldsOf({ user: 'v', deep: { port: 2 } }, { user: 'v', deep: { key: '***', port: 2 } }), [
      'values/user',
      'values/deep/port',
    ])
    assert.deepEqual(fieldsOf({ user: 'u' }, {}), [])
  })

  test('tell nobody whether they guessed a secret: sending it is changing it', () => {
    assert.deepEqual(fieldsOf({ pin: '1' }, {}), ['values/pin'])
    assert.deepEqual(fieldsOf({ pin: '2' }, {}), ['values/pin'])
    assert.deepEqual(fieldsOf({ pin: '***', list: [{ pin: '***' }, { pin: '***' }] }, {}), [])
    assert.deepEqual(fieldsOf({ list: [{ pin: 'a' }, { pin: '***' }] }, {}), ['values/list'])
  })
})
