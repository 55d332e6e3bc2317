import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, test } from 'node:test'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import type { DiscoverCall, DiscoveryResult, Target } from '@millwright/link-sdk/define-link.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { defaultOptionsOf } from '@millwright/link-sdk/parameters.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { assetsIn, behindRouter, errorsIn, neighbours, silentLog } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { startSilentPort } from '@millwright/link-sdk/testing/silent-port.ts'
import fc from 'fast-check'
import modbusSerial, { type IServiceVector } from 'modbus-serial'
import { parseIdentification } from './device.ts'
import { discover } from './discover.ts'
import { modbusLink } from './link.ts'
import { manifest } from './manifest.ts'
import { scanOptionsOf } from './options.ts'
import { properties } from './properties.ts'
import { type RunningSimulator, type SimulatedDevice, startSimulator } from './simulator.ts'

const defaults = defaultOptionsOf(manifest)

const meter = {
  '0': 'Schneider Electric SE',
  '1': 'AM-4711',
  '2': 'V2.11',
  '3': 'www.acme.example',
  '4': 'Power meter',
  '5': 'PM3',
  '6': 'Feeder 7',
}

type ScanParameters = {
  range?: string
  options?: DiscoverCall['options']
  targets?: Target[]
  signal?: AbortSignal
  permits?: DiscoverCall['permits']
  progress?: DiscoverCall['progress']
  isRouted?: boolean
}

function scan({ range = '127.0.30.1', options, targets = [], isRouted, ...rest }: ScanParameters) {
  const { signal = new AbortController().signal, permits = unlimitedPermits(), progress = () => undefined } = rest
  const call = {
    filters: [{ key: 'ip_range', operator: 'EQUAL' as const, value: range }],
    options: { ...defaults, timeout_ms: 10_000, ...options },
    targets,
    progress,
    signal,
    permits,
    log: silentLog,
  }
  return discover(call, isRouted ? behindRouter : neighbours)
}

const resultsOf = (parameters: ScanParameters) => Array.fromAsync(scan(parameters))

async function scanDevice(device: SimulatedDevice, { options, ...rest }: ScanParameters = {}) {
  await using simulator = await startSimulator(device, { host: '127.0.30.1' })
  const results = await resultsOf({ ...rest, options: { ports: String(simulator.port), ...options } })
  return { results, assets: assetsIn(results), errors: errorsIn(results), simulator }
}

const requestsOf = ({ requests }: RunningSimulator) => requests.map(({ unit, bytes }) => `${unit} ${bytes}`)

describe('a Modbus device', () => {
  test('is reported with its nameplate, MAC address, IP address and firmware', async () => {
    const { results } = await scanDevice({ units: { '255': { objects: meter } } })
    assert.equal(results.length, 1)
    const [result] = results
    assert.ok(result !== undefined && 'asset' in result)
    assert.equal(result.address?.ip_address, '127.0.30.1')
    assert.equal(result.address?.unit_id, 255)
    const { asset } = result
    assert.equal(asset.name, 'Feeder 7')
    assert.deepEqual(asset.asset_identifiers, [
      { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:1E:01' },
    ])
    assert.deepEqual(JSON.parse(JSON.stringify(asset.product_instance_information)), {
      manufacturer_product: {
        manufacturer: { name: 'Schneider Electric' },
        product_id: 'AM-4711',
        product_name: 'Power meter',
        product_type: 'PM3',
        product_link: 'https://www.acme.example',
      },
    })
    assert.match(JSON.stringify(asset.software_components), /"version":"V2.11"/)
    assert.match(JSON.stringify(asset.connection_points), /"ipv4_address":"127.0.30.1"/)
  })

  test('receives requests only for the categories of its conformity level', async () => {
    const basic = { '0': 'Acme', '1': 'A1', '2': '1.0' }
    const requests = async (device: SimulatedDevice, options = {}) =>
      requestsOf((await scanDevice(device, { options })).simulator)
    assert.deepEqual(await requests({ units: { '255': { objects: basic } } }), ['255 2b0e0100'])
    assert.deepEqual(await requests({ units: { '255': { objects: meter } } }), ['255 2b0e0100', '255 2b0e0200'])
    const extended = { units: { '255': { objects: { ...meter, '128': 'S1' }, conformity: 0x83 } } }
    assert.deepEqual(await requests(extended), ['255 2b0e0100', '255 2b0e0200', '255 2b0e0300'])
    assert.deepEqual(await requests(extended, { category: 'basic' }), ['255 2b0e0100'])
  })

  test('is read completely when its answers continue, and when they arrive in pieces', async () => {
    const { assets, simulator } = await scanDevice({
      units: { '255': { objects: meter } },
      answerBytes: 30,
      pieceBytes: 1,
    })
    assert.equal(assets[0]?.name, 'Feeder 7')
    assert.ok(requestsOf(simulator).includes('255 2b0e0101'))
  })

  test('is found with unit id 1 when it does not answer to 255', async () => {
    const options = { timeout_ms: 1_000 }
    const { results, simulator } = await scanDevice({ units: { '1': { objects: meter } } }, { options })
    assert.deepEqual(
      results.map(({ address }) => address?.unit_id),
      [1],
    )
    assert.deepEqual(requestsOf(simulator).slice(0, 2), ['255 2b0e0100', '1 2b0e0100'])
    assert.equal(simulator.connections.total, 1)
  })

  test('is found with the next unit id when it closes the connection', async () => {
    const { assets, simulator } = await scanDevice({ units: { '1': { objects: meter } }, others: { answer: 'close' } })
    assert.equal(assets[0]?.name, 'Feeder 7')
    assert.equal(simulator.connections.total, 2)
  })

  test('without identification is reported with its MAC address', async () => {
    const { assets, simulator } = await scanDevice({ units: {}, others: { answer: 1 } })
    assert.equal(assets.length, 1)
    assert.equal(assets[0]?.name, undefined)
    assert.match(JSON.stringify(assets[0]?.asset_identifiers), /02:00:7F:00:1E:01/)
    assert.ok(simulator.requests.every(({ functionCode }) => functionCode === 0x2b))
  })

  test('without identification receives a request for its server id when the option allows it', async () => {
    const device = { units: { '255': { serverId: 'Oven\0controller' } }, others: { answer: 1 } }
    const { assets, simulator } = await scanDevice(device, { options: { report_server_id: true } })
    assert.equal(assets[0]?.description, 'Oven controller')
    assert.equal(requestsOf(simulator).at(-1), '255 11')
  })

  test('without a known MAC address is an error that names what is missing', async () => {
    const { results, errors } = await scanDevice({ units: { '255': { objects: meter } } }, { isRouted: true })
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['FAILED_PRECONDITION'],
    )
    assert.match(errors[0]?.message ?? '', /Schneider Electric SE AM-4711.*MAC address.*Scan from a gateway/)
    assert.equal(results[0]?.address?.ip_address, '127.0.30.1')
  })

  test('that gives no answer or no Modbus answer is an error in plain words', async () => {
    const options = { timeout_ms: 1_000, unit_ids: '255' }
    const messageOf = async (device: SimulatedDevice) => (await scanDevice(device, { options })).errors[0]?.message
    assert.match((await messageOf({ units: {} })) ?? '', /does not answer to Modbus requests for unit 255/)
    const silent = await scanDevice({ units: {} }, { options: { timeout_ms: 1_000, unit_ids: '255,1' } })
    assert.match(silent.errors[0]?.message ?? '', /does not answer to Modbus requests for the units 255, 1\.$/)
    assert.match((await messageOf({ units: {}, others: { answer: 'close' } })) ?? '', /closes the connection/)
    await using server = await startBytes(Buffer.from('SSH-2.0-OpenSSH_9.2\r\n'))
    const [error] = errorsIn(await resultsOf({ options: { ports: String(server.port) } }))
    assert.match(error?.message ?? '', /does not speak Modbus correctly/)
  })

  test('has its further categories left out when it refuses them', async () => {
    const refusal = { '0': 'Acme', '1': 'A1', '2': '1.0' }
    const { assets, simulator } = await scanDevice({ units: { '255': { objects: refusal, conformity: 0x82 } } })
    assert.match(JSON.stringify(assets), /"Acme"/)
    assert.equal(simulator.requests.length, 2)
  })
})

describe('a Modbus gateway', () => {
  const gateway = { '0': 'Acme Networks', '1': 'GW-2', '2': '3.1' }
  const unitsIn = (results: DiscoveryResult[]) => results.map(({ address }) => address?.unit_id)

  test('is reported with one asset per unit, which is a module of the gateway', async () => {
    const units = { '255': { objects: gateway }, '3': { objects: meter }, '5': { objects: meter } }
    const { results, assets } = await scanDevice(
      { units, others: { answer: 11 } },
      { options: { gateway_units: '1-6' } },
    )
    assert.deepEqual(unitsIn(results), [255, 3, 5])
    const parent = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:1E:01' }
    assert.deepEqual(assets[1]?.asset_identifiers, [
      { asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: parent, slot: 3, subslot: 0 },
    ])
    assert.deepEqual(assets[1]?.asset_relations, [
      {
        predicate: 'is_module_of',
        relational_role_of_related_asset: 'object',
        related_asset: { asset_identifiers: [parent] },
      },
    ])
  })

  test('without identification is reported with its MAC address, and its unit 1 is a module', async () => {
    for (const answer of [10, 11]) {
      const { results } = await scanDevice({ units: { '1': { objects: meter } }, others: { answer } })
      assert.deepEqual(unitsIn(results), [255, 1])
    }
    const { results } = await scanDevice({ units: {}, others: { answer: 11 } })
    assert.deepEqual(unitsIn(results), [255])
  })

  test('is not assumed for a device that ignores unit ids', async () => {
    const { results, simulator } = await scanDevice(
      { units: {}, others: { objects: gateway } },
      { options: { gateway_units: '1-247' } },
    )
    assert.deepEqual(unitsIn(results), [255])
    assert.equal(simulator.requests.length, 3)
  })

  test('has its units reported as errors when its MAC address is not known', async () => {
    const units = { '255': { objects: gateway }, '3': { objects: meter } }
    const { errors } = await scanDevice({ units }, { isRouted: true, options: { gateway_units: '3' } })
    assert.equal(errors.length, 2)
  })
})

describe('a Modbus scan', () => {
  test('finds devices among silent addresses, reports progress, and leaves out excluded addresses', async () => {
    await using first = await startSimulator({ units: { '255': { objects: meter } } }, { host: '127.0.31.3' })
    await using _second = await startSimulator(
      { units: { '255': { objects: meter } } },
      { host: '127.0.31.9', port: first.port },
    )
    const progress: number[] = []
    const permits = unlimitedPermits()
    const excluding: DiscoverCall['permits'] = {
      take: async (request) => {
        if (request.address === '127.0.31.9') throw new PermitRefusedError('excluded', 'excluded')
        return permits.take(request)
      },
    }
    const options = { ports: String(first.port) }
    const all = await resultsOf({ range: '127.0.31.0/28', options, progress: (percent) => progress.push(percent) })
    assert.deepEqual(all.map(({ address }) => address?.ip_address).toSorted(), ['127.0.31.3', '127.0.31.9'])
    assert.deepEqual([progress.length, progress.at(-1)], [16, 100])
    const allowed = await resultsOf({ range: '127.0.31.0/28', options, permits: excluding })
    assert.deepEqual(
      allowed.map(({ address }) => address?.ip_address),
      ['127.0.31.3'],
    )
    const targets = [{ address: { ip_address: '127.0.31.9' }, identifiers: [], credentials: [] }]
    const named = await resultsOf({ range: '127.0.31.0/28', options, targets })
    assert.deepEqual(
      named.map(({ address }) => address?.ip_address),
      ['127.0.31.9'],
    )
  })

  test('takes one permit for each connection and each request, and sends only the functions of its manifest', async () => {
    const permits = unlimitedPermits()
    const units = { '255': { answer: 1, serverId: 'x' }, '3': { answer: 'silent' }, '4': { answer: 'close' } } as const
    const options = { unit_ids: '255', gateway_units: '2-5', report_server_id: true, timeout_ms: 1_000 }
    const { simulator } = await scanDevice({ units, others: { answer: 11 } }, { permits, options })
    const count = (kind: string) => permits.taken.filter((permit) => permit.kind === kind).length
    assert.equal(count('request'), simulator.requests.length)
    assert.equal(count('connection'), simulator.connections.total)
    const allowed = (manifest.sends ?? []).flatMap(({ code }) => (code === undefined ? [] : [code]))
    assert.deepEqual(allowed, ['0x2B/0x0E', '0x11'])
    assert.ok(simulator.requests.every(({ bytes }) => /^(2b0e0[123]..|11)$/.test(bytes)))
    assert.ok(permits.taken.every(({ operation }) => manifest.sends?.some((one) => one.operation === operation)))
  })

  test('ends immediately when it is canceled while a device is silent, and closes its connections', async () => {
    await using simulator = await startSimulator({ units: {} }, { host: '127.0.30.1' })
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

  test('ends with the error of one address, and closes the connections to the other addresses', async () => {
    await using simulator = await startSimulator({ units: {} }, { host: '127.0.31.1' })
    const permits: DiscoverCall['permits'] = {
      take: async ({ address }) => {
        if (address === '127.0.31.1') return { [Symbol.dispose]: () => undefined }
        while (simulator.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
        throw new PermitRefusedError('hours', 'Not at this time.')
      },
    }
    const options = { ports: String(simulator.port), timeout_ms: 30_000 }
    await assert.rejects(resultsOf({ range: '127.0.31.1-127.0.31.2', options, permits }), { reason: 'hours' })
    const endedAt = performance.now()
    while (simulator.connections.open > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(performance.now() - endedAt < 15_000, 'it does not wait for the time limit')
  })

  test('takes a permit for each attempt to connect to a silent port', async () => {
    await using silent = await startSilentPort('127.0.30.1')
    const permits = unlimitedPermits()
    const options = { ports: String(silent.port), timeout_ms: 1_000 }
    assert.deepEqual(await resultsOf({ options, permits }), [])
    assert.deepEqual(
      permits.taken.map(({ operation }) => operation),
      ['Connect', 'Connect'],
    )
  })

  test('reports what it has read when the time for a device has passed', async () => {
    const device: SimulatedDevice = { units: { '255': { objects: meter } }, others: { answer: 'silent' } }
    const options = { gateway_units: '1-9', device_seconds: 2, timeout_ms: 30_000 }
    const { assets, errors } = await scanDevice(device, { options })
    assert.deepEqual(
      assets.map(({ name }) => name),
      ['Feeder 7'],
    )
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['OUT_OF_RANGE'],
    )
    assert.match(errors[0]?.message ?? '', /could not be read within 2 seconds. Set the option device_seconds/)
    const silent = await scanDevice({ units: {} }, { options: { device_seconds: 1, timeout_ms: 30_000 } })
    assert.deepEqual([silent.results.length, silent.errors[0]?.code], [1, 'OUT_OF_RANGE'])
  })

  test('does not count a pause of its process as silence of a device', async () => {
    await using simulator = await startSimulator({ units: { '255': { objects: meter } } }, { host: '127.0.30.1' })
    const pausing: DiscoverCall['permits'] = {
      take: async ({ kind }) => {
        const pause = () => {
          const endMs = performance.now() + 1_200
          while (performance.now() < endMs);
        }
        // The connection is opened in the next tick, and the pause begins in the tick after it.
        if (kind === 'connection') process.nextTick(() => process.nextTick(() => process.nextTick(pause)))
        return { [Symbol.dispose]: () => undefined }
      },
    }
    const options = { ports: String(simulator.port), timeout_ms: 1_000 }
    assert.equal(assetsIn(await resultsOf({ options, permits: pausing })).length, 1)
  })

  test('ends with the reason when the budget does not allow Modbus', async () => {
    const refusing = { take: () => Promise.reject(new PermitRefusedError('protocol', 'Modbus is not allowed.')) }
    await assert.rejects(resultsOf({ permits: refusing }), { message: 'Modbus is not allowed.' })
  })

  test('reads any text with unit ids and ports as numbers within their limits, or rejects it', () => {
    const part = fc.oneof(fc.constantFrom('1', '255', '247', '-', ',', ' ', '300', '65535', '99999'), fc.string())
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const text = parts.join('')
        try {
          const options = scanOptionsOf({ ...defaults, unit_ids: text, gateway_units: text, ports: text })
          assert.ok(options.unitIds.every((unit) => Number.isInteger(unit) && unit >= 0 && unit <= 255))
          assert.ok(options.gatewayUnits.every((unit) => unit >= 1 && unit <= 247))
          assert.ok(options.ports.length <= 1_024 && options.ports.every((port) => port >= 1 && port <= 65_535))
        } catch (error) {
          assert.equal((error as { code: string }).code, 'INVALID_ARGUMENT')
        }
      }),
    )
  })

  test('rejects invalid options', async () => {
    const invalid = [
      { unit_ids: '' },
      { unit_ids: '256' },
      { gateway_units: '0-3' },
      { gateway_units: 'all' },
      { category: 'all' },
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
  const read = (device: Partial<Target>) => {
    const call = { device: { address: {}, identifiers: [], credentials: [], ...device }, keys: [], log: silentLog }
    return properties({ ...call, signal: new AbortController().signal, permits: unlimitedPermits() }, neighbours)
  }

  test('contain the complete nameplate of a device and of a unit behind a gateway', async () => {
    const extended = { ...meter, '128': 'S/N 77', '129': 'hex:00ff10', '130': 'hex:4dfc6c6c6572' }
    const units = { '255': { objects: { '0': 'Acme', '1': 'GW', '2': '1' } }, '7': { objects: extended } }
    await using simulator = await startSimulator({ units }, { host: '127.0.30.1' })
    const address = { ip_address: '127.0.30.1', port: simulator.port, unit_id: 7 }
    const parent = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:7F:00:1E:01' }
    const identifiers = [{ asset_identifier_type: 'ParentRelativeIdentifier', parent_identifier: parent, slot: 7 }]
    const values = await read({ address, identifiers })
    assert.deepEqual(values.modbus, {
      unit_id: 7,
      conformity_level: 3,
      vendor_name: 'Schneider Electric SE',
      product_code: 'AM-4711',
      revision: 'V2.11',
      vendor_url: 'www.acme.example',
      product_name: 'Power meter',
      model_name: 'PM3',
      user_application_name: 'Feeder 7',
      private_objects: { '128': 'S/N 77', '130': 'Müller' },
    })
    assert.match(JSON.stringify(values.asset_relations), /is_module_of/)
    const byMac = await read({ address: { port: simulator.port }, identifiers: [parent] })
    assert.equal((byMac.modbus as Record<string, unknown>).product_code, 'GW')
  })

  test('are UNAVAILABLE for a device that does not answer or is not known', async () => {
    await assert.rejects(read({ address: { ip_address: '127.0.30.77', port: 1 } }), { code: 'UNAVAILABLE' })
    const unknown = { address: {}, identifiers: [], credentials: [] }
    const call = { device: unknown, keys: [], signal: new AbortController().signal, permits: unlimitedPermits() }
    await assert.rejects(properties({ ...call, log: silentLog }, behindRouter), { code: 'UNAVAILABLE' })
  })
})

test('the Modbus link conforms to the protocol', async () => {
  await using simulator = await startSimulator({ units: { '255': { objects: meter } } }, { host: '127.0.30.1' })
  await using running = await startLink(modbusLink(neighbours), { logLevel: 'silent' })
  const request = {
    filters: [{ key: 'ip_range', value: variantOf('127.0.30.0/30') }],
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

describe('the parser of identifications', () => {
  const answer = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
  const textsIn = (body: Buffer) => {
    const parsed = parseIdentification(body)
    assert.ok(typeof parsed !== 'string')
    return { ...parsed, objects: [...parsed.objects].map(([id, value]) => [id, value.toString()]) }
  }

  test('reads the example of the specification in two answers, whose counts include objects of the other one', () => {
    const company = Buffer.from('Company identification').toString('hex')
    const product = Buffer.from('Product code XXXXXXXXXXXXXXX').toString('hex')
    const first = textsIn(answer(`2B 0E 01 01 FF 02 03 00 16 ${company} 01 1C ${product}`))
    assert.deepEqual(first, {
      conformityLevel: 1,
      nextObject: 2,
      objects: [
        [0, 'Company identification'],
        [1, 'Product code XXXXXXXXXXXXXXX'],
      ],
    })
    const second = textsIn(answer(`2B 0E 01 01 00 00 03 02 05 ${Buffer.from('V2.11').toString('hex')}`))
    assert.deepEqual(second, { conformityLevel: 1, nextObject: undefined, objects: [[2, 'V2.11']] })
  })

  test('rejects truncated and wrong lengths', () => {
    assert.equal(parseIdentification(answer('2B 0E 01 01 00 00')), 'its identification is incomplete')
    for (const objects of ['00', '00 05 41', '00 01 41 01 FF'])
      assert.equal(
        parseIdentification(answer(`2B 0E 01 01 00 00 03 ${objects}`)),
        'the length of an identification object is wrong',
      )
  })

  test('never throws for random bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void parseIdentification(Buffer.from(bytes))))
  })
})

describe('a hostile device', () => {
  /** Frames of an answer to transaction 1 and further ones, with random and nearly correct content. */
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 260 }),
    fc
      .record({ more: fc.constantFrom(0, 255), next: fc.nat(255), count: fc.nat(255), rest: fc.uint8Array() })
      .map(({ more, next, count, rest }) => Uint8Array.from([0x2b, 0x0e, 1, 0x83, more, next, count, ...rest])),
  )
  const frame = fc.tuple(body, fc.nat(4), fc.integer({ min: -3, max: 3 })).map(([content, transaction, error]) => {
    const header = Buffer.alloc(7)
    header.writeUInt16BE(transaction, 0)
    header.writeUInt16BE(Math.max(0, content.length + 1 + error), 4)
    return Buffer.concat([header, content])
  })

  test('can only be reported as faulty', async () => {
    let bytes: Buffer = Buffer.alloc(0)
    await using server = await listen((socket) => void socket.on('data', () => socket.end(bytes)))
    const options = { ports: String(server.port), report_server_id: true }
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 6 }), async (frames) => {
        bytes = Buffer.concat(frames)
        const results = await resultsOf({ options })
        assert.equal(results.length, 1)
      }),
      { numRuns: 100 },
    )
  })

  test('that continues its answers without end receives a limited number of requests', async () => {
    const requests: number[] = []
    await using server = await startAnswering((request) => {
      requests.push(request.length)
      const next = Math.min(255, (request[10] ?? 0) + 1)
      return [0x2b, 0x0e, 1, 1, 255, next, 1, next, 1, 65]
    })
    const results = await resultsOf({ options: { ports: String(server.port) } })
    assert.equal(assetsIn(results).length, 1)
    assert.equal(requests.length, 32)
  })

  test('that sends data without end is disconnected', async () => {
    await using server = await startBytes(Buffer.alloc(1_000_000, Buffer.from('000900000003010102', 'hex')))
    const [error] = errorsIn(await resultsOf({ options: { ports: String(server.port), unit_ids: '255' } }))
    assert.match(error?.message ?? '', /answers without requests/)
  })
})

describe('an independent Modbus server', () => {
  const folder = mkdtemp(join(tmpdir(), 'millwright-modbus-'))
  after(async () => rm(await folder, { recursive: true, force: true }))

  test('modbus-serial is identified, with regular and private objects, and nothing is read or written besides', async () => {
    const others: string[] = []
    const record = (name: string) => () => void others.push(name)
    const vector = {
      readDeviceIdentification: () => ({
        ...{ 0: 'Modbus Serial', 1: 'MS-1', 2: '8.0', 4: 'Server', 5: 'M', 6: 'Hall 4' },
        ...{ 151: 'SN-0816', 171: 'y'.repeat(200) },
      }),
      ...{ getCoil: record('getCoil'), getHoldingRegister: record('getHoldingRegister') },
      ...{ setCoil: record('setCoil'), setRegister: record('setRegister') },
    }
    // The server takes the number 0 for a missing port, but not the text.
    const options = { host: '127.0.30.1', port: '0' as unknown as number, unitID: 1 }
    const server = new modbusSerial.ServerTCP(vector as unknown as IServiceVector, options)
    await once(server, 'initialized')
    const { port } = (server as unknown as { _server: Server })._server.address() as AddressInfo
    try {
      const results = await resultsOf({ range: '127.0.30.1', options: { ports: String(port), unit_ids: '1' } })
      assert.deepEqual(errorsIn(results), [])
      const [asset] = assetsIn(results)
      assert.equal(asset?.name, 'Hall 4')
      assert.match(JSON.stringify(asset?.product_instance_information), /"Modbus Serial".*"MS-1".*"Server"/)
      const address = { ip_address: '127.0.30.1', port, unit_id: 1 }
      const device = { address, identifiers: [], credentials: [] }
      const signal = new AbortController().signal
      const call = { device, keys: [], signal, permits: unlimitedPermits(), log: silentLog }
      const { modbus } = await properties(call, neighbours)
      assert.deepEqual((modbus as Record<string, unknown>).private_objects, {
        '151': 'SN-0816',
        '171': 'y'.repeat(200),
      })
      assert.deepEqual(others, [])
    } finally {
      await new Promise<void>((resolve) => server.close(() => resolve()))
    }
  })

  test('pymodbus is identified, with regular and private objects', async (t) => {
    const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'
    const script = join(await folder, 'server.py')
    await writeFile(script, pymodbusServer)
    const child = spawn(python, [script], { stdio: ['ignore', 'pipe', 'ignore'] })
    const exited = once(child, 'close').catch(() => undefined)
    child.on('error', () => undefined)
    try {
      const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), exited.then(() => [undefined])])
      if (line === undefined) return t.skip('pymodbus is not installed')
      const options = { ports: String(line) }
      const results = await resultsOf({ range: '127.0.0.1', options })
      const [asset] = assetsIn(results)
      assert.equal(asset?.name, 'Hall 3')
      assert.match(JSON.stringify(asset?.product_instance_information), /"Pymodbus".*"PM-1".*"Pymodbus server"/)
      const unit = { ip_address: '127.0.0.1', port: Number(line), unit_id: 255 }
      const device = { address: unit, identifiers: [], credentials: [] }
      const signal = new AbortController().signal
      const call = { device, keys: [], signal, permits: unlimitedPermits(), log: silentLog }
      const { modbus } = await properties(call, neighbours)
      assert.deepEqual((modbus as Record<string, unknown>).private_objects, {
        '128': 'SN-0815',
        '129': 'x'.repeat(240),
      })
    } finally {
      child.kill()
      await exited
    }
  })
})

const pymodbusServer = `
import asyncio
from pymodbus import ModbusDeviceIdentification
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import SimData, SimDevice, DataType

async def main():
    identity = ModbusDeviceIdentification(info={
        0: "Pymodbus", 1: "PM-1", 2: "3.0", 3: "https://pymodbus.example", 4: "Pymodbus server", 5: "M", 6: "Hall 3",
        0x80: "SN-0815", 0x81: "x" * 240})
    device = SimDevice(0, simdata=[SimData(0, count=10, values=0, datatype=DataType.REGISTERS)])
    server = ModbusTcpServer(device, identity=identity, address=("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve_forever())
    while server.transport is None:
        await asyncio.sleep(0.01)
    print(server.transport.sockets[0].getsockname()[1], flush=True)
    await serving

asyncio.run(main())
`

type ByteServer = AsyncDisposable & { port: number }

/** Starts a server that answers each request with the same bytes. */
async function startBytes(bytes: Buffer): Promise<ByteServer> {
  return listen((socket) => void socket.on('data', () => socket.write(bytes)))
}

/** Starts a server that answers each request with a Modbus frame. */
async function startAnswering(answer: (request: Buffer) => number[]): Promise<ByteServer> {
  return listen((socket) => {
    socket.on('data', (request: Buffer) => {
      const content = answer(request)
      socket.write(Buffer.from([...request.subarray(0, 5), content.length + 1, request[6] ?? 0, ...content]))
    })
  })
}

async function listen(serve: (socket: import('node:net').Socket) => void): Promise<ByteServer> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    serve(socket)
  })
  server.listen(0, '127.0.30.1')
  await once(server, 'listening')
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}
