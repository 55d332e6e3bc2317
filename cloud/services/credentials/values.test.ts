import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { changedFields, type Known, mergedValues, requireSendable } from './values.ts'

const before: Known = {
  values: { user: 'u', pin: '1', deep: { key: 'k', port: 1 }, list: [{ pin: 'a' }, { pin: 'b' }] },
  shown: { user: 'u', pin: '***', deep: { key: '***', port: 1 }, list: [{ pin: '***' }, { pin: '***' }] },
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
    ['replace what is sent', { pin: '2' }, { pin: '2' }],
    ['take a placeholder at its word where nothing is hidden', { user: '***' }, { user: '***' }],
  ]
  for (const [what, change, changed] of cases) {
    test(what, () => assert.deepEqual(mergedValues(before, change), { ...before.values, ...changed }))
  }

  test('lose what is sent as null', () => {
    assert.deepEqual(mergedValues(before, { pin: null, deep: null, list: null }), { user: 'u' })
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
