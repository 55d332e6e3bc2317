import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOfDevice, networkOfStart, rangesOfStart, singleAddress } from './credential-start.ts'

test('finds the IP address of a device in the formats of different links', () => {
  assert.equal(addressOfDevice({ ipAddress: '192.168.0.12' }), '192.168.0.12')
  assert.equal(addressOfDevice({ interface: 'eth0', url: 'opc.tcp://10.0.0.7:4840/path' }), '10.0.0.7')
  assert.equal(addressOfDevice({ host: '10.0.0.7:161', unit: 3 }), '10.0.0.7')
  assert.equal(addressOfDevice({ address: 'fd00::17' }), 'fd00::17')
  assert.equal(addressOfDevice({ address: '[fd00::17]:4840' }), 'fd00::17')
  assert.equal(addressOfDevice({ name: 'PLC 7', version: '1.2.3' }), undefined)
  assert.equal(addressOfDevice(undefined), undefined)
})

test('proposes the network of an IPv4 address', () => {
  assert.equal(networkOfStart({ address: '192.168.0.12' }), '192.168.0.0/24')
  assert.equal(networkOfStart({ address: 'fd00::17' }), undefined)
})

test('proposes the addresses of several devices, and their network if all are in the same', () => {
  const start = { address: '192.168.0.12', addresses: ['192.168.0.12', '192.168.0.40'] }
  assert.equal(rangesOfStart(start), '192.168.0.12\n192.168.0.40')
  assert.equal(networkOfStart(start), '192.168.0.0/24')
  assert.equal(networkOfStart({ ...start, addresses: ['192.168.0.12', '192.168.1.40'] }), undefined)
})

test('proposes a device for the test only if the ranges contain a single address', () => {
  assert.equal(singleAddress(['10.0.0.7']), '10.0.0.7')
  assert.equal(singleAddress(['10.0.0.0/24']), undefined)
  assert.equal(singleAddress(['10.0.0.1-10.0.0.9']), undefined)
  assert.equal(singleAddress(['10.0.0.7', '10.0.0.8']), undefined)
})
