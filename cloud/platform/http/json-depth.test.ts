import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isNestedDeeper } from './json-depth.ts'

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

test('finds the exact depth of any JSON text', () => {
  const strings = fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', '}', 'a', 'ü') })
  const values = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'medium' }, strings, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(strings, tie('value'), { maxKeys: 3 }),
  })).value
  fc.assert(
    fc.property(values, fc.constantFrom(0, 2), (value, indentation) => {
      const json = Buffer.from(JSON.stringify(value, undefined, indentation))
      const depth = depthOf(value)
      assert.equal(isNestedDeeper(json, depth), false)
      assert.equal(isNestedDeeper(json, depth - 1), depth > 0)
    }),
  )
})

test('reads text with an unterminated string to its end', () => {
  for (const text of ['"', '["a\\', '["[[[']) assert.equal(isNestedDeeper(Buffer.from(text), 1), false, text)
})
