import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { broadcastOf, isEthernetGroup, isGroupAddress, localBroadcasts } from './group-address.ts'

test('an Ethernet group has an odd first octet, is in lower case, and is not the broadcast', () => {
  for (const address of ['01:0e:cf:00:00:00', '33:33:00:00:00:fb', '01:80:c2:00:00:0e'])
    assert.equal(isEthernetGroup(address), true, address)
  for (const address of [
    'ff:ff:ff:ff:ff:ff',
    '00:1b:1b:00:00:01',
    '01:0E:CF:00:00:00',
    '01:0e:cf:00:00:00:00',
    '10.0.0.1',
    '',
  ])
    assert.equal(isEthernetGroup(address), false, address)
})

test('groups are multicast addresses, Ethernet groups and the broadcast addresses of own networks', () => {
  const broadcasts = new Set(['10.0.0.255'])
  for (const address of ['224.0.0.0', '239.255.255.255', '10.0.0.255', '01:0e:cf:00:00:00'])
    assert.equal(isGroupAddress(address, broadcasts), true, address)
  for (const address of ['223.255.255.255', '240.0.0.0', '10.0.1.255', 'plc.example'])
    assert.equal(isGroupAddress(address, broadcasts), false, address)
})

test('a network of one or two addresses has no broadcast address', () => {
  const table = [
    ['10.0.3.7', '255.255.255.0', '10.0.3.255'],
    ['10.0.3.7', '255.255.252.0', '10.0.3.255'],
    ['192.0.2.9', '255.255.255.252', '192.0.2.11'],
    ['192.0.2.9', '255.255.255.254', undefined],
    ['192.0.2.9', '255.255.255.255', undefined],
  ] as const
  for (const [address, netmask, broadcast] of table) assert.equal(broadcastOf(address, netmask), broadcast, netmask)
})

test('the broadcast addresses of this machine contain those of all its networks', () => {
  for (const { family, address, netmask } of Object.values(networkInterfaces()).flatMap((all = []) => all)) {
    const broadcast = family === 'IPv4' ? broadcastOf(address, netmask) : undefined
    if (broadcast !== undefined) assert.ok(localBroadcasts().has(broadcast), broadcast)
  }
})
