import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { queryTokens, searchBytes, searchLines, tokensIn } from './search-tokens.ts'

test('collects all text of an asset in lower case, name and identifiers first', () => {
  const lines = searchLines(
    {
      functional_object_type: 'Device',
      functional_object_schema_url: 'https://example.com/schema',
      description: 'Moves the belt',
      name: 'Drive 7',
      product_instance_information: { serial_number: 'S-1', manufacturer_product: { manufacturer: { name: 'WORKS' } } },
      instance_annotations: [{ key: 'Floor', value: 'Cellar' }],
      custom_properties: [{ key: '0198f0c2-7b1e-7c3a-9d55-0242ac120002', value: 'Blue' }],
      management_state: { state_value: 'unknown', state_timestamp: '2026-01-01T00:00:00.000Z' },
    },
    [{ asset_identifier_type: 'CustomIdentifier', name: 'Inventory', value: 'A-1' }],
  )
  assert.deepEqual(lines, [
    'drive 7',
    'inventory',
    'a-1',
    'blue',
    's-1',
    'works',
    'moves the belt',
    'floor',
    'cellar',
    'device',
  ])
})

test('truncates the search text to its column size without splitting a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), (piece) => {
      fc.pre(!piece.includes('\ufffd'))
      const entries = Array.from({ length: 600 }, (_, i) => ({ key: `${piece}${i}`, value: `${i}${piece}` }))
      const text = searchLines({ instance_annotations: entries }, []).join('\n')
      assert.ok(Buffer.byteLength(text) <= searchBytes)
      assert.ok(text.isWellFormed() && !text.includes('\0') && !text.endsWith('\ufffd'))
    }),
    { numRuns: 50 },
  )
})

test('builds a token from each word and the next two words of the same chunk', () => {
  assert.deepEqual(
    tokensIn(['drive-12.b.c', '(02:1b)  für 泵站']),
    ['02:1b', '12.b.c', '1b', 'b.c', 'c', 'drive-12.b', 'für', '泵站', '站'].sort(),
  )
  assert.deepEqual(queryTokens('  Drive-12, (FÜR) drive-12 * '), ['drive-12', 'für'])
  assert.deepEqual(queryTokens('02:1b:00:7f:33'), ['02:1b:00', '1b:00:7f', '00:7f:33'])
})

test('leaves out tokens that are the beginning of another token', () => {
  assert.deepEqual(tokensIn(['l04-c05', 'l04-c05-hmi01', 'c0']), ['c05-hmi01', 'hmi01', 'l04-c05-hmi01'])
  const lines = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '1', '-', ' ', 'é'), maxLength: 12 }))
  fc.assert(
    fc.property(lines, (some) => {
      const tokens = tokensIn(some)
      const each = some.flatMap((line) => tokensIn([line]))
      assert.deepEqual(tokens, [...new Set(tokens)].sort())
      for (const token of tokens)
        assert.deepEqual(
          tokens.filter((other) => other.startsWith(token)),
          [token],
        )
      for (const token of each)
        assert.ok(
          tokens.some((other) => other.startsWith(token)),
          token,
        )
    }),
  )
})

test('finds every substring that starts at a word, in current tokens and in tokens of earlier versions', () => {
  const letters = fc.constantFrom('a', 'B', '7', 'é', '泵', '-', ':', ' ', '\n', "'", '\\')
  const text = fc.string({ unit: letters, maxLength: 90 })
  fc.assert(
    fc.property(text, fc.nat(), fc.nat(), (complete, start, length) => {
      const tokens = tokensIn([complete.toLowerCase()])
      const chunks = complete.split(/\s+/).filter((chunk) => chunk !== '')
      const chunk = chunks[start % Math.max(1, chunks.length)] ?? ''
      const begins = [...chunk.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]|\p{Ideographic}/gu)].map(({ index }) => index)
      const from = begins[start % Math.max(1, begins.length)] ?? chunk.length
      const part = chunk.slice(from, from + 1 + (length % 40))
      const earlierTokens = begins.map((start) => chunk.toLowerCase().slice(start, start + 48))
      for (const token of queryTokens(part)) {
        for (const tokensToSearch of [tokens, earlierTokens])
          assert.ok(
            tokensToSearch.some((indexed) => indexed.startsWith(token)),
            `${part} in ${complete}`,
          )
      }
    }),
    { numRuns: 500 },
  )
})
