import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSchema } from './check.ts'
import { compileSchema } from './compile.ts'
import { expandedSize } from './expansion.ts'

/** Names that can be encoded in several ways in a reference. Incorrect decoding would find a different definition. */
const names = ['a%41', 'aA', 'a~b', 'a~0b', 'a~1b', 'a/b', 'a', 'not', 'a%2Fnot', 'a/not', '100%', 'a#b', 'a b', 'é"^']

const forms: Record<string, (name: string) => string> = {
  'JSON pointer': (name) => name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('%', '%25'),
  'percent-encoded JSON pointer': (name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')),
  'percent-encoded name': (name) => encodeURIComponent(name.replaceAll('~', '~0')),
}

for (const [form, write] of Object.entries(forms)) {
  test(`counts the subschemas of the referenced definition for a reference written as a ${form}`, () => {
    // Each definition allows one value and has its own number of subschemas.
    const definitions = names.map((name, index) => [
      name,
      { const: name, allOf: Array(index + 1).fill({}), not: { const: 0 } },
    ])
    const $defs = Object.fromEntries(definitions)
    const referenceTo = (name: string) => ({ $ref: `#/$defs/${write(name)}` })
    const check = compileSchema({
      $defs,
      properties: Object.fromEntries(names.map((name) => [name, referenceTo(name)])),
    })
    for (const [index, name] of names.entries()) {
      const accepted = names.filter((value) => check({ [name]: value }).length === 0)
      assert.deepEqual(accepted, [name])
      const schema = checkSchema({ $defs, ...referenceTo(name) })
      assert.equal(expandedSize(schema, { depth: 17, limit: 1_000 }), 4 + index, name)
    }
  })
}

test('counts the subschemas of nested references with encoded names', () => {
  const levels = 20
  const next = (level: number) => ({ $ref: `#/$defs/d${level}%41` })
  const definitions = Array.from({ length: levels }, (_, level) => [
    [`d${level}%41`, {}],
    [`d${level}A`, { allOf: [next(level + 1), next(level + 1)] }],
  ]).flat()
  const schema = { ...next(0), $defs: { ...Object.fromEntries(definitions), [`d${levels}A`]: {} } }
  const limit = 250_000
  assert.equal(expandedSize(checkSchema(schema), { depth: 17, limit }), limit + 1)
  assert.equal(expandedSize(schema, { depth: 17, limit }), limit + 1)
})
