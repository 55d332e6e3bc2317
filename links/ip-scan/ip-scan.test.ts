import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { type DiscoverCall, type DiscoveryResult, defineLink, type Target } from '@millwright/link-sdk/define-link.ts'
import type { Segment } from '@millwright/link-sdk/network/local-network.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { discover } from './discover.ts'
import type { Surroundings } from './host.ts'
import { link } from './link.ts'
import { defaultPorts, manifest } from './manifest.ts'
import { defaultOptions } from './options.ts'
import { properties, supportedProperties } from './properties.ts'
import { startHost } from './simulator.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const offLine: Surroundings = { macAddressOf: async () => undefined, segmentOf: () => undefined }
const segment: Segment = { name: 'eth0', address: '127.0.1.254', first: 0x7f00_0100, last: 0x7f00_01ff }

/** A local segment with these entries in its ARP table. */
function localSegment(table: Readonly<Record<string, string>>): Surroundings {
  return { macAddressOf: async (address) => table[address], segmentOf: () => segment }
}

type ScanSettings = Partial<Pick<DiscoverCall, 'permits' | 'signal' | 'progress' | 'targets'>> & {
  range: string
  options?: DiscoverCall['options']
  surroundings?: Surroundings
}

const quick = { ...defaultOptions, reverse_dns: false, icmp: false, timeout_ms: 300 }

function scan({ range, options, surroundings = offLine, ...rest }: ScanSettings): AsyncGenerator<DiscoveryResult> {
  const call: DiscoverCall = {
    filters: [{ key: 'ip_range', operator: 'EQUAL', value: range }],
    options: { ...quick, ...options },
    targets: [],
    permits: unlimitedPermits(),
    signal: new AbortController().signal,
    progress: () => undefined,
    log,
    ...rest,
  }
  return discover(call, surroundings)
}
const resultsOf = (settings: ScanSettings) => Array.fromAsync(scan(settings))
const assets = (all: DiscoveryResult[]) => all.flatMap((one) => ('asset' in one ? [one.asset] : []))
const errors = (all: DiscoveryResult[]) => all.flatMap((one) => ('error' in one ? [one.error] : []))
const mac = (last: number) => `00:1B:1B:00:00:${last.toString(16).padStart(2, '0').toUpperCase()}`

describe('a scan of a local segment', () => {
  test('yields devices with MAC address, manufacturer and open ports, and sends no data', async () => {
    await using one = await startHost({ address: '127.0.1.1', open: [0, 0] })
    const ports = one.openPorts.toSorted((a, b) => a - b)
    await using two = await startHost({ address: '127.0.1.2', open: [ports[1] ?? 0] })
    const permits = unlimitedPermits()
    const surroundings = localSegment({ '127.0.1.1': mac(1), '127.0.1.2': mac(2) })
    const all = await resultsOf({
      range: '127.0.1.1-127.0.1.2',
      options: { ports: ports.join() },
      surroundings,
      permits,
    })

    assert.deepEqual(errors(all), [])
    const found = assets(all).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
    assert.deepEqual(
      found.map(({ asset_identifiers, instance_annotations, connection_points }) => ({
        asset_identifiers,
        instance_annotations,
        points: (connection_points as Record<string, unknown>[]).map(
          (point) => point.ipv4_address ?? point.mac_address,
        ),
      })),
      [
        {
          asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac(1) }],
          instance_annotations: [{ key: 'open_tcp_ports', value: ports.join(', ') }],
          points: [mac(1), '127.0.1.1'],
        },
        {
          asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac(2) }],
          instance_annotations: [{ key: 'open_tcp_ports', value: String(ports[1]) }],
          points: [mac(2), '127.0.1.2'],
        },
      ],
    )
    assert.match(JSON.stringify(found), /"manufacturer":\{"name":"Siemens"\}/)
    assert.equal(permits.taken.length, 4, 'one permit for each port of each device')
    assert.ok(permits.taken.every(({ protocol, kind }) => protocol === 'tcp' && kind === 'connection'))
    for (const { traffic } of [one, two]) assert.equal(traffic.bytes, 0)
    assert.deepEqual([one.traffic.connections, two.traffic.connections], [2, 1])
  })

  test('opens at most two connections to a device at the same time', async () => {
    await using host = await startHost({ address: '127.0.1.3', open: [0, 0, 0, 0, 0, 0] })
    let open = 0
    let most = 0
    const permits = {
      take: async () => {
        open += 1
        most = Math.max(most, open)
        return {
          [Symbol.dispose]: () => {
            open -= 1
          },
        }
      },
    }
    const options = { ports: host.openPorts.join() }
    await resultsOf({ range: host.address, options, permits, surroundings: localSegment({ [host.address]: mac(3) }) })
    assert.deepEqual([open, most], [0, 2])
    assert.equal(host.traffic.connections, 6)
  })

  test('probes only one port of an address without a device', async () => {
    await using host = await startHost({ address: '127.0.1.4', silent: [0, 0, 0] })
    const permits = unlimitedPermits()
    const options = { ports: host.silentPorts.join() }
    assert.deepEqual(await resultsOf({ range: host.address, options, permits, surroundings: localSegment({}) }), [])
    assert.equal(permits.taken.length, 1)
  })

  test('yields a device that does not answer, if its entry in the ARP table is new', async () => {
    await using host = await startHost({ address: '127.0.1.5', silent: [0, 0] })
    const answers = [undefined]
    const surroundings = {
      ...localSegment({}),
      macAddressOf: async () => (answers.length > 0 ? answers.pop() : mac(5)),
    }
    const all = await resultsOf({ range: host.address, options: { ports: host.silentPorts.join() }, surroundings })
    assert.match(JSON.stringify(assets(all)), /00:1B:1B:00:00:05/)
    assert.equal(assets(all).length, 1)
  })

  test('yields nothing for addresses that only a router answers in ARP', async () => {
    await using one = await startHost({ address: '127.0.1.6', silent: [0] })
    const options = { ports: one.silentPorts.join() }
    await using two = await startHost({ address: '127.0.1.7', silent: one.silentPorts })
    const asked = new Set<string>()
    const macAddressOf = async (address: string) => {
      if (asked.has(address)) return mac(6)
      asked.add(address)
      return undefined
    }
    const surroundings = { ...localSegment({}), macAddressOf }
    assert.deepEqual(await resultsOf({ range: `${one.address}-${two.address}`, options, surroundings }), [])
  })

  test('yields one asset for a device with several addresses, and errors for a router that answers for many', async () => {
    await using one = await startHost({ address: '127.0.1.8', open: [0] })
    const [port = 0] = one.openPorts
    const several = await resultsOf({
      range: '127.0.1.8-127.0.1.9',
      options: { ports: String(port) },
      surroundings: localSegment({ '127.0.1.8': mac(8), '127.0.1.9': mac(8) }),
    })
    const last = JSON.stringify(assets(several).at(-1))
    assert.ok(last.includes('127.0.1.8') && last.includes('127.0.1.9'))
    assert.equal(last.match(/EthernetPort/g)?.length, 1)

    const surroundings = { ...localSegment({}), macAddressOf: async () => mac(9) }
    const many = await resultsOf({ range: '127.0.1.0/27', options: { ports: String(port), parallel: 1 }, surroundings })
    assert.ok(assets(many).length <= 8)
    assert.match(errors(many)[0]?.message ?? '', /belongs to a router that answers for more than 8 addresses/)
  })

  test('does not probe the broadcast address of the segment', async () => {
    const permits = unlimitedPermits()
    await resultsOf({ range: '127.0.1.255', options: { ports: '1' }, permits, surroundings: localSegment({}) })
    assert.deepEqual(permits.taken, [])
  })
})

describe('a scan behind a router', () => {
  test('reports a device that answers as an error, because it has no identifier', async () => {
    await using host = await startHost({ address: '127.0.2.1', open: [0] })
    const all = await resultsOf({ range: '127.0.2.1-127.0.2.2', options: { ports: host.openPorts.join() } })
    assert.deepEqual(assets(all), [])
    const messages = errors(all)
      .map(({ message }) => message)
      .toSorted()
    assert.match(messages[0] ?? '', /^127\.0\.2\.1 answers on the TCP ports \d+, but cannot be stored: .* a router/)
    assert.match(messages[1] ?? '', /^127\.0\.2\.2 answers without an open port/)
    assert.ok(errors(all).every(({ code }) => code === 'FAILED_PRECONDITION'))
  })

  test('probes two ports of an address without a device', async () => {
    await using host = await startHost({ address: '127.0.2.3', silent: [0, 0, 0] })
    const permits = unlimitedPermits()
    assert.deepEqual(await resultsOf({ range: host.address, options: { ports: host.silentPorts.join() }, permits }), [])
    assert.equal(permits.taken.length, 2)
  })

  test('sends no TCP packets if the list of ports is empty', async () => {
    const permits = unlimitedPermits()
    const all = await resultsOf({ range: '127.0.2.4', options: { ports: '' }, permits })
    assert.deepEqual(permits.taken, [
      { address: '127.0.2.4', protocol: 'udp', operation: 'empty datagram', kind: 'datagram' },
    ])
    assert.equal(errors(all).length, 1, 'the loopback address reports the UDP port as closed')
  })
})

describe('the limits of a scan', () => {
  test('skips addresses that the budget excludes, and ends with other refusals', async () => {
    const refusing = (reason: 'excluded' | 'hours') => ({
      take: async () => {
        throw new PermitRefusedError(reason, `Refused: ${reason}.`)
      },
    })
    assert.deepEqual(await resultsOf({ range: '127.0.3.0/28', permits: refusing('excluded') }), [])
    await assert.rejects(resultsOf({ range: '127.0.3.0/28', permits: refusing('hours') }), { reason: 'hours' })
  })

  test('stops after cancellation, also while a connection is opened', async () => {
    await using host = await startHost({ address: '127.0.3.1', silent: [0, 0] })
    const controller = new AbortController()
    let taken = 0
    const take = async () => {
      taken += 1
      if (taken === 2) setImmediate(() => controller.abort())
      return { [Symbol.dispose]: () => undefined }
    }
    const options = { ports: host.silentPorts.join(), timeout_ms: 950 }
    const scanning = resultsOf({ range: host.address, options, permits: { take }, signal: controller.signal })
    await assert.rejects(scanning, { name: 'AbortError' })
    assert.equal(taken, 2)
  })

  test('rejects invalid options', async () => {
    const invalid = [
      { ports: '1-100' },
      { ports: '70000' },
      { timeout_ms: 1_000 },
      { parallel: 0 },
      { interface: 'no-such-interface' },
      { reverse_dns: true, dns_server: 'dns.example' },
    ]
    for (const options of invalid)
      await assert.rejects(resultsOf({ range: '127.0.3.2', options }), { code: 'INVALID_ARGUMENT' })
  })

  test('sends from the selected interface', async () => {
    await using host = await startHost({ address: '127.0.3.3', open: [0] })
    const options = { ports: host.openPorts.join(), interface: 'lo' }
    assert.equal(errors(await resultsOf({ range: host.address, options })).length, 1)
  })

  test('reports progress, and scans only the addresses of targets', async () => {
    await using host = await startHost({ address: '127.0.3.4', open: [0] })
    const reported: number[] = []
    const targets: Target[] = [{ address: { ip_address: '127.0.3.4' }, identifiers: [], credentials: [] }]
    const options = { ports: host.openPorts.join() }
    const all = await resultsOf({
      range: '127.0.3.0/28',
      options,
      targets,
      progress: (percent) => reported.push(percent),
    })
    assert.deepEqual(reported, [100])
    assert.deepEqual(
      all.map(({ address }) => address),
      [{ ip_address: '127.0.3.4' }],
    )
  })
})

describe('the properties of a device', () => {
  const call = (address: Target['address']) => ({
    device: { address, identifiers: [{ mac_address: mac(7) }], credentials: [] },
    keys: [],
    permits: unlimitedPermits(),
    signal: new AbortController().signal,
    log,
  })

  test('contain its reachability and its open ports, also if only its MAC address is known', async () => {
    await using host = await startHost({ address: '127.0.4.1', open: [0] })
    const surroundings = localSegment({ '127.0.4.1': mac(7) })
    const options = { ...quick, ports: host.openPorts.join() }
    for (const address of [{ ip_address: '127.0.4.1' }, {}]) {
      const values = await properties(call(address), { surroundings, findAddress: async () => '127.0.4.1', options })
      assert.deepEqual(values.open_tcp_ports, host.openPorts)
      assert.match(JSON.stringify(values.reachability), /"ip_address":"127.0.4.1","evidence":"tcp"/)
      assert.match(JSON.stringify(values.product_instance_information), /Siemens/)
      for (const { key } of supportedProperties()) assert.ok(key in values, key)
    }
  })

  test('are an error if the device does not answer', async () => {
    await using host = await startHost({ address: '127.0.4.2', silent: [0] })
    const surroundings = localSegment({ '127.0.4.2': mac(7) })
    const options = { ...quick, ports: host.silentPorts.join() }
    const reading = properties(call({ ip_address: '127.0.4.2' }), { surroundings, options })
    await assert.rejects(reading, { code: 'UNAVAILABLE', message: '127.0.4.2 does not answer.' })
  })

  test('are an error if the address is not known', async () => {
    await assert.rejects(properties(call({}), { findAddress: async () => undefined }), { code: 'UNAVAILABLE' })
  })
})

test('the manifest has at most 16 default ports, and a table of everything that the link sends', () => {
  assert.ok(defaultPorts.length <= 16)
  assert.deepEqual(
    manifest.sends?.map(({ protocol, operation }) => `${protocol} ${operation}`),
    ['tcp connect', 'icmp echo', 'udp empty datagram', 'dns PTR query'],
  )
})

test('the link conforms to the protocol', async () => {
  await using host = await startHost({ address: '127.0.5.1', open: [0] })
  const surroundings = localSegment({ '127.0.5.1': mac(1) })
  const tested = defineLink({
    ...link,
    discover: (call) => discover(call, surroundings),
    properties: (call) => properties(call, { surroundings, findAddress: async () => '127.0.5.1', options: quick }),
  })
  await using running = await startLink(tested, { logLevel: 'silent' })
  const request = {
    filters: [{ key: 'ip_range', value: variantOf('127.0.5.1') }],
    options: [
      { key: 'ports', value: variantOf(host.openPorts.join()) },
      { key: 'reverse_dns', value: variantOf(false) },
    ],
  }
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, request, withinMs: 120_000 }))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.ok(results.filter(({ outcome }) => outcome === 'pass').length > 10)
})
