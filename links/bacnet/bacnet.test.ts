import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import type { DiscoverCall } from '@millwright/link-sdk/define-link.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { assetsIn, errorsIn, neighbours } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import fc from 'fast-check'
import { manufacturerName } from '../manufacturer-name.ts'
import { bacnetLink } from './link.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'
import { type SimulatedDevice, startSimulator } from './simulator.ts'
import { controller, defaults, impatient, read, resultsOf, scanDevice } from './testing.ts'
import { vendorOf } from './vendors.ts'

const without = (...numbers: number[]): SimulatedDevice => ({
  ...controller,
  properties: Object.fromEntries(
    Object.entries(controller.properties ?? {}).filter(([number]) => !numbers.includes(Number(number))),
  ),
})

describe('a BACnet device', () => {
  test('is reported with its nameplate, serial number, MAC address, IP address, firmware and location', async () => {
    const { results, simulator } = await scanDevice(controller)
    assert.equal(results.length, 1)
    const [result] = results
    assert.ok(result !== undefined && 'asset' in result)
    assert.deepEqual(result.address, { ip_address: '127.0.60.1', port: simulator.port, device_instance: 1_234 })
    const { asset } = result
    assert.equal(asset.name, 'AHU 3')
    assert.equal(asset.description, 'Air handling unit')
    assert.deepEqual(asset.asset_identifiers, [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Siemens',
        article_number: 'PXC4.E16',
        serial_number: 'SN-0815',
      },
      { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:3C:01' },
    ])
    assert.deepEqual(JSON.parse(JSON.stringify(asset.product_instance_information)), {
      serial_number: 'SN-0815',
      manufacturer_product: {
        manufacturer: { name: 'Siemens' },
        product_id: 'PXC4.E16',
        product_name: 'PXC4.E16',
      },
    })
    const software = JSON.stringify(asset.software_components)
    assert.match(software, /"is_firmware":true.*"version":"FW=02.20.151".*"is_firmware":false.*"version":"AS 1.4"/)
    assert.match(JSON.stringify(asset.connection_points), /"ipv4_address":"127.0.60.1"/)
    assert.match(JSON.stringify(asset.location), /"Roof"/)
    assert.equal(simulator.requests.length, 2, 'Who-Is and one request for all properties')
  })

  test('without ReadPropertyMultiple, or with small answers, is read with one request per property', async () => {
    for (const device of [{ multiple: false }, { answerBytes: 50 }]) {
      const { assets, errors, simulator } = await scanDevice({ ...controller, ...device })
      assert.deepEqual(errors, [])
      assert.equal(assets[0]?.name, 'AHU 3')
      assert.match(JSON.stringify(assets[0]?.asset_identifiers), /SN-0815/)
      assert.equal(simulator.requests.length, 14)
    }
  })

  test('whose single property does not fit into one message is reported without this property', async () => {
    const properties = { ...controller.properties, '28': 'x'.repeat(100) }
    const { assets, errors } = await scanDevice({ ...controller, properties, answerBytes: 60 })
    assert.deepEqual(errors, [])
    assert.equal(assets[0]?.name, 'AHU 3')
    assert.equal(assets[0]?.description, undefined)
  })

  test('that answers to Who-Is only with a broadcast, or not at all, is found by its identifier', async () => {
    for (const iAm of ['broadcast', 'silent'] as const) {
      const { results } = await scanDevice({ ...controller, iAm }, { options: { timeout_ms: 500 } })
      assert.deepEqual(
        results.map(({ address }) => address?.device_instance),
        [1_234],
      )
    }
  })

  test('that does not report its instance is an error that names the option broadcast', async () => {
    const device: SimulatedDevice = { ...controller, iAm: 'silent', anyInstance: false }
    const { assets, errors } = await scanDevice(device, { options: { timeout_ms: 500 } })
    assert.deepEqual(assets, [])
    assert.match(errors[0]?.message ?? '', /error 31 \(unknown object\).*instance number.*option broadcast/)
    assert.equal(errors[0]?.code, 'FAILED_PRECONDITION')
  })

  test('outside of the range of instances is not reported', async () => {
    const options = { timeout_ms: 500, low_instance: 1_000, high_instance: 1_233 }
    const { results, simulator } = await scanDevice(controller, { options })
    assert.deepEqual(results, [])
    assert.equal(simulator.requests[0], '810a000e010010080a03e81a04d1')
    assert.equal((await scanDevice(controller, { options: { ...options, high_instance: 1_234 } })).assets.length, 1)
  })

  test('without a serial number is identified by its MAC address, and is an error if it is not known', async () => {
    const { assets } = await scanDevice(without(372))
    assert.deepEqual(assets[0]?.asset_identifiers, [
      { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:3C:01' },
    ])
    const routed = await scanDevice(without(372), { isRouted: true })
    assert.deepEqual(
      routed.errors.map(({ code }) => code),
      ['FAILED_PRECONDITION'],
    )
    assert.match(
      routed.errors[0]?.message ?? '',
      /device 1234 \(Siemens Building Technologies PXC4.E16\).*no identifier/,
    )
    const identified = await scanDevice(controller, { isRouted: true })
    assert.match(JSON.stringify(identified.assets[0]?.asset_identifiers), /SN-0815/)
  })

  test('of an unknown vendor has the name that it reports, or the number of its vendor in the description', async () => {
    const named = await scanDevice({ ...controller, vendorId: 64_000, properties: { '121': 'WAGO GmbH & Co. KG' } })
    assert.match(JSON.stringify(named.assets[0]?.product_instance_information), /"manufacturer":\{"name":"WAGO"\}/)
    const unnamed = await scanDevice({ ...controller, vendorId: 64_000, properties: { '28': 'Pump' } })
    assert.equal(unnamed.assets[0]?.name, 'BACnet device 1234')
    assert.equal(unnamed.assets[0]?.description, 'Pump, Vendor 64000')
    assert.doesNotMatch(JSON.stringify(unnamed.assets[0]?.product_instance_information), /64000/)
  })

  test('has texts in UTF-8, ISO 8859-1, UCS-2 and UCS-4, and unreadable values are left out', async () => {
    const properties = {
      '77': 'Lüftung',
      '28': `hex:7505054bfc6368`,
      '58': 'hex:750504004b00fc',
      '44': `hex:750903${'0000004b000000fc'}`,
      '12': 'hex:7504014b4b4b',
      '70': 'hex:91ff',
      '121': 'hex:750500ff4b004b',
    }
    await using simulator = await startSimulator({ instance: 5, properties }, { host: '127.0.60.1' })
    const { bacnet } = await read({ address: { ip_address: '127.0.60.1', port: simulator.port } })
    assert.deepEqual(bacnet, {
      device_instance: 5,
      object_name: 'Lüftung',
      description: 'Küch',
      location: 'Kü',
      firmware_revision: 'Kü',
      vendor_name: 'ÿK K',
      vendor_id: 0,
    })
  })
})

describe('a BACnet router', () => {
  const router: SimulatedDevice = {
    ...controller,
    behind: {
      '2001:0c': { instance: 20, vendorId: 5, properties: { '77': 'Room 1', '70': 'FEC', '121': 'JCI', '372': 'R-1' } },
      '2001:0d': { instance: 21, vendorId: 5, properties: { '77': 'Room 2', '70': 'FEC' } },
      '2002:0a0b0c': { instance: 30, properties: { '77': 'Room 3' }, multiple: false },
    },
  }

  test('is reported with the devices behind it, which are connected to it', async () => {
    const { results, errors, assets } = await scanDevice(router, { options: { routers: true, collect_ms: 400 } })
    assert.deepEqual(errors, [])
    assert.deepEqual(
      assets.map(({ name }) => name),
      ['AHU 3', 'Room 1', 'Room 2', 'Room 3'],
    )
    const { network, mac, device_instance } = results[3]?.address ?? {}
    assert.deepEqual({ network, mac, device_instance }, { network: 2_002, mac: '0a0b0c', device_instance: 30 })
    const parent = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:3C:01' }
    assert.deepEqual(assets[1]?.asset_identifiers, [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Johnson Controls',
        article_number: 'FEC',
        serial_number: 'R-1',
      },
    ])
    assert.deepEqual(assets[2]?.asset_identifiers, [
      { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: parent, slot: 2_001, subslot: 21 },
    ])
    assert.deepEqual(assets[2]?.asset_relations, [
      {
        predicate: 'is_connected_to',
        relational_role_of_related_asset: 'object',
        related_asset: { asset_identifiers: [parent] },
        is_bidirectional: true,
      },
    ])
  })

  test('receives no request for other networks without the option routers', async () => {
    const { results, simulator } = await scanDevice(router)
    assert.equal(results.length, 1)
    assert.equal(simulator.requests.length, 2)
  })

  test('is reported alone, with the reason, when the budget does not allow requests to other networks', async () => {
    const permits: DiscoverCall['permits'] = {
      take: async ({ forwarded }) => {
        if (forwarded) throw new PermitRefusedError('excluded', 'Other networks are not allowed.')
        return { [Symbol.dispose]: () => undefined }
      },
    }
    const { assets, errors } = await scanDevice(router, { permits, options: { routers: true } })
    assert.deepEqual(
      assets.map(({ name }) => name),
      ['AHU 3'],
    )
    assert.match(errors[0]?.message ?? '', /Other networks are not allowed/)
  })

  test('receives no request for an excluded IP address behind it, also if it reports the address', async () => {
    const taken: string[] = []
    const permits: DiscoverCall['permits'] = {
      take: async ({ address }) => {
        taken.push(address)
        if (address === '10.0.9.7') throw new PermitRefusedError('excluded', '10.0.9.7 is excluded.')
        if (address === '127.0.0.1') throw new PermitRefusedError('protocol', '127.0.0.1 is not allowed.')
        return { [Symbol.dispose]: () => undefined }
      },
    }
    const object = { properties: { '77': 'Behind' } }
    const behind = {
      '5:0a000907bac0': { ...object, instance: 1 },
      '5:7f000001bac0': { ...object, instance: 2 },
      '5:0a000908bac0': { ...object, instance: 3 },
      '5:00005e005301': { ...object, instance: 4 },
    }
    const { assets, errors, simulator } = await scanDevice(
      { ...controller, behind },
      { permits, options: { routers: true, collect_ms: 400 } },
    )
    assert.deepEqual(
      assets.map(({ name }) => name),
      ['AHU 3', 'Behind', 'Behind'],
    )
    assert.deepEqual(errors.map(({ message }) => message).toSorted(), [
      '10.0.9.7 is excluded.',
      '127.0.0.1 is not allowed.',
    ])
    const hasReached = (station: string) => simulator.requests.some((one) => one.includes(station))
    assert.deepEqual(['0a000907', '7f000001', '0a000908', '00005e00'].map(hasReached), [false, false, true, true])
    assert.ok(taken.includes('10.0.9.8') && !taken.includes('0.0.94.0'))
  })

  test('with an unknown MAC address has only devices with a serial number reported', async () => {
    const { assets, errors } = await scanDevice(router, { isRouted: true, options: { routers: true, collect_ms: 400 } })
    assert.deepEqual(
      assets.map(({ name }) => name),
      ['AHU 3', 'Room 1'],
    )
    assert.match(errors[0]?.message ?? '', /Network 2001 behind 127.0.60.1 has the BACnet device 21 \(FEC\)/)
    assert.equal(errors.length, 2)
  })

  test('has the devices behind it read until the time for the address has passed', async () => {
    const isRoomTwo = (answer: Buffer) => answer.toString('hex', 6, 11) === '07d1010d30'
    const { assets, errors } = await scanDevice(router, {
      change: (answer) => (isRoomTwo(answer) ? [] : [answer]),
      options: { routers: true, collect_ms: 400, device_seconds: 2 },
    })
    assert.deepEqual(
      assets.map(({ name }) => name),
      ['AHU 3', 'Room 1'],
    )
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['OUT_OF_RANGE'],
    )
    assert.match(errors[0]?.message ?? '', /could not be read within 2 seconds. Set the option device_seconds/)
  })
})

describe('a BACnet scan', () => {
  test('finds devices among silent addresses, reports progress, and leaves out excluded addresses', async () => {
    await using first = await startSimulator(controller, { host: '127.0.61.3' })
    await using _second = await startSimulator({ ...controller, instance: 9 }, { host: '127.0.61.9', port: first.port })
    const progress: number[] = []
    const unlimited = unlimitedPermits()
    const permits: DiscoverCall['permits'] = {
      take: async (request) => {
        if (request.address === '127.0.61.9') throw new PermitRefusedError('excluded', 'excluded')
        return unlimited.take(request)
      },
    }
    const options = { ports: String(first.port) }
    const addresses = async (parameters: Parameters<typeof resultsOf>[0]) =>
      (await resultsOf({ range: '127.0.61.0/28', options, ...parameters }))
        .map(({ address }) => address?.ip_address)
        .toSorted()
    const both = ['127.0.61.3', '127.0.61.9']
    assert.deepEqual(await addresses({ progress: (percent) => progress.push(percent) }), both)
    assert.deepEqual([progress.length, progress.at(-1)], [16, 100])
    assert.deepEqual(await addresses({ permits }), ['127.0.61.3'])
    assert.deepEqual(await addresses({ exclude: '127.0.61.3' }), ['127.0.61.9'])
    const targets = [{ address: { ip_address: '127.0.61.9' }, identifiers: [], credentials: [] }]
    assert.deepEqual(await addresses({ targets }), ['127.0.61.9'])
  })

  test('takes one permit for each datagram, also for repeated ones, and sends only the functions of its manifest', async () => {
    const permits = unlimitedPermits()
    const { simulator, errors } = await scanDevice(controller, {
      permits,
      options: impatient,
      change: (answer) => (answer[6] === 0x30 ? [] : [answer]),
    })
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['UNAVAILABLE'],
    )
    assert.equal(permits.taken.length, simulator.requests.length)
    assert.deepEqual(
      permits.taken.map(({ operation, kind, protocol }) => [protocol, operation, kind]),
      ['WhoIs', 'ReadPropertyMultiple', 'ReadPropertyMultiple', 'ReadProperty', 'ReadProperty'].map((operation) => [
        'bacnet',
        operation,
        'datagram_request',
      ]),
    )
    const codes = simulator.requests.map((request) => Buffer.from(request, 'hex'))
    assert.deepEqual(
      codes.map((bytes) => (bytes[6] === 0x10 ? bytes[7] : bytes[9])),
      [8, 14, 14, 12, 12],
    )
    assert.ok(permits.taken.every(({ operation }) => manifest.sends?.some((one) => one.operation === operation)))
  })

  test('sends two datagrams to an address that does not answer, and none after a closed port', async () => {
    const permits = unlimitedPermits()
    await scanDevice({ instance: 1, iAm: 'silent' }, { permits, options: impatient, change: () => [] })
    assert.deepEqual(
      permits.taken.map(({ operation }) => operation),
      ['WhoIs', 'ReadProperty'],
    )
    const slow = { timeout_ms: 700, device_seconds: 1 }
    assert.deepEqual((await scanDevice({ instance: 1 }, { options: slow, change: () => [] })).results, [])
    const closed = unlimitedPermits()
    assert.deepEqual(await resultsOf({ range: '127.0.60.77', options: { ports: '9' }, permits: closed }), [])
    assert.equal(closed.taken.length, 1)
  })

  test('ends immediately when it is canceled while a device is silent', async () => {
    await using simulator = await startSimulator(controller, { host: '127.0.60.1', change: () => [] })
    const canceling = new AbortController()
    const options = { ports: String(simulator.port), timeout_ms: 30_000 }
    const scanning = resultsOf({ options, signal: canceling.signal })
    while (simulator.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const startedAt = performance.now()
    canceling.abort()
    await assert.rejects(scanning, { name: 'AbortError' })
    assert.ok(performance.now() - startedAt < 15_000, 'it does not wait for the time limit')
    assert.equal(simulator.requests.length, 1)
  })

  test('does not count a pause of its process as silence of a device', async () => {
    await using simulator = await startSimulator(controller, { host: '127.0.60.1' })
    const pausing: DiscoverCall['permits'] = {
      take: async () => {
        setImmediate(() => {
          const endMs = performance.now() + 1_200
          while (performance.now() < endMs);
        })
        return { [Symbol.dispose]: () => undefined }
      },
    }
    const options = { ports: String(simulator.port), timeout_ms: 1_000 }
    const [asset] = assetsIn(await resultsOf({ options, permits: pausing }))
    assert.equal(asset?.name, 'AHU 3')
  })

  test('ends with the reason when the budget does not allow BACnet', async () => {
    const refusing = { take: () => Promise.reject(new PermitRefusedError('protocol', 'BACnet is not allowed.')) }
    await assert.rejects(resultsOf({ permits: refusing }), { message: 'BACnet is not allowed.' })
  })

  test('rejects invalid options', async () => {
    const invalid = [
      { ports: '' },
      { ports: '70000' },
      { low_instance: -1 },
      { high_instance: 4_194_304 },
      { low_instance: 5, high_instance: 4 },
      { bbmd: 'bbmd.example' },
      { bbmd: '10.0.0.2:0' },
      { bbmd: '10.0.0.2:47808:1' },
      { collect_ms: 0 },
      { timeout_ms: 0 },
      { device_seconds: 0 },
      { parallel: 257 },
      { interface: 'no-such-interface' },
    ]
    for (const options of invalid) await assert.rejects(resultsOf({ options }), { code: 'INVALID_ARGUMENT' })
  })

  test('reads any text as the address of a BBMD, or rejects it', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.ipV4(),
          fc.tuple(fc.ipV4(), fc.nat()).map((parts) => parts.join(':')),
        ),
        (text) => {
          try {
            const { bbmd } = scanOptionsOf({ ...defaults, bbmd: text })
            assert.ok(bbmd === undefined ? text.trim() === '' : bbmd.port >= 1 && bbmd.port <= 65_535)
          } catch (error) {
            assert.equal((error as { code: string }).code, 'INVALID_ARGUMENT')
          }
        },
      ),
    )
  })
})

describe('the properties of a device', () => {
  const details = {
    device_instance: 1_234,
    object_name: 'AHU 3',
    description: 'Air handling unit',
    location: 'Roof',
    vendor_name: 'Siemens Building Technologies',
    vendor_id: 7,
    model_name: 'PXC4.E16',
    serial_number: 'SN-0815',
    firmware_revision: 'FW=02.20.151',
    application_software_version: 'AS 1.4',
    protocol_version: 1,
    protocol_revision: 19,
    system_status: 'operational',
  }

  test('contain the asset fields and the device object, and are read with one request if the instance is known', async () => {
    await using simulator = await startSimulator(controller, { host: '127.0.60.1' })
    const address = { ip_address: '127.0.60.1', port: simulator.port, device_instance: 1_234 }
    const values = await read({ address })
    assert.deepEqual(values.bacnet, details)
    assert.equal(values.name, 'AHU 3')
    assert.equal(simulator.requests.length, 1)
    const identifiers = [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:3C:01' }]
    const byMac = await read({ address: { port: simulator.port }, identifiers })
    assert.deepEqual(byMac.bacnet, details)
  })

  test('are those of the present device when the instance at the address has changed', async () => {
    await using simulator = await startSimulator(controller, { host: '127.0.60.1' })
    const values = await read({ address: { ip_address: '127.0.60.1', port: simulator.port, device_instance: 7 } })
    assert.deepEqual(values.bacnet, details)
  })

  test('of a device behind a router are read through the router', async () => {
    const behind = { '2001:0c': { instance: 20, properties: { '77': 'Room 1' } } }
    await using simulator = await startSimulator({ ...controller, behind }, { host: '127.0.60.1' })
    const address = { ip_address: '127.0.60.1', port: simulator.port, device_instance: 20, network: 2_001, mac: '0c' }
    const values = await read({ address })
    assert.deepEqual(values.bacnet, {
      device_instance: 20,
      network: 2_001,
      mac: '0c',
      object_name: 'Room 1',
      vendor_id: 0,
    })
    assert.match(JSON.stringify(values.asset_relations), /is_connected_to/)
    await assert.rejects(read({ address: { ...address, network: 2_009 } }), {
      code: 'FAILED_PRECONDITION',
      message: /cannot reach the BACnet network 2009/,
    })
  })

  test('are not read with a network that stands for all networks, or at an address that is not valid', async () => {
    const address = { ip_address: '127.0.60.1', device_instance: 1, network: 5, mac: '01' }
    const wrong = [
      { network: 0xffff },
      { network: 0 },
      { network: 1.5 },
      { network: -1 },
      { mac: '' },
      { mac: '0a'.repeat(8) },
    ]
    for (const part of [...wrong, { ip_address: 'plc.example.com' }, { port: 70_000 }])
      await assert.rejects(
        read({ address: { ...address, ...part } }),
        { code: 'INVALID_ARGUMENT' },
        JSON.stringify(part),
      )
  })

  test('are UNAVAILABLE for a device that does not answer or is not known', async () => {
    const silent = await startSimulator(controller, { host: '127.0.60.1', change: () => [] })
    const startedMs = performance.now()
    for (const address of [
      { ip_address: '127.0.60.1', port: silent.port },
      { ip_address: '127.0.60.1', port: silent.port, device_instance: 1_234 },
      { ip_address: '127.0.60.77', port: 9, device_instance: 1_234 },
      { ip_address: '127.0.60.77', port: 9 },
    ])
      await assert.rejects(read({ address }), { code: 'UNAVAILABLE' })
    assert.ok(performance.now() - startedMs < 30_000)
    await silent[Symbol.asyncDispose]()
    await assert.rejects(read({}, { isRouted: true }), { code: 'UNAVAILABLE' })
  })

  test('are found by the identifiers of an earlier scan', async () => {
    await using simulator = await startSimulator(controller, { host: '127.0.60.1' })
    const [asset] = assetsIn(await resultsOf({ options: { ports: String(simulator.port) }, isRouted: true }))
    const identifiers = JSON.parse(JSON.stringify(asset?.asset_identifiers))
    assert.deepEqual((await read({ identifiers }, { isRouted: true })).bacnet, details)
  })
})

test('the BACnet link conforms to the protocol', async () => {
  await using simulator = await startSimulator(controller, { host: '127.0.60.1' })
  await using running = await startLink(bacnetLink(neighbours), { logLevel: 'silent' })
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

test('the simulated device runs as a process with the properties of a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-bacnet-'))
  const file = join(folder, 'device.json')
  writeFileSync(file, JSON.stringify(controller))
  const args = [join(import.meta.dirname, 'simulator.ts'), '--host', '127.0.60.1', '--port', '0', '--file', file]
  const device = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [line] = await once(device.stdout, 'data')
    const port = /listens on 127\.0\.60\.1:(\d+)/.exec(String(line))?.[1]
    const results = await resultsOf({ options: { ports: String(port) } })
    assert.deepEqual(errorsIn(results), [])
    assert.equal(assetsIn(results)[0]?.name, 'AHU 3')
  } finally {
    device.kill()
    await once(device, 'exit')
    rmSync(folder, { recursive: true })
  }
})

test('the vendor table has the names of manufacturers that other links use', () => {
  const names = Array.from({ length: 1_000 }, (_, id) => vendorOf(id)).filter((name) => name !== undefined)
  assert.ok(names.length > 100)
  assert.deepEqual(
    names.filter((name) => manufacturerName(name) !== name),
    [],
  )
  assert.equal(vendorOf(7), 'Siemens')
  assert.equal(vendorOf(64_000), undefined)
})
