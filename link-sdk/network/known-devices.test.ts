import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Target } from '../define-link.ts'
import { behindRouter, neighbours } from '../testing/loopback.ts'
import { macIdentifier } from './device-asset.ts'
import { KnownDevices, parentOf } from './known-devices.ts'

const target = (more: Partial<Target>): Target => ({ address: {}, identifiers: [], credentials: [], ...more })
const named = (mac: string) => target({ identifiers: [macIdentifier(mac) as Target['address']] })
const at = (ip: string, more: object = {}) => ({ ip_address: ip, ...more })
const asset = (...macs: string[]) => ({ asset_identifiers: macs.map(macIdentifier) })

describe('known devices', () => {
  test('are found by one of their identifiers, in any order of fields', () => {
    const known = new KnownDevices()
    const found = {
      asset_identifiers: [
        { type: 'Serial', serial: '1', article: undefined },
        { type: 'Mac', mac: 'A' },
      ],
    }
    known.add(found, at('10.0.0.7'))
    const addressOf = (...identifiers: Target['identifiers']) => known.addressOf(target({ identifiers }))
    assert.deepEqual(addressOf({ serial: '1', type: 'Serial' }), at('10.0.0.7'))
    assert.deepEqual(addressOf({ mac: 'B', type: 'Mac' }, { mac: 'A', type: 'Mac' }), at('10.0.0.7'))
    assert.equal(addressOf({ mac: 'B', type: 'Mac' }), undefined)
    for (let index = 0; index < 20_000; index += 1) known.add({ asset_identifiers: [{ index }] }, {})
    assert.equal(addressOf({ mac: 'A', type: 'Mac' }), undefined)
  })

  test('are found by their identifiers as the inventory writes them', () => {
    const known = new KnownDevices()
    const parent_identifier = macIdentifier('00:0E:CF:00:00:07')
    known.add({ asset_identifiers: [macIdentifier('00:0E:CF:00:00:07')] }, { interface: 'eth1' })
    known.add({ asset_identifiers: [{ parent_identifier, slot: 2 }] }, { interface: 'eth2' })
    const parent = { mac_address: '00:0e:cf:00:00:07', asset_identifier_type: 'MacIdentifier' }
    const addressOf = (identifier: Target['address']) => known.addressOf(target({ identifiers: [identifier] }))
    assert.deepEqual(addressOf({ identifier_uncertainty: 1002, ...parent }), { interface: 'eth1' })
    assert.deepEqual(addressOf({ slot: 2, parent_identifier: parent }), { interface: 'eth2' })
    assert.equal(addressOf({ slot: 3, parent_identifier: parent }), undefined)
  })

  test('keep their address when another device of the same scan reports their identifiers', () => {
    const known = new KnownDevices()
    const scan = {}
    known.add(asset('real'), at('10.0.0.1', { port: 1161 }), { scan })
    known.add(asset('other', 'real'), at('10.0.0.66'), { scan })
    // A call that reads single devices does not replace an address either.
    known.add(asset('real'), at('10.0.0.67'))
    assert.deepEqual(known.addressOf(named('real')), at('10.0.0.1', { port: 1161 }))
    assert.deepEqual(known.addressOf(named('other')), at('10.0.0.66'))
    known.add(asset('real'), at('10.0.0.2'), { scan: {} })
    assert.deepEqual(known.addressOf(named('real')), at('10.0.0.2'), 'the next scan replaces it')
  })

  test('are at the address for which the network confirms the MAC address', () => {
    const known = new KnownDevices()
    const scan = {}
    known.add(asset('real'), at('10.0.0.66'), { scan, macAddress: 'other' })
    known.add(asset('real'), at('10.0.0.1'), { scan, macAddress: 'real' })
    known.add(asset('real'), at('10.0.0.67'), { scan })
    assert.deepEqual(known.addressOf(named('real')), at('10.0.0.1'))
  })

  test('have the fields that were found at the address that the call names', () => {
    const known = new KnownDevices()
    const scan = {}
    known.add(asset('real'), at('10.0.0.1', { port: 1 }), { scan })
    known.add(asset('real'), at('10.0.0.2', { port: 2 }), { scan })
    const addressOf = (ip: string) => known.addressOf({ ...named('real'), address: at(ip) })
    assert.deepEqual(addressOf('10.0.0.2'), at('10.0.0.2', { port: 2 }))
    assert.deepEqual(addressOf('10.0.0.3'), at('10.0.0.3'))
  })

  test('need the address in a call with credentials', () => {
    const known = new KnownDevices()
    known.add(asset('real'), at('10.0.0.1'))
    const credentials: Target['credentials'] = [{ schemaUri: 'x', text: '{}', fields: {} }]
    assert.throws(() => known.addressOf({ ...named('real'), credentials }), { code: 'INVALID_ARGUMENT' })
    assert.deepEqual(known.addressOf({ ...named('real'), address: at('10.0.0.9'), credentials }), at('10.0.0.9'))
  })

  test('are not searched at a name, which a socket would look up, or at a port that does not exist', () => {
    const known = new KnownDevices()
    const addressOf = (address: Target['address']) => known.addressOf(target({ address }))
    assert.deepEqual(addressOf(at('10.0.0.1', { port: 65_535 })), at('10.0.0.1', { port: 65_535 }))
    for (const ip of ['plc.example.com', '10.0.0.01', ' 10.0.0.1', '10.1', '::1', '', 5])
      assert.throws(
        () => addressOf({ ip_address: ip }),
        { code: 'INVALID_ARGUMENT', message: /IPv4 address/ },
        String(ip),
      )
    for (const port of [0, -1, 65_536, 1.5, '102'])
      assert.throws(
        () => addressOf(at('10.0.0.1', { port })),
        { message: /whole number from 1 to 65535/ },
        String(port),
      )
  })
  test('are located by the last scan, and otherwise by the MAC address of their parent or by their own', async () => {
    const known = new KnownDevices()
    known.add(asset('02:00:0A:00:00:01'), at('10.0.0.9', { port: 1102 }))
    assert.deepEqual(await known.locate(named('02:00:0A:00:00:01'), neighbours), at('10.0.0.9', { port: 1102 }))
    assert.deepEqual(await known.locate(named('02:00:0A:00:00:02'), neighbours), at('10.0.0.2'))
    const module = target({
      identifiers: [{ parent_identifier: { mac_address: '02:00:0A:00:00:03' }, slot: 4 } as Target['address']],
    })
    assert.deepEqual(parentOf(module), { mac: '02:00:0A:00:00:03', slot: 4 })
    assert.deepEqual(await known.locate(module, neighbours, parentOf(module)?.mac), at('10.0.0.3'))
    await assert.rejects(known.locate(module, neighbours), { code: 'UNAVAILABLE', message: /Scan the range/ })
    await assert.rejects(known.locate(named('02:00:0A:00:00:02'), behindRouter), { code: 'UNAVAILABLE' })
  })
})
