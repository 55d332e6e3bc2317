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
    chosen: Type.Optional(
      Type.Union([
        Type.Object({ filter: Type.String() }, closed),
        Type.Object({ ids: Type.Array(Type.String(), { maxItems: 100 }) }, closed),
      ]),
    ),
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

test('returns the error of a whole list in the branch of a union that the value belongs to', () => {
  assert.deepEqual(errorsIn({ rows: [], chosen: { ids: repeated(101, 'a') } }), ['/chosen/ids'])
})

test('accepts a valid body with long lists', () => {
  assert.deepEqual(errorsIn({ rows: repeated(1_000, { path: ['a'] }), ids: ['a', 'b'] }), [])
})

const longBody = Type.Object(
  {
    data: Type.Object(
      {
        nodes: Type.Array(Type.Object({ path: Type.Array(Type.String(), { maxItems: 2 }) }, closed), {
          maxItems: 20_000,
        }),
        dryRun: Type.Optional(Type.Boolean({ default: false })),
      },
      closed,
    ),
  },
  closed,
)
const validateLong = inputValidator({
  method: 'POST',
  path: '',
  summary: '',
  access: 'public',
  answers: {},
  body: longBody,
})

test('validates a very long list in several turns of the event loop', async () => {
  const nodes = Array.from({ length: 20_000 }, () => ({ path: ['a', 'b'] }))
  // Each read of this entry takes the time of a turn.
  const slow = {
    get path() {
      for (const start = performance.now(); performance.now() - start < 6; );
      return ['a']
    },
  }
  nodes.splice(100, 1, slow as (typeof nodes)[number])
  const input = { body: { data: { nodes } } }
  let isNextTurn = false
  setImmediate(() => {
    isNextTurn = true
  })
  await validateLong(input)
  assert.ok(isNextTurn)
  assert.deepEqual(input.body.data, { nodes, dryRun: false })
})

test('returns the pointers of errors in a very long list, and of the list itself', async () => {
  const nodes = (count: number) => repeated<object>(count, { path: ['a'] })
  const pointersIn = async (data: object) => {
    try {
      await validateLong({ body: { data } })
    } catch (error) {
      if (error instanceof Problem) return (error.toDocument().errors ?? []).map(({ pointer }) => pointer)
      throw error
    }
    return []
  }
  const invalid = [{ path: ['a', 1] }, ...nodes(48), { other: 1 }]
  assert.deepEqual(await pointersIn({ nodes: [...nodes(19_000), ...invalid, ...nodes(100)] }), [
    '/data/nodes/19000/path/1',
    '/data/nodes/19049/path',
    '/data/nodes/19049/other',
  ])
  assert.deepEqual(await pointersIn({ nodes: [...nodes(999), { path: ['a', 'b', 'c'] }], dryRun: 1 }), ['/data/dryRun'])
  assert.deepEqual(await pointersIn({ nodes: [...nodes(999), { path: ['a', 'b', 'c'] }] }), ['/data/nodes/999/path'])
  assert.deepEqual(await pointersIn({ nodes: nodes(20_001), dryRun: 1 }), ['/data/nodes'])
})
