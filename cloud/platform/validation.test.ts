import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { Type } from 'typebox'
import { inputValidator } from './validation.ts'

const closed = { additionalProperties: false }
const body = Type.Object(
  {
    rows: Type.Array(Type.Object({ path: Type.Array(Type.String()), kind: Type.Optional(Type.String()) }, closed)),
    ids: Type.Optional(Type.Array(Type.String(), { uniqueItems: true })),
  },
  closed,
)
const validate = inputValidator({ method: 'POST', path: '', summary: '', access: 'public', answers: {}, body })

/** Returns the pointers to the errors of a body. */
function errorsIn(value: unknown): string[] {
  try {
    validate({ body: value })
  } catch (error) {
    if (error instanceof Problem) return (error.toDocument().errors ?? []).map(({ pointer }) => pointer)
    throw error
  }
  return []
}

function repeated<Value>(count: number, value: Value): Value[] {
  return Array.from({ length: count }, () => value)
}

test('does not examine all entries of a list with many invalid entries', () => {
  let reads = 0
  const row = { path: repeated(32, 1) }
  const entries = new Proxy(repeated(20_000, row), {
    get(target, name, receiver) {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1
      return Reflect.get(target, name, receiver)
    },
  })
  const pointers = errorsIn({ rows: entries })
  assert.equal(pointers.length, 50)
  assert.deepEqual(pointers.slice(31, 33), ['/rows/0/path/31', '/rows/1/path/0'])
  assert.ok(reads < 1_000, `${reads}`)
})

test('returns the position of an invalid entry after many valid entries, with the errors of the next entries', () => {
  const invalid = { path: [], other: 1 }
  const valid = repeated(5_000, { path: ['a'] })
  assert.deepEqual(errorsIn({ rows: [...valid, invalid, ...valid, invalid] }), ['/rows/5000/other'])
  assert.deepEqual(errorsIn({ rows: [...valid, invalid, { path: [], kind: 1 }] }), [
    '/rows/5000/other',
    '/rows/5001/kind',
  ])
})

test('returns the error of a whole list', () => {
  assert.deepEqual(errorsIn({ rows: [], ids: [...Array.from({ length: 100 }, (_, id) => `${id}`), '7'] }), ['/ids'])
})

test('accepts a valid body with long lists', () => {
  assert.deepEqual(errorsIn({ rows: repeated(1_000, { path: ['a'] }), ids: ['a', 'b'] }), [])
})
