import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import fc from 'fast-check'
import { linuxEthernet } from './raw-ethernet.ts'
import type { SimulatedDevice } from './simulator.ts'
import { EthernetSegment, hostAddress, hostMac, missingRights, segmentRange } from './testing.ts'

/* These tests send frames through real packet sockets, on cables between network namespaces that each test creates. */

const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'
const fast = { requests: 1, spread_ms: 10, timeout_ms: 1_500, lldp_seconds: 0 }
const station = (number: number, more: SimulatedDevice = {}): SimulatedDevice => ({
  name: `io-${number}`,
  type: 'ET200SP',
  ipAddress: hostAddress(number),
  networkMask: '255.255.255.0',
  ...more,
})
const macsIn = (results: DiscoveryResult[]) => results.map(({ address }) => address?.mac_address).toSorted()
const assetOf = (results: DiscoveryResult[], mac: string) => {
  const found = results.find(({ address }) => address?.mac_address === mac)
  assert.ok(found !== undefined && 'asset' in found, mac)
  return found.asset
}

describe('a segment with packet sockets', () => {
  test('is scanned with one frame per permit: tagged answers, devices without an address, LLDP at bridge ports', async (t) => {
    await using segment = await EthernetSegment.create(4)
    if (segment === undefined) return t.skip(missingRights)
    const received = await segment.startDevices({
      host0: station(0, { lldp: { chassisName: 'io-0', isProfinet: true, ipAddress: '10.78.0.10' } }),
      host1: station(1, { isTagged: true }),
      host2: { type: 'S7-1200', vendorId: 0x002a },
      host3: { answer: 'silent', lldp: { systemName: 'switch-1', ipAddress: '10.78.0.13' } },
    })
    const { results, permits, failure } = await segment.call({
      range: segmentRange,
      options: { ...fast, requests: 2, lldp_seconds: 3 },
    })
    assert.equal(failure, undefined)
    assert.deepEqual(macsIn(results), [0, 1, 2, 3].map(hostMac))
    assert.equal(permits, 2)
    const frames = received.filter((line) => /^host[0-3] 010ecf000000[0-9a-f]{12}8892fefe0500/.test(line))
    assert.equal(frames.length, 2 * 4, 'each device receives both frames')
    assert.match(JSON.stringify(assetOf(results, hostMac(0)).asset_relations), /is_connected_to/)
    assert.equal(assetOf(results, hostMac(1)).asset_relations, undefined)
    assert.equal(assetOf(results, hostMac(2)).name, 'S7-1200')
    assert.equal(assetOf(results, hostMac(3)).name, 'switch-1')
  })

  test('is reached through an interface without an IP address', async (t) => {
    await using segment = await EthernetSegment.create(1)
    if (segment === undefined) return t.skip(missingRights)
    await segment.startDevices({ remote: { name: 'new-io', type: 'ET200SP' }, host0: station(0) })
    const { results } = await segment.call({ range: segmentRange, options: { ...fast, interface: 'direct' } })
    assert.deepEqual(
      results.map(({ address }) => address),
      [{ mac_address: hostMac(255), interface: 'direct' }],
    )
    const { values } = await segment.call({ device: { address: { mac_address: hostMac(255), interface: 'direct' } } })
    assert.equal(values?.name, 'new-io')
    const silent = { mac_address: '02:00:5E:00:00:01', interface: 'bridge' }
    assert.equal((await segment.call({ device: { address: silent } })).failure?.code, 'UNAVAILABLE')
    for (const name of ['lo', 'eth77', '../net']) {
      const { failure } = await segment.call({ range: segmentRange, options: { ...fast, interface: name } })
      assert.equal(failure?.code, 'INVALID_ARGUMENT', name)
    }
  })

  test('with hostile devices yields the correct devices', async (t) => {
    await using segment = await EthernetSegment.create(3)
    if (segment === undefined) return t.skip(missingRights)
    const random = fc.sample(fc.uint8Array({ minLength: 16, maxLength: 1_400 }), 40)
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
    const frames = random.flatMap((bytes) => [
      `{to}{from}8892feff0501{xid}0000${bytes.length.toString(16).padStart(4, '0')}${hex(bytes)}`,
      `{to}{from}8892feff0501{xid}0000ffff${hex(bytes)}`,
      `{to}{from}8892${hex(bytes)}`,
    ])
    const lldp = { frame: `0180c200000e02005e78000188cc${hex(random[0] ?? new Uint8Array(20))}` }
    await segment.startDevices({ host0: station(0), host1: { frames, lldp }, host2: station(2) })
    const { results, failure } = await segment.call({ range: segmentRange, options: { ...fast, lldp_seconds: 1 } })
    assert.equal(failure, undefined)
    const macs = macsIn(results)
    assert.ok(macs.includes(hostMac(0)) && macs.includes(hostMac(2)))
    assert.ok(results.length <= 3)
  })

  test('has devices with records, which are used only from the device with the MAC address', async (t) => {
    await using segment = await EthernetSegment.create(3)
    if (segment === undefined) return t.skip(missingRights)
    const records = {
      orderNumber: '6ES7 155-6AU01-0BN0',
      serialNumber: 'S C-J4PS1234567',
      firmware: 'V4.2.1',
      ports: [[hostMac(2)], []],
    }
    await segment.startDevices({
      host0: station(0, { records }),
      host1: station(1, { ipAddress: hostAddress(0) }),
      host2: station(2),
    })
    const options = { ...fast, read_records: true }
    const { results, permits, failure } = await segment.call({ range: segmentRange, options })
    assert.equal(failure, undefined)
    const [identifier] = assetOf(results, hostMac(0)).asset_identifiers as Record<string, unknown>[]
    assert.deepEqual(identifier, {
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor: 'Siemens',
      article_number: '6ES7 155-6AU01-0BN0',
      serial_number: 'C-J4PS1234567',
    })
    assert.match(JSON.stringify(assetOf(results, hostMac(0)).asset_relations), new RegExp(hostMac(2)))
    assert.doesNotMatch(JSON.stringify(assetOf(results, hostMac(1))), /J4PS1234567/)
    const errors = results.flatMap((one) => ('error' in one ? [one.error.message] : []))
    assert.deepEqual(
      errors.map((message) => message.includes(`reports the IP address ${hostAddress(0)}`)),
      [true],
    )
    // One Identify frame, one request to host2, and the records of host0 (nameplate and three ports). The ARP table has no
    // entry before the first request, so they are read twice if the answer of host1 arrives first.
    assert.ok([1 + 1 + 4, 1 + 1 + 2 * 4].includes(permits), String(permits))
    const found = results.find(({ address }) => address?.mac_address === hostMac(0))
    const { values } = await segment.call({ device: { address: found?.address ?? {} } })
    assert.match(JSON.stringify(values?.software_components), /V4\.2\.1/)
  })

  test('is scanned although a port of the bridge is down, and an interface that is down is an error', async (t) => {
    await using segment = await EthernetSegment.create(2)
    if (segment === undefined) return t.skip(missingRights)
    await segment.startDevices({ host0: station(0) })
    await segment.takeDown('port1')
    await segment.takeDown('direct')
    const { results } = await segment.call({ range: segmentRange, options: { ...fast, lldp_seconds: 1 } })
    assert.deepEqual(macsIn(results), [hostMac(0)])
    const down = await segment.call({ range: segmentRange, options: { ...fast, interface: 'direct', lldp_seconds: 1 } })
    const errors = down.results.flatMap((one) => ('error' in one ? [one.error.message] : []))
    assert.equal(errors.length, 1)
    assert.match(errors[0] ?? '', /^The network interface "direct" cannot be used: it is down\. Start the interface/)
  })

  test('is no longer scanned immediately after the call is canceled', async (t) => {
    await using segment = await EthernetSegment.create(1)
    if (segment === undefined) return t.skip(missingRights)
    const options = { ...fast, timeout_ms: 30_000, lldp_seconds: 120 }
    const { failure, endedMs = Infinity } = await segment.call({ range: segmentRange, options, cancelAfterMs: 300 })
    assert.equal(failure?.code, 'AbortError')
    assert.ok(endedMs < 10_000, `${endedMs} ms`)
  })

  test('is not reached without the right CAP_NET_RAW, and the error names the command', async (t) => {
    await using segment = await EthernetSegment.create(1)
    if (segment === undefined) return t.skip(missingRights)
    const program = ['setpriv', '--bounding-set=-net_raw', '--inh-caps=-net_raw']
    const { results, permits } = await segment.call({ range: segmentRange, options: fast }, { program })
    const [result] = results
    assert.ok(result !== undefined && 'error' in result)
    assert.equal(result.error.code, 'FAILED_PRECONDITION')
    assert.match(result.error.message, /CAP_NET_RAW.*AmbientCapabilities.*sudo setcap cap_net_raw\+ep/)
    assert.equal(permits, 0)
  })
})

describe('scapy', () => {
  test('decodes the frames of the link, and its answers and LLDP frames are decoded', async (t) => {
    try {
      execFileSync(python, ['-c', 'from scapy.contrib import pnio_dcp, pnio_rpc, lldp'], { stdio: 'ignore' })
    } catch {
      return t.skip('scapy is not installed')
    }
    await using segment = await EthernetSegment.create(1)
    if (segment === undefined) return t.skip(missingRights)
    const lines = await segment.startProgram([python, join(import.meta.dirname, 'scapy-peer.py'), 'host0'], 'ready')
    const options = { ...fast, lldp_seconds: 3, read_records: true }
    const { results } = await segment.call({ range: segmentRange, options })
    const asset = assetOf(results, hostMac(0))
    assert.equal(results.length, 1)
    assert.equal(asset.name, 'scapy-io.hall-3')
    assert.match(JSON.stringify(asset), /"WAGO".*"Test statio".*"10.78.0.10"/)
    const [identifier] = asset.asset_identifiers as Record<string, unknown>[]
    assert.deepEqual([identifier?.article_number, identifier?.serial_number], ['750-375', 'SN-4711'])
    assert.match(JSON.stringify(asset.software_components), /"version":"V1\.2\.3"/)
    const read = lines.find((line) => line.startsWith('read'))
    assert.match(read ?? '', /^read dea00000-6c97-11d1-8271-000103[0-9a-f]{2}011d 5 0 1 aff0 1024$/)
    assert.match(JSON.stringify(asset.asset_relations), /is_connected_to/)
    assert.match(lines[0] ?? '', /^request 01:0e:cf:00:00:00 fefe 5 0 [0-9a-f]{8} 1 4 255 255 0$/)
    const address = { mac_address: hostMac(0), interface: 'bridge' }
    const { values } = await segment.call({ device: { address } })
    const expected = {
      name_of_station: 'scapy-io.hall-3',
      type_of_station: 'Test statio',
      vendor_id: '0x011D',
      device_id: '0x0315',
      oem_vendor_id: '0x0101',
      oem_device_id: '0x0022',
      instance: 1,
      roles: ['IO device'],
      alias_name: 'port-001.scapy',
      mac_address: hostMac(0),
      ip_address: '10.78.0.10',
      network_mask: '255.255.255.0',
      router: '10.78.0.1',
      ip_state: 'set',
    }
    assert.deepEqual(values?.profinet, expected)
  })
})

test('another operating system is a problem with a reason', async (t) => {
  const { platform } = process
  t.after(() => Object.defineProperty(process, 'platform', { value: platform }))
  Object.defineProperty(process, 'platform', { value: 'win32' })
  assert.match((await linuxEthernet.problem()) ?? '', /on win32.*Scan with a gateway on Linux/)
  await assert.rejects(linuxEthernet.open({ interfaceName: 'eth0', etherType: 0x8892 }), {
    code: 'FAILED_PRECONDITION',
  })
})
