import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assetColumnsOf,
  cellText,
  identifiersOfCells,
  normalMac,
  parentText,
  parseParent,
  propertyKeyOf,
  propertyTarget,
  readCell,
} from './asset-columns.ts'

const id = '0198f0c2-7b1e-7c3a-9d55-0242ac120002'
const key = '0198f0c2-7b1e-7c3a-9d55-0242ac120003'

test('reads the cells of an asset from its document, its identifiers and its placement', () => {
  const record = {
    document: {
      id,
      access_group: 'Hall 3',
      name: 'Drive 1',
      functional_object_type: 'Device',
      description: 'line 1\r\nline 2',
      product_instance_information: {
        serial_number: 'S-1',
        manufacturer_product: {
          manufacturer: { name: 'Acme' },
          product_id: '6ES7',
          product_name: 'Drive',
          product_version: '2',
        },
      },
      connection_points: [
        { connection_point_type: 'EthernetPort', mac_address: '00:1b:1b:00:00:02' },
        { connection_point_type: 'Ipv4Connectivity', ipv4_address: '10.0.0.1' },
      ],
      software_components: [
        {
          artifact: {
            is_firmware: true,
            asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'fw', version: 'V1.2' }],
          },
        },
      ],
      custom_properties: [{ key, value: 'red' }],
    },
    identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '00:1b:1b:00:00:01' }],
    hierarchyPaths: ['Plant/Hall 3', 'Cost/4711'],
    parent: { id, name: 'Rack' },
  }
  const cells = assetColumnsOf([{ key, name: 'Colour' }]).map(({ heading, target }) => [
    heading,
    readCell(record, target),
  ])
  assert.deepEqual(cells, [
    ['Name', 'Drive 1'],
    ['Type', 'Device'],
    ['Description', 'line 1\nline 2'],
    ['Manufacturer', 'Acme'],
    ['Product', 'Drive'],
    ['Order number', '6ES7'],
    ['Serial number', 'S-1'],
    ['Hardware version', '2'],
    ['Firmware version', 'V1.2'],
    ['MAC address', '00:1b:1b:00:00:01'],
    ['IP address', '10.0.0.1'],
    ['Access group', 'Hall 3'],
    ['Hierarchy path', 'Plant/Hall 3\nCost/4711'],
    ['Parent', `Rack [${id}]`],
    ['Colour', 'red'],
  ])
  assert.equal(readCell(record, 'id'), id)
})

test('reads empty cells from an empty asset', () => {
  for (const { target } of assetColumnsOf([{ key, name: 'Colour' }]))
    assert.equal(readCell({ document: {}, identifiers: [] }, target), '')
})

test('removes characters that a spreadsheet cannot store', () => {
  assert.equal(cellText(' a\u0000\u0007b\rc\u007f\t'), 'ab\nc')
  assert.equal(cellText(null), '')
  assert.equal(cellText(0), '0')
})

test('reads the parent as a name, or as a name with an id', () => {
  assert.deepEqual(parseParent(parentText({ id, name: 'Rack [left]' })), { text: 'Rack [left]', id })
  assert.deepEqual(parseParent(parentText({ id, name: null })), { text: '', id })
  assert.deepEqual(parseParent('Rack [left]'), { text: 'Rack [left]' })
})

test('derives identifiers from the MAC address, and from the serial number with its manufacturer', () => {
  assert.deepEqual(identifiersOfCells({ serial_number: 'S-1', mac_address: '001B.1B00.0001' }), [
    { asset_identifier_type: 'MacIdentifier', mac_address: '00:1b:1b:00:00:01' },
  ])
  assert.deepEqual(identifiersOfCells({ serial_number: 'S-1', manufacturer: 'Acme' }), [
    { asset_identifier_type: 'ProductInstanceIdentifier', vendor: 'Acme', article_number: '', serial_number: 'S-1' },
  ])
  assert.deepEqual(identifiersOfCells({ name: 'no identifier', manufacturer: 'Acme' }), [])
  assert.equal(normalMac('00-1B-1B-00-00-01'), '00:1b:1b:00:00:01')
  assert.equal(normalMac('unknown'), 'unknown')
})

test('names the column of a custom property after its key', () => {
  assert.equal(propertyKeyOf(propertyTarget(key)), key)
  assert.equal(propertyKeyOf('name'), undefined)
})
