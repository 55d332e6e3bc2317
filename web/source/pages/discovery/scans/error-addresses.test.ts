import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressesOf, addressesWithoutAsset, assetsByAddress } from './error-addresses.ts'

test('returns the asset of an address, and none for an address that two assets have', () => {
  const asset = (id: string, ...addresses: string[]) => ({
    id,
    name: id,
    connection_points: addresses.map((ipv4_address) => ({ ipv4_address })),
  })
  const assets = [asset('a', '10.0.0.1', '10.0.0.1'), asset('b', '10.0.0.2'), asset('c', '10.0.0.2')]
  assert.deepEqual(
    [...assetsByAddress(assets as never)].map(([address, { id }]) => [address, id]),
    [['10.0.0.1', 'a']],
  )
})

test('returns each IPv4 address of devices with errors once', () => {
  const error = (address: string) => ({ code: 14, description: '', device: { address } })
  const errors = [error('10.0.0.1'), error('10.0.0.1:102'), error('2001:db8::1'), error('PLC01')]
  assert.deepEqual(addressesOf(errors), ['10.0.0.1'])
})

test('returns the addresses that no asset has', () => {
  const asset = { id: 'a', name: 'a', connection_points: [{ ipv4_address: '10.0.0.1' }] }
  assert.deepEqual([...addressesWithoutAsset(['10.0.0.1', '10.0.0.2'], [asset as never])], ['10.0.0.2'])
})
