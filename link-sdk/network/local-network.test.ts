import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { isBroadcast, localAddressOf, type Segment, segmentOf, segments } from './local-network.ts'

const segment: Segment = { name: 'eth0', address: '10.0.0.5', first: 0x0a00_0000, last: 0x0a00_00ff }

test('segmentOf finds the network of an address', () => {
  assert.equal(segmentOf('10.0.0.200', [segment]), segment)
  assert.equal(segmentOf('10.0.1.0', [segment]), undefined)
  assert.equal(segmentOf('plc.example', [segment]), undefined)
  assert.equal(segmentOf('127.0.0.1'), undefined, 'the loopback network is not a segment')
})

test('segments contain the own addresses of this machine', () => {
  for (const one of segments()) {
    assert.equal(segmentOf(one.address, [one]), one)
    assert.notEqual(one.macAddress, '00:00:00:00:00:00')
  }
})

test('isBroadcast is true only for the last address of a network with more than two addresses', () => {
  assert.equal(isBroadcast('10.0.0.255', segment), true)
  assert.equal(isBroadcast('10.0.0.254', segment), false)
  assert.equal(isBroadcast('10.0.0.1', { ...segment, last: 0x0a00_0001 }), false)
})

test('localAddressOf returns the address of the interface, and names the interfaces if it does not exist', () => {
  assert.equal(localAddressOf({ interface: '' }), undefined)
  assert.equal(localAddressOf({}), undefined)
  const [name, addresses] =
    Object.entries(networkInterfaces()).find(([, all]) => all?.[0]?.address === '127.0.0.1') ?? []
  if (name !== undefined) assert.equal(localAddressOf({ interface: name }), addresses?.[0]?.address)
  assert.throws(() => localAddressOf({ interface: 'eth99' }), {
    code: 'INVALID_ARGUMENT',
    message: /"eth99".* It has /,
  })
})
