import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from './canonical-json.ts'

/** Returns the same value with the keys of its objects in another order. `jsonb` also changes the order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, shuffled(member)] as const)
      .reverse(),
  )
}

test('prints equal values as the same canonical JSON, and different values as different JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      assert.equal(canonicalJson(a), canonicalJson(shuffled(a)))
      assert.equal(canonicalJson(a), canonicalJson(JSON.parse(canonicalJson(a))))
      assert.equal(canonicalJson(a) === canonicalJson(b), JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)))
    }),
  )
  assert.equal(canonicalJson({ b: [1, -0, 1e21], a: undefined, ä: 'x\n' }), '{"b":[1,0,1e+21],"ä":"x\\n"}')
})

function sorted(value: unknown): unknown {
  return JSON.parse(canonicalJson(value))
}
