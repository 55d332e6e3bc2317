import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { searchBytes, searchText } from './search.ts'

test('all text of an asset is found, in lower case, its name and identifiers first', () => {
  const text = searchText(
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
  assert.deepEqual(text.split('\n'), [
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

test('there is never more than a column should hold, and never half a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), (piece) => {
      fc.pre(!piece.includes('\ufffd'))
      const entries = Array.from({ length: 600 }, (_, i) => ({ key: `${piece}${i}`, value: `${i}${piece}` }))
      const text = searchText({ instance_annotations: entries }, [])
      assert.ok(Buffer.byteLength(text) <= searchBytes)
      assert.ok(text.isWellFormed() && !text.includes('\0') && !text.endsWith('\ufffd'))
    }),
    { numRuns: 50 },
  )
})
