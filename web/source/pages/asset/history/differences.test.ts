import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differencesOf, valueText } from './differences.ts'

test('returns added, removed and changed fields at any depth', () => {
  const before = { name: 'a', product: { id: '1', version: '2' }, points: [{ ip: 'x' }], gone: true }
  const after = { name: 'b', product: { id: '1', version: '3' }, points: [{ ip: 'x' }, { ip: 'y' }], come: 1 }
  assert.deepEqual(differencesOf(before, after), [
    { field: 'name', before: 'a', after: 'b' },
    { field: 'product/version', before: '2', after: '3' },
    { field: 'points/1/ip', before: undefined, after: 'y' },
    { field: 'gone', before: true, after: undefined },
    { field: 'come', before: undefined, after: 1 },
  ])
})

test('ignores modification timestamps, and treats null as missing', () => {
  const before = { state: { value: 'a', state_timestamp: 1 }, last_modified_timestamp: 1, empty: null }
  const after = { state: { value: 'a', state_timestamp: 2 }, last_modified_timestamp: 2 }
  assert.deepEqual(differencesOf(before, after), [])
})

test('returns every field of a created or deleted document', () => {
  assert.deepEqual(differencesOf(null, { name: 'a' }), [{ field: 'name', before: undefined, after: 'a' }])
  assert.deepEqual(differencesOf({ name: 'a' }, null), [{ field: 'name', before: 'a', after: undefined }])
})

test('compares custom properties by key, not by index', () => {
  const before = { custom_properties: [{ key: 'a', value: '1' }] }
  const after = {
    custom_properties: [
      { key: 'b', value: '2' },
      { key: 'a', value: '1' },
    ],
  }
  assert.deepEqual(differencesOf(before, after), [{ field: 'custom_properties/b', before: undefined, after: '2' }])
})

test('formats parts of an asset as their main texts', () => {
  const artifact = { name: 'Firmware', asset_identifiers: [{ name: 'Firmware', version: 'V2.1' }] }
  const parts = [
    { name: 'Siemens' },
    { connection_point_type: 'EthernetPort', id: 'port1', mac_address: '00:1B:1B:00:00:01', name: 'eth0' },
    { connection_point_type: 'Ipv4Connectivity', id: 'ip', ipv4_address: '10.0.0.1' },
    { software_component_type: 'SoftwareArtifactComponent', artifact },
    { key: 'open_tcp_ports', value: '502' },
  ]
  assert.deepEqual(parts.map(valueText), [
    'Siemens',
    '00:1B:1B:00:00:01 · eth0',
    '10.0.0.1',
    'Firmware V2.1',
    'open_tcp_ports: 502',
  ])
})

test('formats changed values as text', () => {
  assert.deepEqual(
    [valueText(undefined), valueText(null), valueText('<b>'), valueText({ a: 1 })],
    ['–', '–', '<b>', '{"a":1}'],
  )
})
