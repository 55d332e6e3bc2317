import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameOf } from './asset.ts'

test('names an asset without a name by its IP address, its MAC address or its id', () => {
  const id = '01a1e88e-7d2b-779c-8434-5885d3acf86b'
  const ethernet = { mac_address: '00:1B:1B:00:00:01' }
  const connection_points = [ethernet, { ipv4_address: '10.0.0.1' }]
  assert.equal(nameOf({ id, name: 'PLC 1', connection_points }), 'PLC 1')
  assert.equal(nameOf({ id, connection_points }), '10.0.0.1')
  assert.equal(nameOf({ id, connection_points: [ethernet] }), '00:1B:1B:00:00:01')
  assert.equal(nameOf({ id }), id)
})
