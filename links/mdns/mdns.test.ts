import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { assetsIn, errorsIn, neighbours } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { mdnsLink } from './link.ts'
import { type SimulatedDevice, startSimulator } from './simulator.ts'
import { host, queriesOf, read, resultsOf, scan, scanDevice } from './testing.ts'

/** The options of scans of devices that do not answer to some queries. */
const impatient = { timeout_ms: 300 }

const printer: SimulatedDevice = {
  hostName: 'PRN3C2AF4',
  services: [
    {
      type: '_ipp._tcp',
      name: 'Printer hall 3.2',
      port: 631,
      txt: ['txtvers=1', 'ty=Acme LaserPro 500', 'usb_MFG=Acme', 'usb_MDL=LaserPro 500', 'note=Hall 3', 'sn=L5-0815'],
    },
    { type: '_http._tcp', name: 'Printer hall 3.2', port: 80, txt: [] },
  ],
}

const identifiersOf = (asset: { asset_identifiers?: unknown } | undefined) => asset?.asset_identifiers
const productOf = (asset: { product_instance_information?: unknown } | undefined) =>
  JSON.parse(JSON.stringify(asset?.product_instance_information))

describe('a device with multicast DNS', () => {
  test('is reported with its names, product, serial number, MAC address, IP address and services', async () => {
    const { results, assets } = await scanDevice(printer, { options: impatient })
    const [asset] = assets
    assert.equal(results.length, 1)
    assert.equal(asset?.name, 'Printer hall 3.2')
    assert.deepEqual(identifiersOf(asset), [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Acme',
        article_number: 'LaserPro 500',
        serial_number: 'L5-0815',
      },
      { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:23:01' },
    ])
    assert.deepEqual(productOf(asset), {
      serial_number: 'L5-0815',
      manufacturer_product: { manufacturer: { name: 'Acme' }, product_name: 'LaserPro 500' },
    })
    assert.deepEqual(asset?.instance_annotations, [{ key: 'mdns_services', value: '_http._tcp 80, _ipp._tcp 631' }])
    assert.match(JSON.stringify(asset?.connection_points), /"ipv4_address":"127.0.35.1"/)
    assert.match(JSON.stringify(asset?.location), /Hall 3/)
  })

  test('receives queries only for records that its answers do not contain', async () => {
    const { simulator } = await scanDevice(printer, { options: impatient })
    assert.deepEqual(queriesOf(simulator), [
      'PTR _services._dns-sd._udp.local',
      'PTR _ipp._tcp.local',
      'PTR _http._tcp.local',
      'TXT PRN3C2AF4._device-info._tcp.local',
    ])
  })

  test('is read completely when each record needs its own query, also for names with dots', async () => {
    const { assets, simulator } = await scanDevice({ ...printer, style: 'separate' }, { options: impatient })
    assert.equal(assets[0]?.name, 'Printer hall 3.2')
    assert.equal(productOf(assets[0]).serial_number, 'L5-0815')
    assert.deepEqual(queriesOf(simulator), [
      'PTR _services._dns-sd._udp.local',
      'PTR _ipp._tcp.local',
      'SRV Printer hall 3\\.2._ipp._tcp.local',
      'TXT Printer hall 3\\.2._ipp._tcp.local',
      'PTR _http._tcp.local',
      'SRV Printer hall 3\\.2._http._tcp.local',
      'TXT Printer hall 3\\.2._http._tcp.local',
      'A PRN3C2AF4.local',
      'TXT PRN3C2AF4._device-info._tcp.local',
    ])
  })

  test('is found by the name of its address when it does not list its types', async () => {
    const silentFor = ['PTR _services._dns-sd._udp.local']
    const { assets, simulator } = await scanDevice({ ...printer, silentFor }, { options: impatient })
    assert.equal(assets[0]?.name, 'Printer hall 3.2')
    const queries = queriesOf(simulator)
    assert.deepEqual(queries.slice(0, 2), ['PTR _services._dns-sd._udp.local', 'PTR 1.35.0.127.in-addr.arpa'])
    assert.ok(queries.includes('PTR _axis-video._tcp.local'))
  })

  test('is read when its answers have the id 0 and no question', async () => {
    const { assets } = await scanDevice({ ...printer, isWithoutId: true }, { options: impatient })
    assert.equal(assets[0]?.name, 'Printer hall 3.2')
  })

  test('has the name of its host if no service names the device', async () => {
    const services = [{ type: '_http._tcp', name: 'Web page', port: 80 }]
    const { assets } = await scanDevice({ hostName: 'plc-7', services }, { options: impatient })
    assert.equal(assets[0]?.name, 'plc-7')
  })

  test('is not described by services of other hosts that it announces', async () => {
    const services = [
      { type: '_http._tcp', name: 'Own', port: 80 },
      { type: '_ipp._tcp', name: 'Other', port: 631, host: 'other', txt: ['usb_MFG=Acme', 'usb_MDL=X', 'sn=1'] },
    ]
    const addresses = { own: host, other: '127.0.35.9' }
    const { assets } = await scanDevice({ hostName: 'own', services, addresses }, { options: impatient })
    assert.equal(assets[0]?.name, 'own')
    assert.deepEqual(assets[0]?.instance_annotations, [{ key: 'mdns_services', value: '_http._tcp 80' }])
    assert.doesNotMatch(JSON.stringify(assets), /ProductInstanceIdentifier/)
  })

  test('without any identifier is reported as an error', async () => {
    const services = [{ type: '_http._tcp', name: 'Own', port: 80 }]
    const { assets, errors } = await scanDevice({ hostName: 'own', services }, { isRouted: true, options: impatient })
    assert.deepEqual(assets, [])
    assert.equal(errors[0]?.code, 'FAILED_PRECONDITION')
    assert.match(errors[0]?.message ?? '', /127\.0\.35\.1 \(own\).*has no identifier/)
  })
})

describe('TXT records', () => {
  const service = (type: string, name: string, txt: string[]) => ({ type, name, port: 80, txt })
  const assetOf = async (...services: SimulatedDevice['services']) =>
    (await scanDevice({ hostName: 'device', services }, { options: impatient, isRouted: true })).results[0]

  test('of a gateway contain the nameplate and the versions, and short names of manufacturers are used', async () => {
    const txt = [
      ...['vendor=Siemens AG', 'order_number=6GK5208-0BA00-2AC2', 'model=SCALANCE XC208', 'serial_number=VPR1234567'],
      ...['fw_version=V4.5', 'hw-version=3', 'mac=00-1B-1B-30-00-01'],
    ]
    const result = await assetOf(service('_assetlink._tcp', 'Switch 7', txt))
    assert.ok(result !== undefined && 'asset' in result)
    assert.deepEqual(productOf(result.asset), {
      serial_number: 'VPR1234567',
      manufacturer_product: {
        manufacturer: { name: 'Siemens' },
        product_id: '6GK5208-0BA00-2AC2',
        product_version: '3',
        product_name: 'SCALANCE XC208',
      },
    })
    assert.deepEqual(identifiersOf(result.asset), [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Siemens',
        article_number: '6GK5208-0BA00-2AC2',
        serial_number: 'VPR1234567',
      },
      { asset_identifier_type: 'MacIdentifier', mac_address: '00:1B:1B:30:00:01' },
    ])
    assert.match(JSON.stringify(result.asset.software_components), /"version":"V4.5"/)
  })

  test('of cameras, and the names of workstations, contain MAC addresses', async () => {
    const camera = await assetOf(service('_axis-video._tcp', 'AXIS P5534 - ACCC8E123456', ['macaddress=ACCC8E123456']))
    assert.ok(camera !== undefined && 'asset' in camera)
    assert.deepEqual(identifiersOf(camera.asset), [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Axis',
        article_number: 'AXIS P5534',
        serial_number: 'ACCC8E123456',
      },
      { asset_identifier_type: 'MacIdentifier', mac_address: 'AC:CC:8E:12:34:56' },
    ])
    const computer = await assetOf(service('_workstation._tcp', 'hmi-2 [00:1b:1b:00:00:02]', []))
    assert.ok(computer !== undefined && 'asset' in computer)
    assert.deepEqual(identifiersOf(computer.asset), [
      { asset_identifier_type: 'MacIdentifier', mac_address: '00:1B:1B:00:00:02' },
    ])
    assert.equal(computer.asset.name, 'device')
    const container = await assetOf(service('_workstation._tcp', 'hmi-2 [02:42:ac:11:00:02]', []))
    assert.ok(container !== undefined && 'error' in container)
  })

  test('give a serial number only together with the manufacturer and the model of the same record', async () => {
    const result = await assetOf(
      service('_http._tcp', 'One', ['manufacturer=Acme', 'model=M1', 'mac=001B1B300001']),
      service('_https._tcp', 'Two', ['serial=4711']),
    )
    assert.ok(result !== undefined && 'asset' in result)
    assert.doesNotMatch(JSON.stringify(result.asset), /4711/)
  })

  test('can have keys in any case, repeated keys, keys without value, other encodings and control characters', async () => {
    const txt = ['MANUFACTURER=Acme', 'manufacturer=Other', 'Model', 'model=', '=x', 'ty=M\u0000\u202e2', 'paper']
    const result = await assetOf(
      service('_ipp._tcp', 'Drucker Büro', [...txt, 'hex:736e3d4dfc', 'mac=001B1B300001', '__proto__=x']),
    )
    assert.ok(result !== undefined && 'asset' in result)
    assert.equal(result.asset.name, 'Drucker Büro')
    assert.deepEqual(productOf(result.asset), {
      serial_number: 'Mü',
      manufacturer_product: { manufacturer: { name: 'Acme' }, product_name: 'M 2' },
    })
  })
})

describe('a scan', () => {
  test('takes one permit for each query, and names the function', async () => {
    const permits = unlimitedPermits()
    const { simulator } = await scanDevice({ ...printer, style: 'separate' }, { permits, options: impatient })
    assert.deepEqual(
      permits.taken.map(({ operation }) => operation.split(' ')[0]),
      simulator.queries.map(({ type }) => type),
    )
    assert.ok(permits.taken.every(({ address, kind }) => address === host && kind === 'datagram_request'))
  })

  test('finds all devices of a range, and reports nothing for closed ports and silent addresses', async () => {
    await using first = await startSimulator(printer, { host: '127.0.35.2' })
    await using _second = await startSimulator(printer, { host: '127.0.35.5', port: first.port })
    const silent = { ...printer, silentFor: ['PTR _services._dns-sd._udp.local', 'PTR 6.35.0.127.in-addr.arpa'] }
    await using third = await startSimulator(silent, { host: '127.0.35.6', port: first.port })
    const percents: number[] = []
    const results = await resultsOf({
      range: '127.0.35.0/28',
      options: { ports: String(first.port), ...impatient },
      progress: (percent) => percents.push(percent),
    })
    assert.deepEqual(errorsIn(results), [])
    assert.deepEqual(results.map(({ address }) => address?.ip_address).toSorted(), ['127.0.35.2', '127.0.35.5'])
    assert.equal(third.queries.length, 2, 'a silent device receives two queries')
    assert.equal(percents.at(-1), 100)
  })

  test('skips excluded addresses, and ends with every other refusal', async () => {
    const refuse = (reason: 'excluded' | 'protocol') => ({
      take: () => Promise.reject(new PermitRefusedError(reason, reason)),
    })
    assert.deepEqual(await resultsOf({ permits: refuse('excluded') }), [])
    await assert.rejects(resultsOf({ permits: refuse('protocol') }), { reason: 'protocol' })
  })

  test('ends at once when it is canceled', async () => {
    const silent = { ...printer, silentFor: ['PTR _services._dns-sd._udp.local', 'PTR 1.35.0.127.in-addr.arpa'] }
    await using simulator = await startSimulator(silent, { host })
    const controller = new AbortController()
    const results = scan({ options: { ports: String(simulator.port) }, signal: controller.signal })
    const next = results.next()
    while (simulator.queries.length === 0) await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error('canceled'))
    await assert.rejects(next, /canceled/)
    assert.equal(simulator.queries.length, 1)
  })

  test('reads only the named targets', async () => {
    await using simulator = await startSimulator(printer, { host })
    const target = (ip: string) => ({ address: { ip_address: ip }, identifiers: [], credentials: [] })
    const options = { ports: String(simulator.port), ...impatient, multicast: true }
    const parameters = { range: '127.0.35.0/24', options, targets: [target(host), target('10.9.9.9')] }
    assert.equal(assetsIn(await resultsOf(parameters)).length, 1)
  })

  test('refuses invalid options', async () => {
    const invalid = [
      { timeout_ms: 49 },
      { timeout_ms: 30_001 },
      { device_seconds: 0 },
      { parallel: 257 },
      { ports: '' },
      { ports: '70000' },
      { interface: 'no-such-interface' },
    ]
    for (const options of invalid) await assert.rejects(resultsOf({ options }), { code: 'INVALID_ARGUMENT' })
  })
})

describe('the properties of a device', () => {
  test('contain the asset fields and all services with their TXT records', async () => {
    await using simulator = await startSimulator(printer, { host })
    const values = await read({ address: { ip_address: host, port: simulator.port } })
    assert.equal(values.name, 'Printer hall 3.2')
    assert.deepEqual(values.mdns, {
      host_name: 'PRN3C2AF4',
      services: [
        {
          type: '_ipp._tcp',
          name: 'Printer hall 3.2',
          host: 'PRN3C2AF4',
          port: 631,
          txt: printer.services[0]?.txt,
        },
        { type: '_http._tcp', name: 'Printer hall 3.2', host: 'PRN3C2AF4', port: 80, txt: [] },
      ],
    })
  })

  test('are read by the identifiers of an earlier scan, and by the MAC address', async () => {
    await using simulator = await startSimulator(printer, { host })
    await resultsOf({ options: { ports: String(simulator.port), ...impatient } })
    const serial = {
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor: 'Acme',
      article_number: 'LaserPro 500',
      serial_number: 'L5-0815',
    }
    assert.equal((await read({ identifiers: [serial] }, true)).name, 'Printer hall 3.2')
    const mac = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:23:01' }
    assert.equal((await read({ identifiers: [mac] })).name, 'Printer hall 3.2')
  })

  test('are UNAVAILABLE for a device that does not answer or is not known', async () => {
    await assert.rejects(read({ address: { ip_address: '127.0.35.77', port: 1 } }), { code: 'UNAVAILABLE' })
    const silentFor = ['PTR _services._dns-sd._udp.local', 'PTR 1.35.0.127.in-addr.arpa']
    await using simulator = await startSimulator({ ...printer, silentFor }, { host })
    await assert.rejects(read({ address: { ip_address: host, port: simulator.port } }), { code: 'UNAVAILABLE' })
    await assert.rejects(read({}, true), { code: 'UNAVAILABLE' })
  })
})

test('the mDNS link conforms to the protocol', async () => {
  await using simulator = await startSimulator(printer, { host })
  await using running = await startLink(mdnsLink(neighbours), { logLevel: 'silent' })
  const request = {
    filters: [{ key: 'ip_range', value: variantOf('127.0.35.0/30') }],
    options: [
      { key: 'ports', value: variantOf(String(simulator.port)) },
      { key: 'timeout_ms', value: variantOf(2_000) },
    ],
  }
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, request, withinMs: 120_000 }))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.ok(results.filter(({ outcome }) => outcome === 'pass').length > 10)
})

test('the simulator runs as a program', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-mdns-'))
  const file = join(folder, 'device.json')
  writeFileSync(file, JSON.stringify(printer))
  const program = join(import.meta.dirname, 'simulator.ts')
  const child = spawn(process.execPath, [program, '--host', host, '--port', '0', '--file', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = await once(createInterface(child.stdout), 'line')
    const port = /:(\d+)\.$/.exec(String(line))?.[1] ?? ''
    assert.equal(assetsIn(await resultsOf({ options: { ports: port, ...impatient } })).length, 1)
  } finally {
    child.kill()
    await once(child, 'close')
    rmSync(folder, { recursive: true })
  }
})
