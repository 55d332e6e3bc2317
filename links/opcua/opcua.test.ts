import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { PermitIssuer } from '@millwright/api/permit-issuer.ts'
import { defaultBudget, type PermitRequest } from '@millwright/api/scan-budget.ts'
import { variantOf } from '@millwright/api/variant.ts'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { readCredential } from '@millwright/link-sdk/credential.ts'
import type { DiscoverCall, DiscoveryResult, Target } from '@millwright/link-sdk/define-link.ts'
import { PermitRefusedError, type Permits } from '@millwright/link-sdk/network/permits.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { clientCertificate } from './client-certificate.ts'
import { mostRequests } from './device.ts'
import { discover } from './discover.ts'
import { loadLibrary } from './library.ts'
import { link } from './link.ts'
import { manifest } from './manifest.ts'
import { walkLimits } from './nameplate.ts'
import { defaultOptions } from './options.ts'
import { properties } from './properties.ts'
import { type SimulatedServer, startSimulator } from './simulator.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Long limits for servers on this machine, which can be busy. */
const patient = { timeout_ms: 10_000, answer_timeout_ms: 30_000 }

type ScanSettings = Partial<Omit<DiscoverCall, 'options'>> & { port: number; range?: string; options?: object }

function scanning({ port, range = '127.0.0.1', options, ...more }: ScanSettings) {
  return discover({
    filters: [{ key: 'ip_range', operator: 'EQUAL', value: range }],
    options: { ...defaultOptions, ports: String(port), ...patient, ...options },
    targets: [],
    progress: () => undefined,
    signal: new AbortController().signal,
    log: silent,
    permits: unlimitedPermits(),
    ...more,
  })
}
const scan = (settings: ScanSettings) => Array.fromAsync(scanning(settings))
const assetsIn = (all: DiscoveryResult[]) => all.flatMap((one) => ('asset' in one ? [one.asset] : []))
const errorsIn = (all: DiscoveryResult[]) => all.flatMap((one) => ('error' in one ? [one] : []))
const credentialOf = (fields: Record<string, string>) => readCredential({ schemaUri: '', text: JSON.stringify(fields) })
const targetAt = (port: number, fields?: Record<string, string>): Target => ({
  address: { ip_address: '127.0.0.1', port },
  identifiers: [],
  credentials: fields === undefined ? [] : [credentialOf(fields)],
})

const controller: SimulatedServer = {
  application: { uri: 'urn:example:controller', productUri: 'urn:example', name: 'Controller' },
  build: { manufacturer: 'Example Controls', product: 'Controller server', version: '3.1', number: '9' },
  devices: [
    {
      name: 'PLC_1',
      properties: {
        Manufacturer: 'Example Controls',
        Model: 'Controller 15',
        SerialNumber: 'C-1001',
        OrderNumber: 'CTRL 15-0',
        HardwareRevision: '4',
        SoftwareRevision: 'V2.9.7',
      },
    },
  ],
}

async function testCertificate(): Promise<string> {
  return new X509Certificate((await clientCertificate(await loadLibrary())).der).toString()
}

test('the OPC UA link conforms to the protocol', async () => {
  await using server = await startSimulator(controller)
  await using running = await startLink(link, { logLevel: 'silent' })
  const request = {
    filters: [{ key: 'ip_range', value: variantOf('127.0.0.1') }],
    options: Object.entries({ ports: String(server.port), ...patient }).map(([key, value]) => ({
      key,
      value: variantOf(value),
    })),
  }
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, request, withinMs: 120_000 }))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.ok(results.length > 10)
})

test('properties are not read with credentials if the call does not name the address', async () => {
  await using server = await startSimulator(controller)
  const [found] = assetsIn(await scan({ port: server.port }))
  const identifiers = found?.asset_identifiers as Target['identifiers']
  const call = { signal: new AbortController().signal, permits: unlimitedPermits(), home: '' }
  const read = (more: Partial<Target>) =>
    properties({ ...call, device: { address: {}, identifiers, credentials: [], ...more } })
  assert.equal((await read({})).name, found?.name)
  const credentials = [credentialOf({ username: 'reader', password: 'secret' })]
  await assert.rejects(read({ credentials }), { code: 'INVALID_ARGUMENT' })
})

describe('a server', () => {
  test('is read over the selected interface', async () => {
    await using server = await startSimulator(controller)
    assert.equal(assetsIn(await scan({ port: server.port, options: { interface: 'lo' } })).length, 1)
  })

  test('becomes an asset with its nameplate, software and endpoints', async () => {
    const certificate = await testCertificate()
    await using server = await startSimulator({ ...controller, certificate })
    const [result, ...others] = await scan({ port: server.port })
    assert.deepEqual(others, [])
    assert.ok(result !== undefined && 'asset' in result)
    assert.deepEqual(result.address, { ip_address: '127.0.0.1', port: server.port })
    const hash = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase()
    assert.deepEqual(result.asset.asset_identifiers, [
      {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Example Controls',
        article_number: 'CTRL 15-0',
        serial_number: 'C-1001',
      },
      { asset_identifier_type: 'CertificateIdentifier', certificate_id: hash },
    ])
    assert.deepEqual(JSON.parse(JSON.stringify(result.asset.product_instance_information)), {
      serial_number: 'C-1001',
      manufacturer_product: {
        manufacturer: { name: 'Example Controls' },
        product_id: 'CTRL 15-0',
        product_version: '4',
        product_name: 'Controller 15',
      },
    })
    const text = JSON.stringify(result.asset)
    assert.match(text, /"name":"Firmware","version":"V2.9.7"/)
    assert.match(text, /"name":"Controller server","version":"3.1 \(9\)"/)
    assert.match(text, /"ipv4_address":"127.0.0.1"/)
    assert.match(text, /endpoint.1","value":"opc.tcp:\/\/127.0.0.1:\d+ None None \(Anonymous\)"/)
    assert.match(text, /certificate_valid_to","value":"20\d\d-/)
  })

  test('takes one permit for each connection and each request, all of the table of sent functions', async () => {
    await using server = await startSimulator({ ...controller, certificate: await testCertificate() })
    const permits = unlimitedPermits()
    await scan({ port: server.port, permits })
    const ofKind = (kind: PermitRequest['kind']) => permits.taken.filter((one) => one.kind === kind)
    assert.equal(ofKind('connection').length, server.connections)
    assert.deepEqual(
      permits.taken.map(({ operation }) => operation),
      server.received,
    )
    const known = (manifest.sends ?? []).map(({ operation }) => operation)
    assert.deepEqual(
      server.received.filter((name) => !known.includes(name)),
      [],
    )
    for (const needed of ['GetEndpoints', 'Browse', 'Read', 'CloseSession', 'CloseSecureChannel']) {
      assert.ok(server.received.includes(needed), needed)
    }
  })

  test('holds the permit of a connection until the connection is closed', async () => {
    await using server = await startSimulator(controller)
    let held = 0
    const take = async ({ kind }: PermitRequest) => {
      if (kind === 'connection') held += 1
      assert.equal(held, 1)
      return { [Symbol.dispose]: () => (kind === 'connection' ? held-- : undefined) }
    }
    assert.equal(assetsIn(await scan({ port: server.port, permits: { take } })).length, 1)
    assert.equal(held, 0)
  })

  test('is read the same way when its messages have many chunks', async () => {
    await using whole = await startSimulator(controller)
    await using divided = await startSimulator(controller, { chunkBytes: 100 })
    const [expected] = assetsIn(await scan({ port: whole.port }))
    const [asset] = assetsIn(await scan({ port: divided.port }))
    assert.deepEqual(asset?.product_instance_information, expected?.product_instance_information)
  })

  test('without devices is identified by its certificate', async () => {
    const { devices: _devices, ...rest } = controller
    await using server = await startSimulator({ ...rest, certificate: await testCertificate() })
    const [asset] = assetsIn(await scan({ port: server.port }))
    assert.match(JSON.stringify(asset?.asset_identifiers), /CertificateIdentifier/)
    assert.match(JSON.stringify(asset?.product_instance_information), /Example Controls/)
  })

  test('without any identifier is an error that names what is missing', async () => {
    await using server = await startSimulator({})
    const [one, ...others] = await scan({ port: server.port })
    assert.deepEqual(others, [])
    assert.ok(one !== undefined && 'error' in one)
    assert.equal(one.error.code, 'FAILED_PRECONDITION')
    assert.match(one.error.message, /certificate.*serial number.*MAC address/)
  })
})

describe('the devices of a server', () => {
  const device = (name: string, serial?: string) => ({
    name,
    properties: {
      Manufacturer: 'Example Controls',
      Model: 'EC-1',
      ...(serial === undefined ? {} : { SerialNumber: serial }),
    },
  })

  test('are modules of the server if there are several, and of the device that contains them', async () => {
    const nested = { ...device('Rack', 'R-1'), devices: [{ ...device('Input', 'I-1'), isGrouped: true }] }
    const devices = [nested, device('Drive', 'D-1'), device('Blank')]
    await using server = await startSimulator({ ...controller, devices, certificate: await testCertificate() })
    const results = await scan({ port: server.port })
    const parents = assetsIn(results).map(({ name, asset_relations }) => {
      const text = JSON.stringify(asset_relations ?? null)
      assert.ok(asset_relations === undefined || text.includes('is_module_of'))
      return [name, /R-1/.test(text) ? 'Rack' : /CertificateIdentifier/.test(text) ? 'server' : undefined]
    })
    assert.deepEqual(parents, [
      ['Controller', undefined],
      ['Rack', 'server'],
      ['Drive', 'server'],
      ['Input', 'Rack'],
    ])
    const [error] = errorsIn(results)
    assert.match(error?.error.message ?? '', /no serial number with manufacturer and product: Blank/)
    const modules = results.map(({ address }) => address?.device).filter((path) => path !== undefined)
    assert.deepEqual(modules, ['Rack', 'Drive', 'Rack/Input'])
  })

  test('are read one at a time on demand', async () => {
    const devices = [device('Drive 1', 'D-1'), device('Drive 2', 'D-2')]
    await using server = await startSimulator({ ...controller, devices, certificate: await testCertificate() })
    const call = { permits: unlimitedPermits(), signal: new AbortController().signal }
    const at = (name: string): Target => ({
      ...targetAt(server.port),
      address: { ...targetAt(server.port).address, device: name },
    })
    assert.match(JSON.stringify(await properties({ ...call, device: at('Drive 2') })), /D-2/)
    await assert.rejects(properties({ ...call, device: at('Drive 3') }), { code: 'NOT_FOUND' })
  })

  test('are limited in number, and so are the requests for them', async () => {
    const devices = Array.from({ length: 450 }, (_, index) => device(`Drive ${index}`, `D-${index}`))
    await using server = await startSimulator({ ...controller, devices, certificate: await testCertificate() })
    const assets = assetsIn(await scan({ port: server.port }))
    assert.equal(assets.length, walkLimits.devices + 1)
    assert.ok(server.received.includes('BrowseNext'))
    assert.ok(server.received.length <= mostRequests)
  })
})

describe('a protected server', () => {
  const users = { operator: 'the password' }
  const right = { username: 'operator', password: 'the password' }

  test('is an asset by its certificate, and an error that requests credentials', async () => {
    const endpoints = [{ mode: 'SignAndEncrypt', policy: 'Basic256Sha256', users: ['UserName'] }] as const
    await using server = await startSimulator({ ...controller, endpoints, certificate: await testCertificate() })
    const results = await scan({ port: server.port })
    assert.match(JSON.stringify(assetsIn(results)), /CertificateIdentifier.*SignAndEncrypt \(UserName\)/)
    const [error] = errorsIn(results)
    assert.equal(error?.error.code, 'UNAUTHENTICATED')
    assert.deepEqual(error?.address, { ip_address: '127.0.0.1', port: server.port })
    assert.ok(!server.received.includes('CreateSession'))
    const call = { device: targetAt(server.port), permits: unlimitedPermits(), signal: new AbortController().signal }
    await assert.rejects(properties(call), { code: 'UNAUTHENTICATED' })
  })

  test('needs only one connection at a time, also for a secured endpoint', async () => {
    const certificate = await testCertificate()
    const endpoints = [{ mode: 'SignAndEncrypt', policy: 'Basic256Sha256', users: ['Anonymous'] }] as const
    await using server = await startSimulator({ ...controller, certificate, endpoints })
    const perDevice = { ...defaultBudget.perDevice, connections: 1 }
    const issuer = new PermitIssuer({ ...defaultBudget, perDevice, localAddresses: true })
    const { signal } = new AbortController()
    const permits: Permits = { take: (request) => issuer.take(request, { signal }) }
    const results = await scan({ port: server.port, permits, options: { device_seconds: 60 } })
    assert.equal(assetsIn(results).length, 1)
    // The simulator rejects secured channels.
    assert.deepEqual(server.received.filter((name) => name === 'OpenSecureChannel').length, 2)
  })

  test('does not receive a password over a channel without encryption, unless the option allows it', async () => {
    const endpoints = [{ mode: 'None', policy: 'None', users: ['UserName'] }] as const
    await using server = await startSimulator({ ...controller, endpoints, users })
    const targets = [targetAt(server.port, right)]
    const [refused] = errorsIn(await scan({ port: server.port, targets }))
    assert.equal(refused?.error.code, 'FAILED_PRECONDITION')
    assert.match(refused?.error.message ?? '', /allow_plain_password/)
    assert.ok(!server.received.includes('ActivateSession'))

    const options = { allow_plain_password: true }
    assert.match(JSON.stringify(await scan({ port: server.port, targets, options })), /C-1001/)
    const wrong = [targetAt(server.port, { ...right, password: 'guess' })]
    const [rejected] = errorsIn(await scan({ port: server.port, targets: wrong, options }))
    assert.equal(rejected?.error.code, 'UNAUTHENTICATED')
    assert.ok(!rejected?.error.message.includes('guess'))
  })

  test('is read without credentials if it does not accept those for all servers', async () => {
    await using server = await startSimulator(controller)
    const targets = [{ ...targetAt(server.port, right), address: {} }]
    const results = await scan({ port: server.port, targets })
    assert.equal(assetsIn(results).length, 1)
    assert.deepEqual(errorsIn(results), [])
  })

  test('is an error if the credentials have the wrong fields', async () => {
    const pem = { certificate: 'no PEM', private_key: 'no PEM' }
    for (const fields of [{ user: 'x' }, pem]) {
      await assert.rejects(scan({ port: 4840, targets: [targetAt(4840, fields)] }), { code: 'INVALID_ARGUMENT' })
    }
  })
})

describe('a scan', () => {
  test('finds servers at several addresses, and nothing at silent addresses', async () => {
    await using first = await startSimulator(controller, { host: '127.0.1.1' })
    const other = { ...controller, devices: [{ name: 'X', properties: { Manufacturer: 'E', SerialNumber: 'X-2' } }] }
    await using _second = await startSimulator(other, { host: '127.0.1.3', port: first.port })
    const reported: number[] = []
    const progress = (percent: number) => reported.push(percent)
    const results = await scan({ port: first.port, range: '127.0.1.0/29', progress })
    assert.deepEqual(results.map(({ address }) => address?.ip_address).toSorted(), ['127.0.1.1', '127.0.1.3'])
    assert.deepEqual([reported.length, reported.at(-1)], [8, 100])
  })

  test('reports a port with another protocol as an error, and continues', async () => {
    const sockets = createServer((socket) =>
      socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    await new Promise<void>((resolve) => sockets.listen(0, '127.0.1.1', resolve))
    const { port } = sockets.address() as { port: number }
    await using _server = await startSimulator(controller, { host: '127.0.1.2', port })
    const results = await scan({ port, range: '127.0.1.1-127.0.1.2' })
    sockets.close()
    assert.equal(assetsIn(results).length, 1)
    assert.match(errorsIn(results)[0]?.error.message ?? '', /does not answer in the OPC UA protocol/)
  })

  test('skips excluded addresses, and ends when the protocol is not allowed', async () => {
    await using server = await startSimulator(controller)
    const refuse = (reason: 'excluded' | 'protocol') => ({
      take: () => Promise.reject(new PermitRefusedError(reason, 'not allowed')),
    })
    assert.deepEqual(await scan({ port: server.port, permits: refuse('excluded') }), [])
    await assert.rejects(scan({ port: server.port, permits: refuse('protocol') }), { code: 'PERMISSION_DENIED' })
    assert.equal(server.connections, 0)
  })

  test('reads the servers that a discovery server lists at the same address', async () => {
    await using server = await startSimulator(controller)
    const listed = [
      { uri: 'urn:a', name: 'A', urls: [`opc.tcp://127.0.0.1:${server.port}/a`] },
      { uri: 'urn:b', name: 'B', urls: ['opc.tcp://192.0.2.7:4840', 'http://127.0.0.1:80'] },
    ]
    const application = { uri: 'urn:lds', name: 'LDS', type: 'discovery server' } as const
    await using directory = await startSimulator({ application, listed, certificate: await testCertificate() })
    const results = await scan({ port: directory.port })
    assert.deepEqual(
      assetsIn(results).map(({ name }) => name),
      ['PLC_1'],
    )
    const options = { follow_discovery_servers: false }
    assert.deepEqual(await scan({ port: directory.port, options }), [])
  })

  test('stops after cancellation without waiting for an answer, and sends nothing afterwards', async () => {
    for (const step of ['Hello', 'OpenSecureChannel', 'GetEndpoints', 'CreateSession', 'Read']) {
      const canceling = new AbortController()
      const reached = Promise.withResolvers<void>()
      const alter = (message: Buffer, request: string) => {
        if (request !== step) return message
        reached.resolve()
        return undefined
      }
      await using server = await startSimulator(controller, { alter })
      const scanned = scan({ port: server.port, signal: canceling.signal, options: { timeout_ms: 30_000 } })
      await reached.promise
      const canceledMs = performance.now()
      canceling.abort()
      await assert.rejects(scanned, { name: 'AbortError' })
      assert.ok(performance.now() - canceledMs < 15_000, step)
      assert.equal(server.received.at(-1), step)
    }
  })

  test('ends with the error of one address, and closes the connections to the other addresses', async () => {
    const reached = Promise.withResolvers<void>()
    const alter = (message: Buffer, request: string) => {
      if (request !== 'GetEndpoints') return message
      reached.resolve()
      return undefined
    }
    await using server = await startSimulator(controller, { alter })
    const take = async ({ address }: PermitRequest) => {
      if (address === '127.0.0.1') return { [Symbol.dispose]: () => undefined }
      await reached.promise
      throw new PermitRefusedError('hours', 'Not at this time.')
    }
    const scanned = scan({ port: server.port, range: '127.0.0.1-127.0.0.2', permits: { take } })
    await assert.rejects(scanned, { reason: 'hours' })
    const endedMs = performance.now()
    while (server.open() > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(performance.now() - endedMs < 15_000, 'it does not wait for the time limit')
  })

  test('sends nothing to targets that the filter excludes', async () => {
    await using server = await startSimulator(controller)
    const filters = [
      { key: 'ip_range', operator: 'EQUAL', value: '127.0.0.1' },
      { key: 'exclude', operator: 'EQUAL', value: '127.0.0.1' },
    ] as const
    const permits = unlimitedPermits()
    const settings = { port: server.port, filters: [...filters], targets: [targetAt(server.port)], permits }
    assert.deepEqual(await scan(settings), [])
    assert.deepEqual(permits.taken, [])
  })

  test('reports what it has read when the time for a server has passed', async () => {
    const certificate = await testCertificate()
    const silentAt = async (step: string, options: object) => {
      const alter = (message: Buffer, request: string) => (request === step ? undefined : message)
      await using server = await startSimulator({ ...controller, certificate }, { alter })
      const results = await scan({ port: server.port, options })
      return { assets: assetsIn(results), errors: errorsIn(results).map(({ error }) => error) }
    }
    const { assets, errors } = await silentAt('Read', { device_seconds: 2 })
    assert.match(JSON.stringify(assets), /CertificateIdentifier/)
    assert.deepEqual([assets.length, errors.map(({ code }) => code)], [1, ['OUT_OF_RANGE']])
    assert.match(errors[0]?.message ?? '', /could not be read within 2 seconds. Set the option device_seconds/)
    const silent = await silentAt('Hello', { device_seconds: 1 })
    assert.deepEqual([silent.assets, silent.errors.map(({ code }) => code)], [[], ['OUT_OF_RANGE']])
  })

  test('does not count a pause of its process as silence of a server', async () => {
    await using server = await startSimulator(controller)
    let pauses = 0
    const take = async ({ kind }: PermitRequest) => {
      const pause = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
      if (kind === 'request' && ++pauses <= 2) setImmediate(pause)
      return { [Symbol.dispose]: () => undefined }
    }
    const options = { answer_timeout_ms: 500 }
    assert.equal(assetsIn(await scan({ port: server.port, permits: { take }, options })).length, 1)
  })

  test('rejects invalid options', async () => {
    const limits = [
      { answer_timeout_ms: 1 },
      { device_seconds: 0 },
      { parallel: 0 },
      { interface: 'no-such-interface' },
    ]
    for (const options of [{ ports: '0' }, { ports: '' }, { timeout_ms: 1 }, ...limits]) {
      await assert.rejects(scan({ port: 4840, options }), { code: 'INVALID_ARGUMENT' })
    }
  })
})

test('the library is loaded only with the first call', () => {
  const files = globSync('*.ts', { cwd: import.meta.dirname }).filter((file) => !file.endsWith('.test.ts'))
  const statics = files.filter((file) =>
    /^import (?!type)[^'"]*from 'node-opcua/m.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
  )
  assert.deepEqual(statics, [])
})

test('the client certificate is stored in the home of the link, with a private key that only the owner can read', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'millwright-opcua-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const library = await loadLibrary()
  const { der, applicationUri } = await clientCertificate(library, join(folder, 'certificates'))
  const stored = new X509Certificate(await readFile(join(folder, 'certificates', 'certificate.pem')))
  assert.deepEqual(stored.raw, der)
  assert.match(applicationUri, /^urn:.*:millwright:links:opcua$/)
  assert.equal((await stat(join(folder, 'certificates', 'key.pem'))).mode & 0o777, 0o600)
  await assert.rejects(clientCertificate(library, '/dev/null/certificates'), { code: 'FAILED_PRECONDITION' })
})

test('an array of empty values with a huge length is refused', async () => {
  const { Variant } = await loadLibrary()
  const numbers: Record<string, number> = { readUInt8: 0x80, readUInt32: 1_000_000 }
  const stream = new Proxy({}, { get: (_, method) => () => numbers[String(method)] })
  assert.throws(() => new Variant().decode(stream as never), /maxArrayLength\(1000\)/)
})
