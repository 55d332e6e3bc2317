import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import type { DiscoverCall } from '@millwright/link-sdk/define-link.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { assetsIn, errorsIn, neighbours } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import fc from 'fast-check'
import { ethernetIpLink } from './link.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'
import { type RunningSimulator, type SimulatedDevice, startSimulator } from './simulator.ts'
import { adapter, controller, defaults, readProperties, resultsOf, scanDevice } from './testing.ts'

const codesOf = ({ requests }: RunningSimulator) => requests.map(({ transport, code }) => `${transport} ${code}`)
const network = { address: '127.0.60.1', mask: '255.255.255.0', router: '127.0.60.254', domain: 'plant.example' }
const complete: SimulatedDevice = { identity: adapter, hostName: 'line-4-rack-1', mac: '00:1D:9C:01:02:03', network }
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('an EtherNet/IP device', () => {
  test('is reported with its product, serial number, revision, host name and addresses', async () => {
    const { results, errors } = await scanDevice(complete)
    assert.deepEqual(errors, [])
    const [result] = results
    assert.ok(result !== undefined && 'asset' in result && results.length === 1)
    const { asset } = result
    assert.equal(result.address?.ip_address, '127.0.60.1')
    assert.equal(asset.name, 'line-4-rack-1')
    assert.equal(asset.description, 'Communications adapter (EtherNet/IP, product code 166)')
    assert.deepEqual(asset.asset_identifiers, [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Rockwell Automation',
        article_number: '1756-EN2T',
        serial_number: '00C0FFEE',
      },
      { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:3C:01' },
      { asset_identifier_type: 'MacIdentifier', mac_address: '00:1D:9C:01:02:03' },
    ])
    assert.deepEqual(plain(asset.product_instance_information), {
      serial_number: '00C0FFEE',
      manufacturer_product: {
        manufacturer: { name: 'Rockwell Automation' },
        product_id: '1756-EN2T',
        product_version: 'D',
        product_name: '1756-EN2T/D',
      },
    })
    assert.match(JSON.stringify(asset.software_components), /"version":"11.002"/)
    assert.match(JSON.stringify(asset.connection_points), /"ipv4_address":"127.0.60.1","network_mask":"255.255.255.0"/)
  })

  test('that answers over UDP receives one datagram, and one connection only for its details', async () => {
    const codes = async (options: DiscoverCall['options']) => {
      const { simulator, assets } = await scanDevice(complete, { options })
      assert.equal(assets.length, 1)
      return codesOf(simulator)
    }
    assert.deepEqual(await codes({ details: false }), ['udp 0x0063'])
    assert.deepEqual(await codes({ tcp: false }), ['udp 0x0063'])
    const details = ['tcp 0x0065', 'tcp 0x006F/0x0E', 'tcp 0x006F/0x0E', 'tcp 0x006F/0x0E']
    assert.deepEqual(await codes({}), ['udp 0x0063', ...details])
    assert.deepEqual(await codes({ udp: false }), ['tcp 0x0063', ...details])
  })

  test('that does not answer over UDP is found over TCP after two datagrams', async () => {
    const device: SimulatedDevice = { ...complete, without: ['udp'] }
    const { assets, simulator } = await scanDevice(device, { options: { timeout_ms: 1_000, details: false } })
    assert.equal(assets[0]?.name, '1756-EN2T/D')
    assert.deepEqual(codesOf(simulator), ['udp 0x0063', 'udp 0x0063', 'tcp 0x0063'])
  })

  test('that accepts no TCP connection is reported with the answer over UDP', async () => {
    const { assets, errors } = await scanDevice({ ...complete, without: ['tcp'] })
    assert.equal(assets[0]?.name, '1756-EN2T/D')
    assert.deepEqual(errors, [])
    const slots = await scanDevice({ ...complete, without: ['tcp'] }, { options: { slots: '0-3' } })
    assert.equal(slots.assets.length, 1)
    assert.match(slots.errors[0]?.message ?? '', /accepts no connection at TCP port .* slots were not read/)
  })

  test('that refuses sessions, or has no objects for its network, is reported with its identity', async () => {
    for (const device of [{ identity: adapter, refusesSessions: true }, { identity: adapter }]) {
      const { assets, errors } = await scanDevice(device)
      assert.deepEqual([assets[0]?.name, errors], ['1756-EN2T/D', []])
    }
  })

  test('whose answer to ListIdentity is incomplete is read from its identity object', async () => {
    const listed = { serial: 0, name: '' }
    const { assets, simulator } = await scanDevice({ identity: adapter, listed }, { options: { details: false } })
    assert.match(JSON.stringify(assets), /"00C0FFEE"/)
    assert.deepEqual(codesOf(simulator), ['udp 0x0063', 'tcp 0x0065', 'tcp 0x006F/0x01'])
    const single = { identity: { ...adapter, refusesAll: true }, listed }
    const individually = await scanDevice(single, { options: { details: false } })
    assert.deepEqual(individually.assets, assets)
    assert.equal(codesOf(individually.simulator).filter((code) => code === 'tcp 0x006F/0x0E').length, 7)
  })

  test('is read completely when its answers arrive in pieces', async () => {
    const { assets } = await scanDevice({ ...complete, without: ['udp'], pieceBytes: 1 }, { options: { udp: false } })
    assert.equal(assets[0]?.name, 'line-4-rack-1')
  })

  test('behind a router is identified by the MAC address and the serial number that it reports', async () => {
    const { assets } = await scanDevice(complete, { isRouted: true })
    assert.deepEqual(plain(assets[0]?.asset_identifiers), [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Rockwell Automation',
        article_number: '1756-EN2T',
        serial_number: '00C0FFEE',
      },
      { asset_identifier_type: 'MacIdentifier', mac_address: '00:1D:9C:01:02:03' },
    ])
  })

  test('of a vendor that is not in the table has its vendor id in the description, and no manufacturer', async () => {
    const identity = { ...adapter, vendor: 60_000, type: 999, name: 'Gripper 5' }
    const { assets } = await scanDevice({ identity })
    assert.equal(assets[0]?.description, 'Device type 999 (EtherNet/IP, Vendor 60000, product code 166)')
    assert.deepEqual(assets[0]?.asset_identifiers, [
      { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:3C:01' },
    ])
    assert.doesNotMatch(JSON.stringify(assets[0]?.product_instance_information), /60000/)
    const { errors } = await scanDevice({ identity }, { isRouted: true })
    assert.equal(errors[0]?.code, 'FAILED_PRECONDITION')
    assert.match(errors[0]?.message ?? '', /Gripper 5, vendor id 60000.*no identifier.*Scan from a gateway/)
  })

  test('without a catalog number in its product name has no order number', async () => {
    const names = ['PowerFlex 525 1P 110V .50HP', '1756', '1756-', 'EN2T 1756-EN2T/D', '1756-en2t']
    for (const name of names) {
      const { assets } = await scanDevice({ identity: { ...adapter, name } }, { options: { details: false } })
      const { manufacturer_product: product } = plain(assets[0]?.product_instance_information)
      assert.deepEqual([product.product_id, product.product_name], [undefined, name])
    }
  })

  test('that gives no valid answer is an error that names the reason', async () => {
    const device: SimulatedDevice = { identity: adapter, without: ['udp'], closesAfter: 0 }
    const { errors } = await scanDevice(device, { options: { udp: false } })
    assert.deepEqual([errors.length, errors[0]?.code], [1, 'UNAVAILABLE'])
    assert.match(errors[0]?.message ?? '', /closes the connection without an answer/)
  })
})

describe('the modules of a backplane', () => {
  const slots = { '0': controller, '3': adapter, '5': { ...controller, type: 7, serial: 5, name: '1756-IB16/A' } }
  const slotsIn = (results: { address?: Record<string, unknown> }[]) => results.map(({ address }) => address?.slot)
  const relationsOf = (asset: Record<string, unknown> | undefined) => plain(asset?.asset_relations ?? [])

  test('are assets with the relation is_module_of to the device, without the device itself', async () => {
    const { results, assets, simulator } = await scanDevice({ ...complete, slots }, { options: { slots: '0-6' } })
    assert.deepEqual(slotsIn(results), [undefined, 0, 5])
    const [device, module] = assets
    assert.equal(module?.name, '1756-L73/B LOGIX5573')
    assert.deepEqual(module?.asset_identifiers, [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Rockwell Automation',
        article_number: '1756-L73',
        serial_number: '60A1B2C3',
      },
    ])
    assert.deepEqual(module?.location, [{ location_type: 'MountingLocation', slot_number: 0 }])
    assert.deepEqual(relationsOf(module), [
      {
        predicate: 'is_module_of',
        relational_role_of_related_asset: 'object',
        related_asset: { asset_identifiers: plain(device?.asset_identifiers) },
      },
    ])
    assert.equal(codesOf(simulator).filter((code) => code === 'tcp 0x006F/0x52/0x01').length, 7)
  })

  test('are not modules of each other when a backplane has several devices with an IP address', async () => {
    const other = { ...adapter, serial: 77 }
    const backplane = { '0': controller, '1': other, '3': adapter }
    const isModule = async (identity: typeof adapter) => {
      const { assets } = await scanDevice({ identity, slots: backplane }, { options: { slots: '0-3' } })
      return Object.fromEntries(
        assets.slice(1).map((asset) => {
          const { serial_number } = plain(asset.product_instance_information)
          return [serial_number, relationsOf(asset).length]
        }),
      )
    }
    assert.deepEqual(await isModule(adapter), { '60A1B2C3': 1, '0000004D': 0 })
    assert.deepEqual(await isModule(other), { '60A1B2C3': 1, '00C0FFEE': 1 })
    assert.deepEqual(await isModule(controller), { '0000004D': 0, '00C0FFEE': 0 })
  })

  test('without a serial number are identified by the device and the slot', async () => {
    const unnumbered = { ...controller, serial: 0, refusesAll: true }
    const device = { identity: adapter, slots: { '2': unnumbered } }
    const { assets } = await scanDevice(device, { options: { slots: '2' } })
    const parent = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:3C:01' }
    assert.deepEqual(assets[1]?.asset_identifiers, [
      { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: parent, slot: 2, subslot: 0 },
    ])
    const { errors } = await scanDevice(device, { options: { slots: '2' }, isRouted: true })
    assert.match(errors[0]?.message ?? '', /^Slot 2 of 127.0.60.1 port .* has no identifier/)
    // The device reports a MAC address, which can be that of another device.
    const reporting = await scanDevice(
      { ...complete, slots: device.slots },
      { options: { slots: '2' }, isRouted: true },
    )
    assert.match(reporting.errors[0]?.message ?? '', /^Slot 2 of 127.0.60.1 port .* has no identifier/)
  })

  test('are not reported for a device that ignores slots or has no backplane', async () => {
    for (const [emptySlots, requests] of [
      ['ignore', 2],
      ['no backplane', 1],
    ] as const) {
      const { results, simulator } = await scanDevice({ identity: adapter, emptySlots }, { options: { slots: '0-16' } })
      assert.deepEqual(slotsIn(results), [undefined])
      assert.equal(codesOf(simulator).filter((code) => code.includes('0x52')).length, requests)
    }
  })

  test('after a slot that gives no answer are read', async () => {
    const device: SimulatedDevice = { identity: adapter, slots: { '1': 'silent', '2': controller } }
    const { results } = await scanDevice(device, { options: { slots: '0-2', timeout_ms: 1_000 } })
    assert.deepEqual(slotsIn(results), [undefined, 2])
  })

  test('are read over a further connection when the device closes the first one', async () => {
    const device = { ...complete, slots, closesAfter: 6 }
    const { results, errors, simulator } = await scanDevice(device, { options: { slots: '0-6' } })
    assert.deepEqual([slotsIn(results), errors], [[undefined, 0, 5], []])
    assert.equal(simulator.connections.total, 2)
  })

  test('that were read before the device closed too many connections are reported, with an error', async () => {
    const device = { ...complete, slots, closesAfter: 2 }
    const { results, errors, simulator } = await scanDevice(device, { options: { slots: '0-6' } })
    assert.deepEqual(slotsIn(results), [undefined, 0, undefined])
    assert.match(errors[0]?.message ?? '', /closes the connection/)
    assert.equal(simulator.connections.total, 4)
  })
})

describe('an EtherNet/IP scan', () => {
  test('finds devices among silent addresses, reports progress, and leaves out excluded addresses', async () => {
    await using first = await startSimulator({ identity: adapter }, { host: '127.0.61.3' })
    await using _second = await startSimulator({ identity: controller }, { host: '127.0.61.9', port: first.port })
    const progress: number[] = []
    const permits = unlimitedPermits()
    const excluding: DiscoverCall['permits'] = {
      take: async (request) => {
        if (request.address === '127.0.61.9') throw new PermitRefusedError('excluded', 'excluded')
        return permits.take(request)
      },
    }
    const options = { ports: String(first.port) }
    const range = '127.0.61.0/28'
    const all = await resultsOf({ range, options, progress: (percent) => progress.push(percent) })
    assert.deepEqual(all.map(({ address }) => address?.ip_address).toSorted(), ['127.0.61.3', '127.0.61.9'])
    assert.deepEqual([progress.length, progress.at(-1)], [16, 100])
    const allowed = await resultsOf({ range, options, permits: excluding })
    assert.deepEqual(
      allowed.map(({ address }) => address?.ip_address),
      ['127.0.61.3'],
    )
    const targets = [{ address: { ip_address: '127.0.61.9' }, identifiers: [], credentials: [] }]
    const named = await resultsOf({ range, options, targets })
    assert.deepEqual(
      named.map(({ address }) => address?.ip_address),
      ['127.0.61.9'],
    )
  })

  test('takes one permit for each datagram, connection and request, and sends only the functions of its manifest', async () => {
    const permits = unlimitedPermits()
    const slots = { '0': controller, '1': { ...controller, serial: 9, refusesAll: true }, '2': 'silent' } as const
    const device: SimulatedDevice = { ...complete, listed: { serial: 0 }, without: ['udp'], slots }
    const { simulator } = await scanDevice(device, { permits, options: { slots: '0-4', timeout_ms: 1_000 } })
    const count = (kind: string) => permits.taken.filter((permit) => permit.kind === kind).length
    const sent = (transport: string) => simulator.requests.filter((request) => request.transport === transport).length
    assert.equal(count('datagram_request'), sent('udp'))
    assert.equal(count('request'), sent('tcp'))
    assert.equal(count('connection'), simulator.connections.total)
    const listed = (manifest.sends ?? []).map(({ transport, code }) => `${transport} ${code}`)
    assert.deepEqual(new Set(codesOf(simulator)), new Set(listed.filter((one) => !one.endsWith('undefined'))))
    const operations = permits.taken.map(({ operation }) => operation)
    assert.deepEqual(new Set(operations), new Set((manifest.sends ?? []).map(({ operation }) => operation)))
  })

  test('ends immediately when it is canceled while a device is silent, and closes its connections', async () => {
    for (const device of [
      { identity: adapter, without: ['udp' as const] },
      { ...complete, answeredMessages: 0 },
    ]) {
      await using simulator = await startSimulator(device, { host: '127.0.60.1' })
      const canceling = new AbortController()
      const options = { ports: String(simulator.port), timeout_ms: 30_000 }
      const scanning = resultsOf({ options, signal: canceling.signal })
      const isSilent = () => {
        const last = simulator.requests.at(-1)
        return 'answeredMessages' in device ? last?.code === '0x006F/0x0E' : last !== undefined
      }
      while (!isSilent()) await new Promise((resolve) => setImmediate(resolve))
      const startedAt = performance.now()
      canceling.abort()
      await assert.rejects(scanning, { name: 'AbortError' })
      while (simulator.connections.open > 0) await new Promise((resolve) => setImmediate(resolve))
      assert.ok(performance.now() - startedAt < 15_000, 'it does not wait for the time limit')
    }
  })

  test('reports what it has read when the time for a device has passed', async () => {
    const device: SimulatedDevice = { ...complete, answeredMessages: 3 }
    const options = { slots: '0-9', device_seconds: 2, timeout_ms: 30_000 }
    const { assets, errors } = await scanDevice(device, { options })
    assert.deepEqual(
      assets.map(({ name }) => name),
      ['line-4-rack-1'],
    )
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['OUT_OF_RANGE'],
    )
    assert.match(errors[0]?.message ?? '', /could not be read within 2 seconds. Set the option device_seconds/)
  })

  test('ends with the reason when the budget does not allow EtherNet/IP', async () => {
    const refusing = { take: () => Promise.reject(new PermitRefusedError('protocol', 'EtherNet/IP is not allowed.')) }
    await assert.rejects(resultsOf({ permits: refusing }), { message: 'EtherNet/IP is not allowed.' })
  })

  test('reads any text with slots as numbers within their limits, or rejects it', () => {
    const part = fc.oneof(fc.constantFrom('1', '63', '64', '-', ',', ' ', '300'), fc.string())
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        try {
          const { slots } = scanOptionsOf({ ...defaults, slots: parts.join('') })
          assert.ok(slots.length <= 64 && slots.every((slot) => Number.isInteger(slot) && slot >= 0 && slot <= 63))
        } catch (error) {
          assert.equal((error as { code: string }).code, 'INVALID_ARGUMENT')
        }
      }),
    )
  })

  test('rejects invalid options', async () => {
    const invalid = [
      { udp: false, tcp: false },
      { slots: '64' },
      { slots: 'all' },
      { slots: '5-2' },
      { slots: '0-3', tcp: false },
      { timeout_ms: 0 },
      { device_seconds: 0 },
      { parallel: 257 },
      { ports: '0' },
      { ports: '' },
      { interface: 'no-such-interface' },
    ]
    for (const options of invalid) await assert.rejects(resultsOf({ options }), { code: 'INVALID_ARGUMENT' })
  })
})

describe('the properties of a device', () => {
  test('contain its identity, status and network settings', async () => {
    const identity = { ...adapter, status: 0x0465, state: 3 }
    await using simulator = await startSimulator({ ...complete, identity }, { host: '127.0.60.1' })
    const values = await readProperties({ address: { ip_address: '127.0.60.1', port: simulator.port } })
    assert.equal(values.name, 'line-4-rack-1')
    assert.deepEqual(values.ethernet_ip, {
      vendor_id: 1,
      device_type: 12,
      device_type_name: 'Communications adapter',
      product_code: 166,
      product_name: '1756-EN2T/D',
      revision: '11.002',
      serial_number: '00C0FFEE',
      status: '0x0465',
      is_owned: true,
      is_configured: true,
      faults: ['Major recoverable fault'],
      state: 'Operational',
      encapsulation_version: 1,
      reported_address: '127.0.60.1',
      host_name: 'line-4-rack-1',
      domain_name: 'plant.example',
      mac_address: '00:1D:9C:01:02:03',
      ip_address: '127.0.60.1',
      network_mask: '255.255.255.0',
      router: '127.0.60.254',
    })
  })

  test('are read by the identifiers of a device and of a module after a scan', async () => {
    const device = { ...complete, slots: { '0': controller, '1': { ...controller, serial: 0 } } }
    await using simulator = await startSimulator(device, { host: '127.0.60.1' })
    const results = await resultsOf({ options: { ports: String(simulator.port), slots: '0-1' } })
    assert.deepEqual(errorsIn(results), [])
    const read = async (index: number) => {
      const identifiers = plain(assetsIn(results)[index]?.asset_identifiers)
      const { ethernet_ip } = await readProperties({ identifiers })
      return plain(ethernet_ip)
    }
    assert.equal((await read(0)).product_code, 166)
    const module = await read(1)
    assert.deepEqual([module.slot, module.product_code, module.revision], [0, 93, '33.011'])
    assert.equal((await read(2)).slot, 1)
  })

  test('are not read from a slot, port or address that does not exist', async () => {
    const address = { ip_address: '127.0.40.1', port: 44_818 }
    for (const part of [
      { slot: 259 },
      { slot: -1 },
      { slot: 1.5 },
      { port: 70_000 },
      { ip_address: 'plc.example.com' },
    ])
      await assert.rejects(
        readProperties({ address: { ...address, ...part } }),
        { code: 'INVALID_ARGUMENT' },
        JSON.stringify(part),
      )
  })

  test('are UNAVAILABLE for a device or module that does not answer or is not known', async () => {
    await assert.rejects(readProperties({ address: { ip_address: '127.0.60.77', port: 1 } }), { code: 'UNAVAILABLE' })
    await assert.rejects(readProperties({}, { isRouted: true }), { code: 'UNAVAILABLE' })
    await using simulator = await startSimulator(complete, { host: '127.0.60.1' })
    const address = { ip_address: '127.0.60.1', port: simulator.port, slot: 4 }
    await assert.rejects(readProperties({ address }), { code: 'UNAVAILABLE', message: /slot 4 of 127.0.60.1/ })
  })
})

test('the EtherNet/IP link conforms to the protocol', async () => {
  await using simulator = await startSimulator(complete, { host: '127.0.60.1' })
  await using running = await startLink(ethernetIpLink(neighbours), { logLevel: 'silent' })
  const request = {
    filters: [{ key: 'ip_range', value: variantOf('127.0.60.0/30') }],
    options: [
      { key: 'ports', value: variantOf(String(simulator.port)) },
      { key: 'timeout_ms', value: variantOf(10_000) },
    ],
  }
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, request, withinMs: 120_000 }))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.ok(results.filter(({ outcome }) => outcome === 'pass').length > 10)
})
