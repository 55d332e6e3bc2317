import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identifierFields, identifierLine } from './identifier-names.ts'

const mac = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:00:01', identifier_uncertainty: 7 }

test('formats an identifier and its nested identifier on one line', () => {
  assert.equal(identifierLine(mac, 'en'), 'MAC address 02:00:00:00:00:01')
  const module = { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: mac, slot: 4, subslot: null }
  assert.equal(identifierLine(module, 'de'), 'Position in einem anderen Asset MAC-Adresse 02:00:00:00:00:01 4')
  assert.deepEqual(identifierFields(module, 'en'), [
    { name: 'parent', value: 'MAC address 02:00:00:00:00:01' },
    { name: 'slot', value: '4' },
  ])
})

test('orders the fields of a product identifier: vendor, article number, serial number', () => {
  const product = {
    serial_number: '1',
    asset_identifier_type: 'ProductInstanceIdentifier',
    article_number: 'A',
    vendor: 'V',
  }
  assert.equal(identifierLine(product, 'en'), 'Product and serial number V A 1')
})

test('keeps the class name of an unknown identifier', () => {
  assert.equal(identifierLine({ asset_identifier_type: 'Barcode', some_code: 'x' }, 'en'), 'Barcode x')
  assert.equal(identifierLine(null, 'en'), '')
})
