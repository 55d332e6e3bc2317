import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import type { DiscoverCall, DiscoveryResult, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Segment } from '@millwright/link-sdk/network/local-network.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { errorsIn, silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import fc from 'fast-check'
import { discover } from './discover.ts'
import { profinetLink } from './link.ts'
import { manifest } from './manifest.ts'
import { defaultOptions } from './options.ts'
import { properties } from './properties.ts'
import type { Ethernet } from './raw-ethernet.ts'
import type { SimulatedDevice } from './simulator.ts'
import { linkMac, memoryEthernet } from './testing.ts'

const ethernetSegment: Segment = {
  name: 'eth0',
  address: '10.0.0.1',
  macAddress: linkMac,
  first: 0x0a00_0000,
  last: 0x0a00_00ff,
}
const noNeighbours = { macAddressOf: async () => undefined, ipAddressOf: async () => undefined }
const fast = { requests: 1, spread_ms: 10, timeout_ms: 50, lldp_seconds: 0 }

const plc: SimulatedDevice = {
  name: 'plc-1',
  type: 'S7-1500',
  vendorId: 0x002a,
  deviceId: 0x010d,
  role: 2,
  ipAddress: '10.0.0.5',
  networkMask: '255.255.255.0',
}
const [plcMac, otherMac, thirdMac] = ['28:63:36:8A:00:10', '00:30:DE:00:00:20', '00:A0:45:00:00:30'] as const

type ScanParameters = {
  devices?: Record<string, SimulatedDevice>
  ethernet?: Ethernet
  range?: string
  exclude?: string
  options?: DiscoverCall['options']
  targets?: Target[]
  permits?: DiscoverCall['permits']
  signal?: AbortSignal
  segments?: Segment[]
  progress?: DiscoverCall['progress']
  /** The ARP table: MAC addresses by IP address. */
  arp?: Record<string, string>
}

function scan({ devices = {}, options, targets = [], progress = () => undefined, ...rest }: ScanParameters) {
  const { range = '10.0.0.0/24', exclude = '', segments = [ethernetSegment] } = rest
  const { ethernet = memoryEthernet(devices), permits = unlimitedPermits() } = rest
  const call = {
    filters: [
      { key: 'ip_range', operator: 'EQUAL' as const, value: range },
      { key: 'exclude', operator: 'EQUAL' as const, value: exclude },
    ],
    options: { ...defaultOptions, ...fast, ...options },
    targets,
    progress,
    signal: rest.signal ?? new AbortController().signal,
    permits,
    log: silentLog,
  }
  const neighbours = { ...noNeighbours, macAddressOf: async (ipAddress: string) => rest.arp?.[ipAddress] }
  return Array.fromAsync(discover(call, { ethernet, segments: () => segments, neighbours }))
}

const assetsIn = (results: DiscoveryResult[]) =>
  results.flatMap((one) => ('asset' in one ? [JSON.parse(JSON.stringify(one.asset))] : []))
const macsIn = (results: DiscoveryResult[]) => results.map(({ address }) => address?.mac_address)

describe('a PROFINET device', () => {
  test('is reported with its name, manufacturer, type, MAC address and IP address', async () => {
    const [result, ...others] = await scan({ devices: { [plcMac]: plc }, arp: { '10.0.0.5': plcMac } })
    assert.deepEqual(others, [])
    assert.deepEqual(result?.address, {
      ip_address: '10.0.0.5',
      mac_address: plcMac,
      interface: 'eth0',
      name_of_station: 'plc-1',
    })
    const [asset] = assetsIn(result === undefined ? [] : [result])
    assert.equal(asset.name, 'plc-1')
    assert.equal(asset.description, undefined)
    assert.deepEqual(asset.asset_identifiers, [{ asset_identifier_type: 'MacIdentifier', mac_address: plcMac }])
    assert.deepEqual(asset.product_instance_information.manufacturer_product, {
      manufacturer: { name: 'Siemens' },
      product_name: 'S7-1500',
    })
    assert.deepEqual(
      asset.connection_points.map((point: Record<string, unknown>) => point.mac_address ?? point.ipv4_address),
      [plcMac, '10.0.0.5'],
    )
  })

  test('is not found at an IP address that it reports but the network does not confirm', async () => {
    for (const arp of [{}, { '10.0.0.5': otherMac }]) {
      const [result] = await scan({ devices: { [plcMac]: plc }, arp })
      assert.deepEqual(result?.address, { mac_address: plcMac, interface: 'eth0', name_of_station: 'plc-1' })
      const [asset] = assetsIn(result === undefined ? [] : [result])
      assert.equal(asset.connection_points[1].ipv4_address, '10.0.0.5')
    }
  })

  test('without an IP address and without a name is reported', async () => {
    const results = await scan({ devices: { [plcMac]: { type: 'ET200SP' } } })
    assert.deepEqual(results[0]?.address, { mac_address: plcMac, interface: 'eth0' })
    assert.equal(assetsIn(results)[0].name, 'ET200SP')
  })

  test('of an unknown vendor has the ids in its description, and no manufacturer', async () => {
    const [asset] = assetsIn(await scan({ devices: { [plcMac]: { ...plc, vendorId: 0xfeed, deviceId: 0xbeef } } }))
    assert.equal(asset.description, 'PROFINET device. Vendor 0xFEED, device 0xBEEF')
    assert.deepEqual(asset.product_instance_information.manufacturer_product.manufacturer, {})
  })

  test('outside of the range or excluded is left out, and named devices are selected', async () => {
    const devices = {
      [plcMac]: plc,
      [otherMac]: { ...plc, ipAddress: '10.0.0.77' },
      [thirdMac]: { ...plc, ipAddress: '192.0.2.1' },
    }
    assert.deepEqual(macsIn(await scan({ devices })), [plcMac, otherMac])
    assert.deepEqual(macsIn(await scan({ devices, range: '10.0.0.70-10.0.0.80' })), [otherMac])
    assert.deepEqual(macsIn(await scan({ devices, exclude: '10.0.0.77' })), [plcMac])
    const targets = [{ address: { mac_address: otherMac }, identifiers: [], credentials: [] }]
    assert.deepEqual(macsIn(await scan({ devices, targets })), [otherMac])
  })

  test('with an incorrect answer is an error, and does not affect other devices', async () => {
    const devices = { [plcMac]: plc, [otherMac]: { blocks: '0202ffff00' } }
    const results = await scan({ devices })
    assert.deepEqual(macsIn(results), [plcMac, otherMac])
    assert.equal(errorsIn(results)[0]?.code, 'PAYLOAD_DESERIALISATION_ISSUE')
  })
})

describe('an LLDP neighbour', () => {
  const description = 'Siemens, SIMATIC S7, CPU1511-1 PN, 6ES7 511-1AK02-0AB0 , HW: 3, FW: V2.9.4, S C-L1AB12345678'
  const listening = { lldp_seconds: 1 }

  test('that answers to Identify is one device, with a cable to the gateway and its serial number', async () => {
    const lldp = { chassisName: 'plc-1', systemDescription: description, isProfinet: true, ipAddress: '10.0.0.5' }
    const results = await scan({ devices: { [plcMac]: { ...plc, lldp } }, options: listening })
    assert.equal(results.length, 1)
    const [asset] = assetsIn(results)
    assert.deepEqual(asset.asset_relations, [
      {
        predicate: 'is_connected_to',
        relational_role_of_related_asset: 'object',
        related_asset: { asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: linkMac }] },
        is_bidirectional: true,
      },
    ])
    assert.deepEqual(asset.asset_identifiers[0], {
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor: 'Siemens',
      article_number: '6ES7 511-1AK02-0AB0',
      serial_number: 'C-L1AB12345678',
    })
    assert.match(JSON.stringify(asset.software_components), /"version":"V2.9.4"/)
  })

  test('is found by its name of station when its frame contains only the address of its port', async () => {
    const frame = `0180c200000e${otherMac.replaceAll(':', '')}88cc020607706c632d31040207410602001 4`.replaceAll(' ', '')
    const profinetField = 'fe08000ecf0200000000'
    const lldp = { frame: `${frame}${profinetField}0000` }
    const results = await scan({ devices: { [plcMac]: { ...plc, lldp } }, options: listening })
    assert.deepEqual(macsIn(results), [plcMac])
    assert.match(JSON.stringify(results), /is_connected_to/)
  })

  test('without PROFINET is a device with its name and description', async () => {
    const lldp = { systemName: 'office-switch', systemDescription: 'Switch 8', ipAddress: '10.0.0.9' }
    const device = { answer: 'silent' as const, lldp }
    const results = await scan({ devices: { [otherMac]: device }, options: listening })
    const [asset] = assetsIn(results)
    assert.deepEqual([asset.name, asset.description], ['office-switch', 'Switch 8'])
    assert.equal(results[0]?.address?.protocol, 'lldp')
    assert.deepEqual(await scan({ devices: { [otherMac]: device }, options: listening, range: '10.0.0.1' }), [])
    assert.deepEqual(await scan({ devices: { [otherMac]: device } }), [])
  })
})

describe('a PROFINET scan', () => {
  test('takes one permit for each frame, and sends only Identify frames', async () => {
    const permits = unlimitedPermits()
    const ethernet = memoryEthernet({ [plcMac]: plc })
    const progress: number[] = []
    await scan({ ethernet, permits, options: { requests: 3 }, progress: (percent) => progress.push(percent) })
    assert.equal(ethernet.sent.length, 3)
    assert.deepEqual(
      permits.taken.map(({ address, protocol, operation, kind }) => [address, protocol, operation, kind]),
      Array(3).fill(['01:0e:cf:00:00:00', 'profinet', 'DcpIdentify', 'datagram_request']),
    )
    assert.ok(ethernet.sent.every((frame) => frame.toString('hex', 12, 18) === '8892fefe0500'))
    const always = manifest.sends?.filter(({ onlyIf }) => onlyIf === undefined)
    assert.deepEqual(
      always?.map(({ operation, transport }) => [operation, transport]),
      [['DcpIdentify', 'ethernet']],
    )
    assert.deepEqual(progress.map(Math.round), [33, 67, 100])
    assert.equal(ethernet.openSockets(), 0)
  })

  test('uses the Ethernet interfaces of the range, or the chosen interface', async () => {
    const opened: string[] = []
    const memory = memoryEthernet({ [plcMac]: plc })
    const ethernet = {
      ...memory,
      open: (options: Parameters<Ethernet['open']>[0]) => {
        opened.push(options.interfaceName)
        return memory.open(options)
      },
    }
    const tunnel = { name: 'tun0', address: '10.0.0.200', first: ethernetSegment.first, last: ethernetSegment.last }
    const other = { ...ethernetSegment, name: 'eth1', first: 0x0a00_0100, last: 0x0a00_01ff }
    const segments = [ethernetSegment, { ...ethernetSegment, address: '10.0.0.2' }, tunnel, other]
    await scan({ ethernet, segments })
    assert.deepEqual(opened, ['eth0'])
    await scan({ ethernet, segments, range: '10.0.0.9,10.0.1.9' })
    assert.deepEqual(opened, ['eth0', 'eth0', 'eth1'])
    await scan({ ethernet, segments, options: { interface: ' eth7 ' } })
    assert.equal(opened.at(-1), 'eth7')
  })

  test('sends nothing to a segment whose addresses of the range are all excluded', async () => {
    const ethernet = memoryEthernet({ [plcMac]: plc })
    assert.deepEqual(await scan({ ethernet, exclude: '10.0.0.0/24' }), [])
    assert.deepEqual(errorsIn(await scan({ ethernet, range: '10.0.0.0/23', exclude: '10.0.0.0/24' })).length, 1)
    assert.equal(ethernet.sent.length, 0)
  })

  test('reports a range behind a router as an error, and finds nothing in the loopback network', async () => {
    const ethernet = memoryEthernet({ [plcMac]: plc })
    const [error] = errorsIn(await scan({ ethernet, range: '192.0.2.0/24' }))
    assert.equal(error?.code, 'FAILED_PRECONDITION')
    assert.match(error?.message ?? '', /eth0 \(10\.0\.0\.1\).*does not pass routers.*option interface/)
    assert.deepEqual(await scan({ ethernet, range: '127.0.0.1-127.0.0.9' }), [])
    assert.equal(ethernet.sent.length, 0)
  })

  test('reports a missing right as an error and as a notice, and sends nothing', async () => {
    const memory = memoryEthernet({ [plcMac]: plc })
    const ethernet = { ...memory, problem: async () => 'No right. Run: setcap' }
    const results = await scan({ ethernet })
    assert.deepEqual(
      errorsIn(results).map(({ code, message }) => [code, message]),
      [['FAILED_PRECONDITION', 'No right. Run: setcap']],
    )
    assert.equal(memory.sent.length, 0)
    const link = profinetLink({ ethernet, segments: () => [], neighbours: noNeighbours })
    assert.deepEqual(await link.notices?.(), ['No right. Run: setcap'])
    const allowed = profinetLink({ ethernet: memory, segments: () => [], neighbours: noNeighbours })
    assert.deepEqual(await allowed.notices?.(), [])
  })

  test('reports a failed interface as an error, and scans the other interfaces', async () => {
    const memory = memoryEthernet({ [plcMac]: plc })
    const ethernet: Ethernet = {
      ...memory,
      open: (options) =>
        options.interfaceName === 'eth1'
          ? Promise.reject(new LinkError('UNAVAILABLE', 'eth1 is down.'))
          : memory.open(options),
    }
    const results = await scan({ ethernet, segments: [ethernetSegment, { ...ethernetSegment, name: 'eth1' }] })
    assert.deepEqual(results.map(({ address }) => address?.interface).toSorted(), ['eth0', 'eth1'])
    assert.deepEqual(
      errorsIn(results).map(({ message }) => message),
      ['eth1 is down.'],
    )
  })

  test('reports a refused multicast frame as an error, and ends with other refusals', async () => {
    const refusing = (reason: 'excluded' | 'protocol') => ({
      take: () => Promise.reject(new PermitRefusedError(reason, `Not allowed: ${reason}.`)),
    })
    const ethernet = memoryEthernet({ [plcMac]: plc })
    const [error] = errorsIn(await scan({ ethernet, permits: refusing('excluded'), options: { lldp_seconds: 1 } }))
    assert.equal(error?.message, 'Not allowed: excluded.')
    await assert.rejects(scan({ ethernet, permits: refusing('protocol') }), { message: 'Not allowed: protocol.' })
    assert.deepEqual([ethernet.sent.length, ethernet.openSockets()], [0, 0])
  })

  test('ends immediately when it is canceled, and closes its sockets', async () => {
    const ethernet = memoryEthernet({ [plcMac]: plc })
    const canceling = new AbortController()
    const options = { timeout_ms: 30_000, lldp_seconds: 120 }
    const scanning = scan({ ethernet, signal: canceling.signal, options })
    while (ethernet.sent.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const startedAt = performance.now()
    canceling.abort()
    await assert.rejects(scanning, { name: 'AbortError' })
    while (ethernet.openSockets() > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(performance.now() - startedAt < 10_000, 'it does not wait for the time limit')
    assert.equal(ethernet.sent.length, 1)
  })

  test('rejects invalid options', async () => {
    const invalid = [
      { requests: 0 },
      { requests: 6 },
      { spread_ms: 9 },
      { spread_ms: 64_001 },
      { timeout_ms: 49 },
      { lldp_seconds: 121 },
      { lldp_seconds: -1 },
      { device_seconds: 0 },
      { parallel: 257 },
    ]
    for (const options of invalid) await assert.rejects(scan({ options }), { code: 'INVALID_ARGUMENT' })
    await assert.rejects(scan({ range: 'all' }), { code: 'INVALID_ARGUMENT' })
  })
})

describe('a hostile device', () => {
  const hex = (mac: string) => mac.replaceAll(':', '')

  test('that answers with many MAC addresses is reported up to the limit, with an error', onlyInLongRuns, async () => {
    const frames = Array.from({ length: 5_000 }, (_, index) => {
      const mac = (0x0200_0000_0000 + index).toString(16).padStart(12, '0')
      return `{to}${mac}8892feff0501{xid}00000006020200020000`
    })
    const results = await scan({ devices: { [plcMac]: { frames } }, options: { timeout_ms: 4_000 } })
    assert.equal(assetsIn(results).length, 4_096)
    assert.match(errorsIn(results)[0]?.message ?? '', /More than 4096 devices answer/)
  })

  test('with many MAC addresses and the IP address of another device causes few requests to that device', async () => {
    const ipAddress = '127.0.79.9'
    const victim = createSocket('udp4').bind(0, ipAddress)
    await once(victim, 'listening')
    const segments = [{ ...ethernetSegment, address: '127.0.79.1', first: 0x7f00_4f00, last: 0x7f00_4fff }]
    const frames = Array.from({ length: 200 }, (_, index) => {
      const mac = (0x0200_0000_0000 + index).toString(16).padStart(12, '0')
      return `{to}${mac}8892feff0501{xid}00000012 0102000e00017f004f09ffffff0000000000`.replaceAll(' ', '')
    })
    const permits = unlimitedPermits()
    const options = { read_records: true }
    const results = await scan({
      devices: { [plcMac]: { frames } },
      segments,
      range: '127.0.79.0/24',
      options,
      permits,
    })
    victim.close()
    assert.equal(assetsIn(results).length, 200)
    assert.equal(errorsIn(results).length, 199)
    assert.match(
      errorsIn(results)[0]?.message ?? '',
      /reports the IP address 127\.0\.79\.9, which other devices report/,
    )
    assert.deepEqual(
      permits.taken.map(({ operation }) => operation),
      ['DcpIdentify', 'ReadImplicit'],
    )
  })

  test('that sends LLDP frames for another device does not replace those of the device itself', async () => {
    const chassis = `02070 4${plcMac.replaceAll(':', '')}`.replaceAll(' ', '')
    const frame = `0180c200000e${otherMac.replaceAll(':', '')}88cc${chassis}0402074106020014${'0a0466616b65'}0000`
    const real = { [plcMac]: { answer: 'silent' as const, lldp: { systemName: 'real' } } }
    const forged = { [otherMac]: { answer: 'silent' as const, lldp: { frame } } }
    assert.equal(assetsIn(await scan({ devices: forged, options: { lldp_seconds: 1 } }))[0]?.name, 'fake')
    for (const devices of [
      { ...real, ...forged },
      { ...forged, ...real },
    ])
      assert.deepEqual(
        assetsIn(await scan({ devices, options: { lldp_seconds: 1 } })).map(({ name }) => name),
        ['real'],
      )
  })

  test('that answers with the MAC address of another device does not change the data of that device', async () => {
    const mac = plcMac.replaceAll(':', '').toLowerCase()
    const answerOf = (name: string) =>
      `{to}${mac}8892feff0501{xid}0000000c020200060000${Buffer.from(name).toString('hex')}`
    const forged = [`${answerOf('fake')}0000`]
    const devices = { [otherMac]: { frames: forged }, [plcMac]: plc, [thirdMac]: { name: 'other' } }
    const results = await scan({ devices })
    assert.deepEqual(
      assetsIn(results).map(({ name }) => name),
      ['other'],
    )
    assert.match(errorsIn(results)[0]?.message ?? '', new RegExp(`${plcMac} .* its answers name different devices`))
    assert.equal((await scan({ devices: { [plcMac]: plc }, options: { requests: 2 } })).length, 1)
  })

  test('cannot answer for the gateway, for a group, or for another request', async () => {
    const frames = [
      `{to}${hex(linkMac)}8892feff0501{xid}00000006020200020000`,
      '{to}010ecf0000008892feff0501{xid}00000006020200020000',
      '{to}0000000000008892feff0501{xid}00000006020200020000',
      `{to}${hex(otherMac)}8892feff05010000000000000006020200020000`,
      `ffffffffffff${hex(otherMac)}8892feff0501{xid}00000006020200020000`,
    ]
    assert.deepEqual(await scan({ devices: { [plcMac]: { frames } } }), [])
  })

  test('with any answer changes only its own result', async () => {
    const answer = fc.oneof(
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes).toString('hex')),
      fc.uint8Array({ maxLength: 80 }).map((bytes) => {
        const length = bytes.length.toString(16).padStart(4, '0')
        return `{to}${hex(otherMac)}8892feff0501{xid}0000${length}${Buffer.from(bytes).toString('hex')}`
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 6 }), async (frames) => {
        const results = await scan({ devices: { [otherMac]: { frames }, [plcMac]: plc } })
        assert.ok(macsIn(results).includes(plcMac))
        assert.ok(macsIn(results).every((mac) => mac === plcMac || mac === otherMac))
      }),
      { numRuns: 20 },
    )
  })

  test('with a name of station that is an IP address does not change its address', async () => {
    const [result] = await scan({ devices: { [plcMac]: { name: '10.0.0.99' } } })
    assert.deepEqual(result?.address, { mac_address: plcMac, interface: 'eth0' })
  })
})

describe('the properties of a device', () => {
  const read = (device: Partial<Target>, ethernet: Ethernet, permits = unlimitedPermits()) => {
    const target = { address: {}, identifiers: [], credentials: [], ...device }
    const call = { device: target, keys: [], log: silentLog, signal: new AbortController().signal, permits }
    return properties(call, { ethernet, segments: () => [ethernetSegment], neighbours: noNeighbours })
  }
  const address = { ip_address: '10.0.0.5', mac_address: plcMac, interface: 'eth0', name_of_station: 'plc-1' }

  test('contain the asset and all facts of the station, and need one frame', async () => {
    const ethernet = memoryEthernet({ [plcMac]: plc, [otherMac]: { ...plc, name: 'plc-2' } })
    const permits = unlimitedPermits()
    const values = await read({ address }, ethernet, permits)
    assert.equal(values.name, 'plc-1')
    assert.deepEqual(values.profinet, {
      name_of_station: 'plc-1',
      type_of_station: 'S7-1500',
      vendor_id: '0x002A',
      device_id: '0x010D',
      instance: 100,
      roles: ['IO controller'],
      mac_address: plcMac,
      ip_address: '10.0.0.5',
      network_mask: '255.255.255.0',
      ip_state: 'set',
      options: ['1.2', '2.1', '2.2', '2.3', '2.4', '2.5'],
    })
    assert.deepEqual([ethernet.sent.length, permits.taken.length], [1, 1])
    assert.match(ethernet.sent[0]?.toString('latin1') ?? '', /plc-1/)
  })

  test('are read with a second frame when the name has changed, and by MAC or IP address alone', async () => {
    const ethernet = memoryEthernet({ [plcMac]: { ...plc, name: 'plc-9' } })
    assert.equal((await read({ address }, ethernet)).name, 'plc-9')
    assert.equal(ethernet.sent.length, 2)
    assert.equal((await read({ address: { ip_address: '10.0.0.5' } }, ethernet)).name, 'plc-9')
    await scan({ ethernet })
    const identifiers = [{ asset_identifier_type: 'MacIdentifier', mac_address: plcMac }]
    assert.equal((await read({ identifiers }, ethernet)).name, 'plc-9')
  })

  test('are UNAVAILABLE for a device that does not answer or is not known', async () => {
    const ethernet = memoryEthernet({ [plcMac]: { ...plc, answer: 'silent' }, [otherMac]: plc })
    await assert.rejects(read({ address }, ethernet), { code: 'UNAVAILABLE', message: /does not answer/ })
    await assert.rejects(read({}, ethernet), { code: 'UNAVAILABLE', message: /Scan the range/ })
    assert.equal(ethernet.openSockets(), 0)
  })

  test('are UNIMPLEMENTED for a device that was found by LLDP', async () => {
    const device = { address: { mac_address: otherMac, interface: 'eth0', protocol: 'lldp' } }
    await assert.rejects(read(device, memoryEthernet({})), { code: 'UNIMPLEMENTED' })
  })
})

test('the PROFINET link conforms to the protocol', async () => {
  const ethernet = memoryEthernet({ [plcMac]: plc, [otherMac]: { type: 'ET200SP' }, [thirdMac]: { blocks: '02ff' } })
  const link = profinetLink({ ethernet, segments: () => [ethernetSegment], neighbours: noNeighbours })
  await using running = await startLink(link, { logLevel: 'silent' })
  const options = Object.entries({ ...fast, timeout_ms: 500 }).map(([key, value]) => ({ key, value: variantOf(value) }))
  const request = { filters: [{ key: 'ip_range', value: variantOf('10.0.0.0/24') }], options }
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, request, withinMs: 120_000 }))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.ok(results.filter(({ outcome }) => outcome === 'pass').length > 10)
})
