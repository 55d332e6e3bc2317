import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressesOf, normaliseIpv4, normaliseIpv6 } from './address.ts'

test('returns each address of the connection points once', () => {
  const document = {
    connection_points: [
      { connection_point_type: 'EthernetPort', mac_address: '00-1B-1B-00-00-01' },
      { connection_point_type: 'Ipv4Connectivity', ipv4_address: '010.001.000.007', router_ipv4_address: '10.1.0.254' },
      { connection_point_type: 'Ipv4Connectivity', ipv4_address: '10.1.0.7' },
      { connection_point_type: 'Ipv6Connectivity', ipv6_address: '2001:0DB8:0:0:0:0:0:1' },
    ],
  }
  assert.deepEqual(addressesOf(document), [
    { kind: 'ipv4', address: '10.1.0.7' },
    { kind: 'ipv6', address: '2001:db8::1' },
    { kind: 'mac', address: '00:1b:1b:00:00:01' },
  ])
})

test('returns no addresses for missing or malformed connection points', () => {
  fc.assert(fc.property(fc.jsonValue(), (odd) => Array.isArray(addressesOf({ connection_points: odd }))))
  assert.deepEqual(addressesOf({}), [])
})

test('leaves a normalised address unchanged when it is normalised again', () => {
  fc.assert(
    fc.property(fc.ipV6(), fc.ipV4(), (ipv6, ipv4) => {
      assert.equal(normaliseIpv6(normaliseIpv6(ipv6)), normaliseIpv6(ipv6))
      assert.equal(normaliseIpv4(ipv4), ipv4)
    }),
  )
  assert.equal(normaliseIpv6('FE80:0:0:0:0:0:0:1%eth0'), 'fe80:0:0:0:0:0:0:1%eth0')
})
