import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import type { DiscoverCall } from '@millwright/link-sdk/define-link.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { assetsIn, errorsIn, neighbours } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { startSilentPort } from '@millwright/link-sdk/testing/silent-port.ts'
import fc from 'fast-check'
import { s7Link } from './link.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'
import { type SimulatedDevice, type SimulatedModule, startSimulator } from './simulator.ts'
import { defaults, listen, read, resultsOf, scanDevice, testHost, testMac } from './testing.ts'

const cpu315: SimulatedModule = {
  orderNumber: '6ES7 315-2EH14-0AB0',
  hardware: 4,
  firmware: 'V3.2.6',
  components: {
    '1': 'SIMATIC 300 Station',
    '2': 'Press line 4',
    '3': '=A1+K2',
    '4': 'Original Siemens Equipment',
    '5': 'S C-X4U421302009',
    '7': 'CPU 315-2 PN/DP',
    '8': 'MMC 267FF11F',
    '9': 'hex:002a00010001',
    '11': 'Hall 3',
  },
}
const cp343: SimulatedModule = {
  orderNumber: '6GK7 343-1EX30-0XE0',
  hardware: 2,
  firmware: 'V2.4.1',
  components: { '2': 'CP 343-1', '5': 'S VPA5123456', '7': 'CP 343-1' },
}
const cpu1214: SimulatedModule = {
  orderNumber: '6ES7 214-1AG40-0XB0',
  hardware: 6,
  firmware: 'V4.2.3',
  components: { '1': 'S7-1200 station_1', '2': 'PLC_1', '5': 'S C-K4DE75732019', '7': 'CPU 1214C DC/DC/DC' },
}

const serial = (articleNumber: string, serialNumber: string) => ({
  asset_identifier_type: 'ProductInstanceIdentifier',
  vendor: 'Siemens',
  article_number: articleNumber,
  serial_number: serialNumber,
})
const mac = { asset_identifier_type: 'MacIdentifier', mac_address: testMac }

describe('an S7 controller', () => {
  test('is reported with order number, serial number, firmware, names, plant identification and MAC address', async () => {
    const { results } = await scanDevice({ modules: { '0/2': cpu315 } })
    assert.equal(results.length, 1)
    const [result] = results
    assert.ok(result !== undefined && 'asset' in result)
    assert.deepEqual({ ...result.address, port: 0 }, { ip_address: testHost, port: 0, rack: 0, slot: 2 })
    const { asset } = result
    assert.equal(asset.name, 'Press line 4')
    assert.deepEqual(asset.asset_identifiers, [serial('6ES7 315-2EH14-0AB0', 'C-X4U421302009'), mac])
    assert.deepEqual(JSON.parse(JSON.stringify(asset.product_instance_information)), {
      serial_number: 'C-X4U421302009',
      manufacturer_product: {
        manufacturer: { name: 'Siemens' },
        product_id: '6ES7 315-2EH14-0AB0',
        product_version: '4',
        product_name: 'CPU 315-2 PN/DP',
      },
    })
    assert.deepEqual(asset.location, [
      { location_type: 'Akz', plant_designation: '=A1+K2' },
      { location_type: 'Okz', location_identifier: 'Hall 3' },
    ])
    assert.match(JSON.stringify(asset.software_components), /"version":"V3.2.6"/)
    assert.match(JSON.stringify(asset.connection_points), /"ipv4_address":"127.0.32.1"/)
  })

  test('has the identifiers that SNMP reports for the same device', async () => {
    const { assets } = await scanDevice({ modules: { '0/1': cpu1214 } })
    assert.deepEqual(assets[0]?.asset_identifiers, [serial('6ES7 214-1AG40-0XB0', 'C-K4DE75732019'), mac])
    const compact = { ...cpu1214, orderNumber: '6ES7214-1AG40-0XB0' }
    const { assets: others } = await scanDevice({ modules: { '0/1': compact } })
    assert.deepEqual(others[0]?.asset_identifiers, assets[0]?.asset_identifiers)
  })

  test('is found in the first slot that answers, with one connection for each slot, and one at a time', async () => {
    let [open, most] = [0, 0]
    const counting: DiscoverCall['permits'] = {
      take: async ({ kind }) => {
        const count = kind === 'connection' ? 1 : 0
        open += count
        most = Math.max(most, open)
        return {
          [Symbol.dispose]: () => {
            open -= count
          },
        }
      },
    }
    const { names, simulator } = await scanDevice({ modules: { '0/3': cpu315 } }, { permits: counting })
    assert.deepEqual(names, [
      '0/1 connect',
      '0/2 connect',
      '0/3 connect',
      '0/3 setup',
      '0/3 list 0011',
      '0/3 list 001c',
      '0/3 next',
    ])
    assert.deepEqual([simulator.connections.total, most, open], [3, 1, 0])
  })

  test('is found when other slots are silent or close the connection', async () => {
    const closing = await scanDevice({ modules: { '0/2': cpu315 }, others: 'close' })
    assert.equal(closing.assets[0]?.name, 'Press line 4')
    const silent = await scanDevice(
      { modules: { '0/2': cpu315 }, others: 'silent' },
      { options: { timeout_ms: 1_000 } },
    )
    assert.equal(silent.assets[0]?.name, 'Press line 4')
  })

  test('is found with the rack, slots and connection type of the options', async () => {
    const options = { rack: 1, slots: '4', connection_type: 'op' }
    const { assets, simulator } = await scanDevice({ modules: { '1/4': cpu315 } }, { options })
    assert.equal(assets[0]?.name, 'Press line 4')
    assert.match(simulator.requests[0]?.bytes ?? '', /c2020224$/)
  })

  test('is read completely when its lists continue, and when its messages arrive in pieces', async () => {
    const whole = await scanDevice({ modules: { '0/2': cpu315 } })
    const device = { modules: { '0/2': cpu315 }, partBytes: 30, packetBytes: 20, pieceBytes: 1 }
    const { assets, names } = await scanDevice(device, { options: { slots: '2' } })
    assert.deepEqual(assets, whole.assets)
    assert.equal(names.filter((name) => name === '0/2 next').length, 3 + 10)
  })

  test('is reported when it returns only one of the lists', async () => {
    for (const reaction of ['refuse', 'refuse data', 'close'] as const) {
      const { assets } = await scanDevice({ modules: { '0/1': { ...cpu315, lists: { '001c': reaction } } } })
      assert.deepEqual(assets[0]?.asset_identifiers, [mac], reaction)
      assert.match(JSON.stringify(assets[0]), /"product_id":"6ES7 315-2EH14-0AB0"/)
    }
    const { assets } = await scanDevice({ modules: { '0/1': { ...cpu315, lists: { '0011': 'refuse' } } } })
    assert.equal(assets[0]?.name, 'Press line 4')
    assert.deepEqual(assets[0]?.asset_identifiers, [serial('CPU 315-2 PN/DP', 'C-X4U421302009'), mac])
  })

  test('has readable names, whether they are encoded in UTF-8 or Latin-1, and also if the bytes after them are not zero', async () => {
    const nameOf = async (name: string) => {
      const components = { ...cpu315.components, '2': name }
      return (await scanDevice({ modules: { '0/2': { ...cpu315, components } } })).assets[0]?.name
    }
    const encoded = (encoding: BufferEncoding) => `hex:${Buffer.from('Förderer 2\0old', encoding).toString('hex')}`
    assert.equal(await nameOf(encoded('utf8')), 'Förderer 2')
    assert.equal(await nameOf(encoded('latin1')), 'Förderer 2')
    assert.equal(await nameOf('  Line\t4\u0007 '), 'Line 4')
    assert.equal(await nameOf(''), 'SIMATIC 300 Station')
  })

  test('without identification is reported with its MAC address', async () => {
    const { assets } = await scanDevice({ modules: { '0/1': {} } })
    assert.equal(assets.length, 1)
    assert.equal(assets[0]?.name, undefined)
    assert.deepEqual(assets[0]?.asset_identifiers, [mac])
  })

  test('behind a router is reported with its serial number, or as an error that names what is missing', async () => {
    const { assets } = await scanDevice({ modules: { '0/2': cpu315 } }, { isRouted: true })
    assert.deepEqual(assets[0]?.asset_identifiers, [serial('6ES7 315-2EH14-0AB0', 'C-X4U421302009')])
    const { components: _components, ...anonymous } = cpu315
    const { errors } = await scanDevice({ modules: { '0/2': anonymous } }, { isRouted: true })
    assert.equal(errors[0]?.code, 'FAILED_PRECONDITION')
    assert.match(errors[0]?.message ?? '', /rack 0, slot 2 .*6ES7 315-2EH14-0AB0.*MAC address.*Scan from a gateway/)
  })

  test('of another manufacturer has its name, or the number of the manufacturer as description', async () => {
    const made = async (id: string, orderNumber: string) => {
      const components = { ...cpu315.components, '4': '', '9': `hex:${id}` }
      const { assets } = await scanDevice({ modules: { '0/2': { ...cpu315, orderNumber, components } } })
      const product = JSON.parse(JSON.stringify(assets[0]?.product_instance_information)).manufacturer_product
      return [product.manufacturer.name, assets[0]?.description]
    }
    assert.deepEqual(await made('03e70000', 'VIPA 315-4NE12'), ['VIPA', undefined])
    assert.deepEqual(await made('03e70000', 'X-315'), [undefined, 'Vendor 999'])
    assert.deepEqual(await made('00000000', '6ES7 315-2EH14-0AB0'), ['Siemens', undefined])
    assert.deepEqual(await made('00000000', 'X-315'), [undefined, undefined])
  })

  test('that gives no answer or no S7 answer is an error in plain words', async () => {
    const options = { timeout_ms: 1_000, slots: '2' }
    const messageOf = async (device: SimulatedDevice, more = {}) =>
      (await scanDevice(device, { options: { ...options, ...more } })).errors[0]?.message ?? ''
    assert.match(await messageOf({ modules: {}, others: 'silent' }), /does not answer to S7 requests/)
    assert.match(await messageOf({ modules: {}, others: 'close' }), /closes the connection/)
    assert.match(await messageOf({ modules: {} }), /refuses the connection to rack 0, slot 2/)
    assert.match(
      await messageOf({ modules: {} }, { slots: '1-3' }),
      /refuses S7 connections to rack 0, slots 1, 2, 3\. Set the options rack, slots/,
    )
    await using server = await listen((socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n'))
    const permits = unlimitedPermits()
    const [error] = errorsIn(await resultsOf({ options: { ports: String(server.port) }, permits }))
    assert.match(error?.message ?? '', /does not speak S7 correctly/)
    assert.equal(permits.taken.filter(({ kind }) => kind === 'connection').length, 1)
  })
})

describe('the modules of an S7 controller', () => {
  const station = { modules: { '0/2': cpu315, '0/4': cp343, '0/5': { orderNumber: '6ES7 341-1AH02-0AE0' } } }

  test('are reported as modules of the CPU, with their slot', async () => {
    const { results, assets } = await scanDevice(station, { options: { module_slots: '4-6' } })
    assert.deepEqual(
      results.map(({ address }) => [address?.slot, address?.cpu_slot]),
      [
        [2, undefined],
        [4, 2],
        [5, 2],
      ],
    )
    const [, communication, serialModule] = assets
    assert.equal(communication?.name, 'CP 343-1')
    assert.deepEqual(communication?.asset_identifiers, [serial('6GK7 343-1EX30-0XE0', 'VPA5123456')])
    assert.deepEqual(communication?.asset_relations, [
      {
        predicate: 'is_module_of',
        relational_role_of_related_asset: 'object',
        related_asset: { asset_identifiers: [serial('6ES7 315-2EH14-0AB0', 'C-X4U421302009'), mac] },
      },
    ])
    assert.deepEqual(communication?.location, [
      { location_type: 'MountingLocation', slot_name: 'Rack 0, slot 4', slot_number: 4 },
    ])
    assert.deepEqual(communication?.connection_points, [])
    assert.deepEqual(serialModule?.asset_identifiers, [
      { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: mac, slot: 5, subslot: 0 },
    ])
  })

  test('are not requested without the option', async () => {
    const { results, names } = await scanDevice(station)
    assert.equal(results.length, 1)
    assert.ok(names.every((name) => /^0\/[12] /.test(name)))
  })

  test('are not assumed for a controller that ignores slots', async () => {
    const modules = Object.fromEntries(Array.from({ length: 12 }, (_, slot) => [`0/${slot}`, cpu1214]))
    const { results, simulator } = await scanDevice({ modules }, { options: { module_slots: '0-11' } })
    assert.equal(results.length, 1)
    assert.equal(simulator.connections.total, 3)
  })

  test('without a serial number behind a router are errors', async () => {
    const { assets, errors } = await scanDevice(station, { isRouted: true, options: { module_slots: '4-5' } })
    assert.equal(assets.length, 2)
    assert.match(errors[0]?.message ?? '', /slot 5/)
  })

  test('that are not read in time are left out with an error, and the CPU is reported', async () => {
    const options = { timeout_ms: 30_000, device_seconds: 1, slots: '2', module_slots: '4' }
    const { assets, errors } = await scanDevice({ modules: { '0/2': cpu315 }, others: 'silent' }, { options })
    assert.equal(assets.length, 1)
    assert.match(errors[0]?.message ?? '', /could not be read within 1 seconds/)
  })
})

describe('an S7 scan', () => {
  test('finds controllers among silent addresses, reports progress, and leaves out excluded addresses', async () => {
    await using first = await startSimulator({ modules: { '0/1': cpu1214 } }, { host: '127.0.33.3' })
    await using _second = await startSimulator({ modules: { '0/2': cpu315 } }, { host: '127.0.33.9', port: first.port })
    const progress: number[] = []
    const permits = unlimitedPermits()
    const excluding: DiscoverCall['permits'] = {
      take: async (request) => {
        if (request.address === '127.0.33.9') throw new PermitRefusedError('excluded', 'excluded')
        return permits.take(request)
      },
    }
    const options = { ports: String(first.port) }
    const all = await resultsOf({ range: '127.0.33.0/28', options, progress: (percent) => progress.push(percent) })
    assert.deepEqual(all.map(({ address }) => address?.ip_address).toSorted(), ['127.0.33.3', '127.0.33.9'])
    assert.deepEqual([progress.length, progress.at(-1)], [16, 100])
    const allowed = await resultsOf({ range: '127.0.33.0/28', options, permits: excluding })
    assert.deepEqual(
      allowed.map(({ address }) => address?.ip_address),
      ['127.0.33.3'],
    )
    const targets = [{ address: { ip_address: '127.0.33.9' }, identifiers: [], credentials: [] }]
    const named = await resultsOf({ range: '127.0.33.0/28', options, targets })
    assert.deepEqual(
      named.map(({ address }) => address?.ip_address),
      ['127.0.33.9'],
    )
  })

  test('takes one permit for each connection and each request, and sends only the functions of its manifest', async () => {
    const permits = unlimitedPermits()
    const modules = { '0/2': cpu315, '0/4': cp343 }
    const { simulator } = await scanDevice({ modules, partBytes: 50 }, { permits, options: { module_slots: '3-6' } })
    const count = (kind: string) => permits.taken.filter((permit) => permit.kind === kind).length
    assert.equal(count('request'), simulator.requests.length)
    assert.equal(count('connection'), simulator.connections.total)
    assert.ok(simulator.requests.every(({ name }) => /^(connect|setup|next|list 00(11|1c))$/.test(name)))
    assert.ok(permits.taken.every(({ operation }) => manifest.sends?.some((one) => one.operation === operation)))
    assert.ok(permits.taken.every(({ protocol, address }) => protocol === 's7' && address === testHost))
  })

  test('takes a permit for each attempt to connect to a silent port', async () => {
    await using silent = await startSilentPort(testHost)
    const permits = unlimitedPermits()
    const options = { ports: String(silent.port), timeout_ms: 1_000 }
    assert.deepEqual(await resultsOf({ options, permits }), [])
    assert.deepEqual(
      permits.taken.map(({ kind, operation }) => `${kind} ${operation}`),
      ['connection Connect', 'connection Connect'],
    )
  })

  test('ends immediately when it is canceled while a controller is silent, and closes its connections', async () => {
    await using simulator = await startSimulator({ modules: {}, others: 'silent' }, { host: testHost })
    const canceling = new AbortController()
    const options = { ports: String(simulator.port), timeout_ms: 30_000 }
    const scanning = resultsOf({ options, signal: canceling.signal })
    while (simulator.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const startedAt = performance.now()
    canceling.abort()
    await assert.rejects(scanning, { name: 'AbortError' })
    while (simulator.connections.open > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(performance.now() - startedAt < 15_000, 'it does not wait for the time limit')
    assert.equal(simulator.requests.length, 1)
  })

  test('ends with the reason when the budget does not allow S7', async () => {
    const refusing = { take: () => Promise.reject(new PermitRefusedError('protocol', 'S7 is not allowed.')) }
    await assert.rejects(resultsOf({ permits: refusing }), { message: 'S7 is not allowed.' })
  })

  test('reads any text with slots and ports as numbers within their limits, or rejects it', () => {
    const part = fc.oneof(fc.constantFrom('1', '31', '32', '-', ',', ' ', '99', '65535', '99999'), fc.string())
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const text = parts.join('')
        try {
          const options = scanOptionsOf({ ...defaults, slots: text, module_slots: text, ports: text })
          const slots = [...options.slots, ...options.moduleSlots]
          assert.ok(slots.every((slot) => Number.isInteger(slot) && slot >= 0 && slot <= 31))
          assert.ok(options.ports.length <= 1_024 && options.ports.every((port) => port >= 1 && port <= 65_535))
        } catch (error) {
          assert.equal((error as { code: string }).code, 'INVALID_ARGUMENT')
        }
      }),
    )
  })

  test('rejects invalid options', async () => {
    const invalid = [
      { slots: '' },
      { slots: '32' },
      { slots: '5-2' },
      { module_slots: 'all' },
      { rack: 8 },
      { connection_type: 'hmi' },
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

describe('the properties of an S7 controller', () => {
  test('contain the complete identification and the operating mode', async () => {
    await using simulator = await startSimulator({ modules: { '0/2': cpu315 } }, { host: testHost })
    const values = await read({ address: { ip_address: testHost, port: simulator.port, rack: 0, slot: 2 } })
    assert.deepEqual(values.s7, {
      rack: 0,
      slot: 2,
      message_bytes: 240,
      operating_mode: 'run',
      order_number: '6ES7 315-2EH14-0AB0',
      serial_number: 'S C-X4U421302009',
      hardware_version: '4',
      firmware_version: 'V3.2.6',
      plc_name: 'SIMATIC 300 Station',
      module_name: 'Press line 4',
      module_type: 'CPU 315-2 PN/DP',
      plant_identification: '=A1+K2',
      location_identification: 'Hall 3',
      copyright: 'Original Siemens Equipment',
      memory_card_serial_number: 'MMC 267FF11F',
      manufacturer_id: 42,
      profile_id: 1,
    })
    assert.equal(values.name, 'Press line 4')
    const { assets } = await scanDevice({ modules: { '0/2': cpu315 } })
    assert.deepEqual(values.asset_identifiers, assets[0]?.asset_identifiers)
    assert.equal(simulator.connections.total, 1)
  })

  test('contain the operating mode only if it is requested', async () => {
    const stopped = { ...cpu315, mode: 0x84 }
    await using simulator = await startSimulator({ modules: { '0/2': stopped } }, { host: testHost })
    const address = { ip_address: testHost, port: simulator.port }
    const all = await read({ address })
    assert.equal((all.s7 as Record<string, unknown>).operating_mode, 'stop')
    simulator.requests.length = 0
    await read({ address }, { keys: ['software_components'] })
    assert.ok(simulator.requests.every(({ name }) => name !== 'list 0424'))
  })

  test('of a module are those of the module, with its relation to the CPU', async () => {
    const modules = { '0/2': cpu315, '0/4': cp343, '0/5': { orderNumber: '6ES7 341-1AH02-0AE0' } }
    await using simulator = await startSimulator({ modules }, { host: testHost })
    const options = { ports: String(simulator.port), module_slots: '4-5' }
    const [, communication, serialModule] = await resultsOf({ options })
    for (const result of [communication, serialModule]) {
      assert.ok(result !== undefined && 'asset' in result)
      const scanned = JSON.parse(JSON.stringify(result.asset))
      const identifiers = scanned.asset_identifiers
      for (const device of [{ address: result.address ?? {} }, { identifiers }]) {
        const { s7, ...values } = await read(device)
        assert.deepEqual(values, scanned)
        assert.equal((s7 as Record<string, unknown>).slot, result.address?.slot)
      }
    }
    const missing = { ip_address: testHost, port: simulator.port, rack: 0, slot: 6, cpu_slot: 2 }
    await assert.rejects(read({ address: missing }), { code: 'UNAVAILABLE', message: /rack 0, slot 6/ })
  })

  test('are read by the MAC address of the controller, or of the controller of a module', async () => {
    const modules = { '0/2': cpu315, '0/4': { orderNumber: 'X' } }
    await using simulator = await startSimulator({ modules }, { host: testHost })
    const address = { port: simulator.port }
    assert.equal((await read({ address, identifiers: [mac] })).name, 'Press line 4')
    const identifier = {
      asset_identifier_type: 'ParentRelativeIdentifier',
      parent_identifier: mac,
      slot: 4,
      subslot: 0,
    }
    assert.equal((await read({ address, identifiers: [identifier] })).name, 'X')
  })

  test('of a module in another rack are read by its identifier', async () => {
    const modules = { '1/2': cpu315, '1/4': { orderNumber: 'X' } }
    await using simulator = await startSimulator({ modules }, { host: testHost })
    const options = { ports: String(simulator.port), rack: 1, module_slots: '4' }
    const [, module] = assetsIn(await resultsOf({ options }))
    const identifier = {
      asset_identifier_type: 'ParentRelativeIdentifier',
      parent_identifier: mac,
      slot: 36,
      subslot: 0,
    }
    assert.deepEqual(module?.asset_identifiers, [identifier])
    const { s7 } = await read({ address: { ip_address: testHost, port: simulator.port }, identifiers: [identifier] })
    assert.deepEqual([(s7 as Record<string, unknown>).rack, (s7 as Record<string, unknown>).slot], [1, 4])
  })

  test('are UNAVAILABLE for a controller that does not answer or is not known', async () => {
    await assert.rejects(read({ address: { ip_address: '127.0.32.77', port: 1 } }), { code: 'UNAVAILABLE' })
    await assert.rejects(read({}, { isRouted: true }), { code: 'UNAVAILABLE' })
    await using simulator = await startSimulator({ modules: {}, others: 'silent' }, { host: testHost })
    const address = { ip_address: testHost, port: simulator.port, rack: 0, slot: 2 }
    await assert.rejects(read({ address }), { code: 'UNAVAILABLE' })
    const wrong = { ip_address: testHost, port: simulator.port, rack: 99, slot: -1, cpu_slot: 1.5 }
    await assert.rejects(read({ address: wrong }), { code: 'UNAVAILABLE' })
  })
})

test('the S7 link conforms to the protocol', async () => {
  await using simulator = await startSimulator({ modules: { '0/2': cpu315 } }, { host: testHost })
  await using running = await startLink(s7Link(neighbours), { logLevel: 'silent' })
  const request = {
    filters: [{ key: 'ip_range', value: variantOf('127.0.32.0/30') }],
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
  assert.equal(assetsIn(await resultsOf({ options: { ports: String(simulator.port) } })).length, 1)
})
