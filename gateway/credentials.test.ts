import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { status } from '@grpc/grpc-js'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { defineLink, type Target } from '@millwright/link-sdk/define-link.ts'
import { type RunningLink, startLink } from '@millwright/link-sdk/start-link.ts'
import { link as plant } from '@millwright/links/plant/link.ts'
import { addressIn } from './device-info/device-address.ts'
import { DeviceConnections } from './device-info/device-connections.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { createLog } from './log.ts'
import { Secret } from './secret.ts'
import { askRegistry, settingsFor, TestCloud, TestLink, temporaryFolder, until } from './testing.ts'

const linkId = plant.manifest.id
/** A text that every secret in this file contains, so that the tests find a leak. */
const planted = 'planted-secret'

const id = (number: number) => `0198f0c2-7b1e-7c3a-9d55-${String(number).padStart(12, '0')}`
const credential = (number: number, username: string, password: string) => ({
  instanceId: id(number),
  schemaUri: 'urn:millwright:links:plant:credentials:1',
  credentials: JSON.stringify({ username, password }),
})
const wrong = (number: number) => credential(number, 'user', `${planted}-${number}`)
const right = (number: number) => credential(number, 'user', 'user_password')

// biome-ignore lint/suspicious/noExplicitAny: calls of a library without types
type Call = any

/** Returns how many devices and errors the gateway uploaded for a job. */
const reported = (cloud: TestCloud, job: string) => [cloud.found(job).length, cloud.errors(job).length]

describe('a gateway with protected devices', () => {
  let cloud: TestCloud
  let gateway: RunningGateway
  let link: RunningLink
  const lines: string[] = []
  const home = temporaryFolder()

  before(async () => {
    cloud = await TestCloud.start()
    cloud.configure(home)
    const log = createLog({ level: 'debug', to: { write: (line: string) => void lines.push(line) } })
    gateway = await startGateway(settingsFor(home), { log, renewEveryMs: 50 })
    link = await startLink(plant, { registry: `127.0.0.1:${gateway.registryPort}`, logLevel: 'silent' })
    await until(() => cloud.callsOf('reportLinks').at(-1)?.body.data.links[0]?.state === 'running')
  })
  after(async () => {
    await link.stop()
    await gateway.stop()
    await cloud.stop()
  })
  beforeEach(() => {
    cloud.credentials.clear()
    cloud.answering = () => undefined
  })

  const ended = async (job: string) => until(() => cloud.endOf(job))
  const discover = async (options: Record<string, unknown> = { reference: true }, assetLinkId = linkId) => {
    const parameters = Object.entries(options).map(([key, value]) => ({ key, value }))
    const job = cloud.offer('discovery', { assetLinkId, options: parameters, filters: [] })
    return { job, end: await ended(job) }
  }
  const uses = (job: string) =>
    cloud
      .callsOf('uploadFound')
      .filter(({ params }) => params.id === job)
      .flatMap(({ body }) =>
        (body.data.uses ?? []).map(({ asset, ...use }: Call) => ({ ...use, asset: body.data.assets[asset]?.name })),
      )
  const askedFor = (job: string): string[][] =>
    cloud
      .callsOf('requestCredentials')
      .filter(({ params }) => params.id === job)
      .map(({ body }) => body.data.addresses)

  test('reports a protected device for which there are no credentials', async () => {
    const { job, end } = await discover()
    assert.deepEqual([end.state, ...reported(cloud, job)], ['FINISHED', 4, 2])
    assert.deepEqual(
      cloud.errors(job).map(({ code, description, device }) => [code, description, (device as Call).ipAddress]),
      ['192.168.0.12', '192.168.1.12'].map((address) => [
        16,
        'The device is protected, and there are no credentials for its address',
        address,
      ]),
    )
    assert.deepEqual(askedFor(job), [['192.168.0.12', '192.168.1.12']])
  })

  test('tries credentials in order, and reports which credentials were accepted', async () => {
    cloud.credentials.set('192.168.0.12', [wrong(1), right(2), wrong(3)])
    cloud.credentials.set('192.168.1.12', [wrong(1), wrong(4), wrong(5)])
    const { job, end } = await discover()
    assert.deepEqual([end.state, ...reported(cloud, job)], ['FINISHED', 5, 1])
    const names = cloud.found(job).map(({ name }) => name)
    assert.deepEqual(
      names.toSorted(),
      ['A0', 'A1', 'A2', 'B0', 'B1'].map((name) => `Simulated Device ${name}`),
    )
    assert.deepEqual(
      uses(job).toSorted((a: Call, b: Call) => order(a) - order(b)),
      [
        { address: '192.168.0.12', instanceId: id(2), worked: true, asset: 'Simulated Device A2' },
        ...[
          ['192.168.0.12', 1],
          ['192.168.1.12', 1],
          ['192.168.1.12', 4],
          ['192.168.1.12', 5],
        ].map(([address, number]) => ({ address, instanceId: id(Number(number)), worked: false, asset: undefined })),
      ].toSorted((a, b) => order(a) - order(b)),
    )
    assert.deepEqual(
      cloud.errors(job).map(({ code, description, device }) => [code, description, (device as Call).ipAddress]),
      [[16, 'The device is protected: 3 credentials were rejected', '192.168.1.12']],
    )
  })
  const order = ({ instanceId, address }: { instanceId: string; address: unknown }) =>
    Number(instanceId.slice(-2)) * 10 + (address === '192.168.0.12' ? 0 : 1)

  test('requests credentials for many devices in one request, and for each address once', onlyInLongRuns, async () => {
    const size = 600
    cloud.answering = ({ operation, body }) => {
      if (operation !== 'requestCredentials') return undefined
      const data = body.data.addresses.map((address: string) => ({ address, known: true, credentials: [right(9)] }))
      return { status: 200, body: { data } }
    }
    const { job, end } = await discover({ size, protected_percent: 100 })
    assert.deepEqual([end.state, ...reported(cloud, job)], ['FINISHED', size, 0])
    assert.equal(new Set(cloud.found(job).map((asset) => JSON.stringify(asset.asset_identifiers))).size, size)
    assert.equal(askedFor(job).length, 6)
    assert.ok(askedFor(job).every((addresses) => new Set(addresses).size === addresses.length))
    const successes = uses(job).filter(({ worked }: Call) => worked)
    assert.equal(successes.length, size)
    assert.equal(
      successes.filter(({ asset }: Call) => asset === undefined).length,
      size / 4,
      'modules are behind a device',
    )
  })

  test('stops trying credentials when the job is canceled', async () => {
    const size = 30
    for (let index = 1; index <= size; index += 1) cloud.credentials.set(`10.0.0.${index}`, [wrong(1), right(2)])
    const options = [
      { key: 'size', value: size },
      { key: 'protected_percent', value: 100 },
    ]
    cloud.answering = async ({ operation, params }) => {
      if (operation !== 'requestCredentials') return undefined
      cloud.canceled.add(params.id ?? '')
      const renewals = cloud.callsOf('renewLease').length
      await until(() => cloud.callsOf('renewLease').length > renewals)
      return undefined
    }
    const job = cloud.offer('discovery', { assetLinkId: linkId, options, filters: [] })
    const end = await ended(job)
    assert.equal(end.state, 'CANCELED')
    assert.equal(cloud.found(job).length + cloud.errors(job).length, size, 'each device is in the report')
  })

  test('finishes the scan when the cloud rejects the request for credentials', async () => {
    cloud.answering = ({ operation }) =>
      operation === 'requestCredentials' ? { status: 403, body: { code: 'forbidden', detail: 'no' } } : undefined
    const { job, end } = await discover()
    assert.deepEqual([end.state, ...reported(cloud, job)], ['FINISHED', 4, 2])
    assert.match(String(cloud.errors(job)[0]?.description), /credentials could not be requested: Permission denied/)
  })

  test('requests credentials again after the renewal of a lost lease', async () => {
    cloud.credentials.set('192.168.0.12', [right(2)])
    let refusals = 0
    cloud.answering = ({ operation }) => {
      if (operation !== 'requestCredentials' || refusals > 0) return undefined
      refusals += 1
      return { status: 409, body: { code: 'lease_lost', detail: 'lost' } }
    }
    const { job, end } = await discover()
    assert.deepEqual([end.state, ...reported(cloud, job)], ['FINISHED', 5, 1])
  })

  test('reads properties of a protected device with credentials from the cloud', async () => {
    const ask = async (keys: string[]) => {
      const mac = '00:16:3e:00:02:00'
      const assetIdentifiers = [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }]
      const addresses = ['192.168.0.12']
      return ended(cloud.offer('device-info', { assetLinkId: linkId, assetIdentifiers, addresses, keys }))
    }
    const without = await ask(['name'])
    assert.deepEqual(
      [without.state, without.message, without.result],
      ['FAILED', 'The device is protected, and there are no credentials for its address', { protected: true }],
    )
    cloud.credentials.set('192.168.0.12', [wrong(1), wrong(3)])
    assert.equal((await ask(['name'])).message, 'The device is protected: 2 credentials were rejected')
    cloud.credentials.set('192.168.0.12', [wrong(1), right(2)])
    const { state, result } = await ask(['name', 'nothing'])
    assert.equal(state, 'FINISHED')
    assert.deepEqual(result.results[0], { key: 'name', value: 'Simulated Device A2' })
  })

  test('tests one credential against a protected and an unprotected device', async () => {
    const tested = async (address: string, ...credentials: ReturnType<typeof credential>[]) => {
      cloud.credentials.set(address, credentials)
      const definition = { assetLinkId: linkId, assetIdentifiers: [], credentialTest: true, instanceId: id(1) }
      const job = cloud.offer('device-info', { ...definition, addresses: [address], foundAddresses: [address] })
      const { state, result } = await ended(job)
      return [state, result?.credentialTest?.outcome, askedFor(job)]
    }
    await discover()
    const [locked, open] = ['192.168.0.12', '192.168.0.11']
    assert.deepEqual(await tested(locked, wrong(1)), ['FINISHED', 'rejected', [[locked]]])
    assert.deepEqual(await tested(locked, right(1)), ['FINISHED', 'accepted', [[locked]]])
    assert.deepEqual(await tested(locked), ['FINISHED', 'not_applicable', [[locked]]])
    assert.deepEqual(await tested(open, right(1)), ['FINISHED', 'not_required', [[open]]])
    assert.deepEqual(await tested('10.99.0.1', right(1)), ['FINISHED', 'unreachable', [['10.99.0.1']]])
  })

  test('does not forward requests for credentials from other programs on the same machine', async () => {
    const url = `http://127.0.0.1:${gateway.proxyPort}/gatekeeper/v1/jobs/${id(1)}/credentials`
    const body = JSON.stringify({ data: { assetLinkId: linkId, address: '192.168.0.12' } })
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    assert.equal(answer.status, 404)
  })

  test('writes no secret to the disk, the log or the reports of the gateway', () => {
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    assert.ok(files.length > 1)
    const hasTrace = (text: string) => /planted-secret|user_password/.test(text)
    for (const { parentPath, name } of files) assert.ok(!hasTrace(readFileSync(join(parentPath, name), 'latin1')), name)
    assert.ok(!hasTrace(lines.join('')), 'the log')
    for (const { operation, body } of cloud.calls) assert.ok(!hasTrace(JSON.stringify(body)), operation)
    assert.ok(!hasTrace(JSON.stringify(gateway.status())), 'the status')
  })
})

describe('a gateway with links of other vendors', () => {
  let cloud: TestCloud
  let gateway: RunningGateway
  const foreign = 'foreign'
  const home = temporaryFolder()
  before(async () => {
    cloud = await TestCloud.start()
    cloud.configure(home)
    gateway = await startGateway(settingsFor(home), { renewEveryMs: 50 })
    cloud.credentials.set('10.0.0.9', [credential(1, 'reader', planted)])
  })
  after(async () => {
    await gateway.stop()
    await cloud.stop()
  })

  const run = async (discover: (call: Call) => void) => {
    using link = await TestLink.start({
      'connectivitysuite.drvinfo.v1': {
        GetVersionInfo: (_: Call, answer: Call) => answer(null, { version: { major: 1 } }),
      },
      'industrialassethub.discover.v1': {
        GetFilterTypes: (_: Call, answer: Call) => answer({ code: status.UNKNOWN }),
        GetFilterOptions: (_: Call, answer: Call) => answer({ code: status.UNKNOWN }),
        DiscoverDevices: discover,
      },
    })
    const info = { app_instance_id: foreign, ipv4_address: '127.0.0.1', grpc_ip_port_number: link.port }
    await askRegistry(gateway.registryPort, 'siemens')('RegisterService', { info })
    const job = cloud.offer('discovery', { assetLinkId: foreign })
    const end = await until(() => cloud.endOf(job))
    return { job, end }
  }
  const locked = (description = 'who are you?') => ({
    result_code: 16,
    description,
    device: { connection_parameter_set: { schema_uri: 'x', parameter_json: '{"endpoint":"opc.tcp://10.0.0.9:4840"}' } },
  })
  const uri = 'https://industrial-assets.io/schemas/iah/base-schema/released/v1/Device#'
  const field = (path: string, text: string) => ({ text, classifiers: [{ type: 'URI', value: uri + path }] })
  const list = (path: string, ...value: object[]) => ({
    children: { value },
    classifiers: [{ type: 'URI', value: uri + path }],
  })
  const device = (name: string, ip: string) => ({
    identifiers: [
      field('name', name),
      list(
        'asset_identifiers',
        field('asset_identifiers/asset_identifier_type', 'CustomIdentifier'),
        field('asset_identifiers/name', 'tag'),
        field('asset_identifiers/value', name),
      ),
      list(
        'connection_points',
        field('connection_points/connection_point_type', 'Ipv4Connectivity'),
        field('connection_points/ipv4_address', ip),
      ),
    ],
  })

  test('sends credentials only to the address for which the cloud selected them', async () => {
    const requests: { parameters: Record<string, unknown>; credentials: number }[] = []
    const answer = ({ request }: Call, done: Call) => {
      const { parameter_json, credentials } = request.device.connection_parameter_set
      const parameters = JSON.parse(parameter_json)
      requests.push({ parameters, credentials: credentials.length })
      if (parameters.ip_address === '10.0.0.9') return done(null, { property_results: [] })
      done({ code: status.UNAUTHENTICATED, details: 'no' })
    }
    using link = await TestLink.start({
      'connectivitysuite.deviceinfo.v1': { GetPropertyValues: answer, GetSupportedProperties: answer },
    })
    const info = { app_instance_id: 'reader', ipv4_address: '127.0.0.1', grpc_ip_port_number: link.port }
    await askRegistry(gateway.registryPort, 'siemens')('RegisterService', {
      info: { ...info, interfaces: ['siemens.connectivitysuite.deviceinfo.v1'] },
    })
    cloud.credentials.set('10.0.0.8', [credential(8, 'reader', planted)])
    const assetIdentifiers = [{ asset_identifier_type: 'MacIdentifier', mac_address: '00:16:3e:00:00:08' }]
    const definition = { assetLinkId: 'reader', assetIdentifiers, addresses: ['10.0.0.7', '10.0.0.8', '10.0.0.9'] }
    const job = cloud.offer('device-info', { ...definition, supported: true })
    assert.equal((await until(() => cloud.endOf(job))).state, 'FINISHED')
    assert.deepEqual(requests, [
      { parameters: { asset_identifiers: assetIdentifiers }, credentials: 0 },
      { parameters: { asset_identifiers: assetIdentifiers, ip_address: '10.0.0.8' }, credentials: 1 },
      { parameters: { asset_identifiers: assetIdentifiers, ip_address: '10.0.0.9' }, credentials: 1 },
    ])
  })

  test('reports the address of each device to a platform that accepts it, and reads the device there after a restart of the link', async () => {
    const targets: Pick<Target, 'address' | 'identifiers'>[] = []
    const unit = (number: number) => ({
      functional_object_type: 'Device',
      name: `Unit ${number}`,
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'unit', value: `U${number}` }],
    })
    const definition = defineLink({
      manifest: { id: 'test.units', name: 'Units', vendor: 'Test', version: '1.0.0' },
      async *discover() {
        for (const number of [1, 2])
          yield { asset: unit(number), address: { ip_address: '10.0.0.5', port: 5020, unit_id: number } }
      },
      properties: async ({ device: { address, identifiers } }) => {
        targets.push({ address, identifiers })
        return { name: 'Unit' }
      },
      supportedProperties: () => [{ key: 'name', type: 'text' }],
    })
    const start = () => startLink(definition, { registry: `127.0.0.1:${gateway.registryPort}`, logLevel: 'silent' })
    const isRunning = () =>
      gateway.status().links.some((one) => one.appInstanceId === 'test.units' && one.state === 'running')
    const scan = async (more: object) => {
      const run = { runId: crypto.randomUUID(), discoveryId: crypto.randomUUID() }
      const job = cloud.offer('discovery', { ...run, assetLinkId: 'test.units', ...more })
      assert.equal((await until(() => cloud.endOf(job))).state, 'FINISHED')
      return cloud.callsOf('uploadFound').find(({ params }) => params.id === job)?.body.data
    }
    const first = await start()
    await until(isRunning)
    assert.deepEqual((await scan({ accepts: ['deviceAddresses'] })).deviceAddresses, [
      { asset: 0, address: '10.0.0.5' },
      { asset: 1, address: '10.0.0.5' },
    ])
    assert.deepEqual(Object.keys(await scan({})), ['lease', 'sequence', 'assets', 'errors'], 'an older platform')
    const addressFile = join(home, 'found-addresses.json')
    await until(() => existsSync(addressFile) && readFileSync(addressFile, 'utf8').includes('"10.0.0.5"'))
    await first.stop()
    await using _second = await start()
    await until(isRunning)
    for (const number of [1, 2]) {
      const { asset_identifiers: assetIdentifiers } = unit(number)
      const addresses = { addresses: ['10.0.0.5'], foundAddresses: ['10.0.0.5'] }
      const job = cloud.offer('device-info', {
        assetLinkId: 'test.units',
        assetIdentifiers,
        ...addresses,
        keys: ['name'],
      })
      assert.equal((await until(() => cloud.endOf(job))).state, 'FINISHED')
      const address = { ip_address: '10.0.0.5', port: 5020, unit_id: number }
      assert.deepEqual(targets.at(-1), { address, identifiers: assetIdentifiers })
    }
  })

  test('does not use a connection to another address for an address that a device reports about itself', async () => {
    const file = join(temporaryFolder(), 'connections.json')
    const connections = await DeviceConnections.open({ file, log: createLog({ level: 'silent' }) })
    const connection = (fields: object) => ({ schemaUri: '', parameterJson: JSON.stringify(fields), subdriverJson: '' })
    connections.set('a', '10.0.0.1', connection({ ipAddress: '10.0.0.66' }))
    assert.equal(connections.find('a', { addresses: ['10.0.0.1'] }), undefined)
    connections.set('a', '10.0.0.1', connection({ alNic: 'eth0' }))
    assert.deepEqual(connections.find('a', { addresses: ['10.0.0.1'] }), connection({ alNic: 'eth0' }))
    await connections.close()
  })

  test('finds the connection of a device by identifiers that the inventory has normalised', async () => {
    const file = join(temporaryFolder(), 'connections.json')
    const connections = await DeviceConnections.open({ file, log: createLog({ level: 'silent' }) })
    const connection = { schemaUri: '', parameterJson: '{"unit":1}', subdriverJson: '' }
    const identifier = (mac_address: string, annotations = {}) => ({
      asset_identifier_type: 'MacIdentifier',
      mac_address,
      ...annotations,
    })
    const asset = { asset_identifiers: [identifier('02-00-05-00-00-0B', { identifier_uncertainty: 1 })] }
    connections.set('a', '10.0.0.1', connection, asset)
    const find = (mac: string) =>
      connections.find('a', { addresses: ['10.0.0.1'], identifiers: [identifier(mac, { identifier_type: 'mac' })] })
    assert.deepEqual(find('02:00:05:00:00:0b'), connection)
    assert.equal(find('02:00:05:00:00:0c'), undefined)
    await connections.close()
  })

  test('identifies a device by its address when the link reports no connection', async () => {
    let target: Call
    const { job, end } = await run((call) => {
      if (call.request.target.length === 0) call.write({ errors: [locked()] })
      else {
        target = call.request.target
        call.write({ devices: [device('Opened', '10.0.0.9')] })
      }
      call.end()
    })
    assert.deepEqual([end.state, ...reported(cloud, job)], ['FINISHED', 1, 0])
    assert.deepEqual(target, [
      {
        target: 'connection_parameter_set',
        connection_parameter_set: {
          schema_uri: 'x',
          parameter_json: '{"endpoint":"opc.tcp://10.0.0.9:4840"}',
          subdriver_json: '',
          credentials: [
            {
              schema_uri: 'urn:millwright:links:plant:credentials:1',
              credentials: JSON.stringify({ username: 'reader', password: planted }),
            },
          ],
        },
      },
    ])
    const [upload] = cloud.callsOf('uploadFound').filter(({ params }) => params.id === job)
    assert.deepEqual(upload?.body.data.uses, [{ address: '10.0.0.9', instanceId: id(1), worked: true, asset: 0 }])
  })

  test('omits the message of a link when the message contains the credentials', async () => {
    const { job } = await run((call) => {
      if (call.request.target.length === 0) call.write({ errors: [locked()] })
      else call.write({ errors: [{ ...locked(`reader/${planted} timed out`), result_code: 4 }] })
      call.end()
    })
    assert.deepEqual(cloud.errors(job)[0], {
      code: 4,
      description: 'The message of the asset link is omitted, because the message contains the credentials',
      device: { endpoint: 'opc.tcp://10.0.0.9:4840' },
    })
    const broken = await run((call) => {
      if (call.request.target.length > 0) return call.emit('error', { code: 13, details: `no ${planted} here` })
      call.write({ errors: [locked()] })
      call.end()
    })
    assert.equal(broken.end.state, 'FINISHED')
    const [error] = cloud.errors(broken.job)
    assert.equal(error?.code, 14)
    assert.doesNotMatch(JSON.stringify(error), new RegExp(planted))
  })

  test('reports a device that does not respond to a link', async () => {
    const { job } = await run((call) => {
      if (call.request.target.length === 0) call.write({ errors: [locked()] })
      call.end()
    })
    assert.match(String(cloud.errors(job)[0]?.description), /did not respond to the request with credentials/)
  })

  test('does not scan again for each credential when a link ignores targets', async () => {
    let scans = 0
    cloud.credentials.set(
      '10.0.0.9',
      [1, 2, 3].map((number) => credential(number, 'reader', planted)),
    )
    const { end } = await run((call) => {
      scans += 1
      const some = (from: number) => Array.from({ length: 60 }, (_, index) => device(`D${from + index}`, '10.0.1.1'))
      for (let from = 0; from < 600; from += 60) call.write({ devices: some(from) })
      call.write({ errors: [locked()] })
      call.end()
    })
    assert.equal(end.state, 'FINISHED')
    assert.equal(scans, 2)
  })
})

test('Secret prints as asterisks, and overwrites its value when disposed', () => {
  const secret = new Secret('{"username":"user","password":"hunter2","pin":471199}')
  assert.equal(`${secret} ${JSON.stringify({ secret })} ${inspect({ secret })}`, '*** {"secret":"***"} { secret: *** }')
  assert.ok(secret.isIn('the password hunter2 is wrong'))
  assert.ok(secret.isIn('there is no 471199'))
  assert.ok(!secret.isIn('timed out'))
  secret[Symbol.dispose]()
  assert.doesNotMatch(secret.reveal(), /hunter2/)
})

test('addressIn finds the address of a device in connection parameters', () => {
  const addressOf = (parameters: unknown) => addressIn(parameters)
  assert.equal(addressOf({ alNic: 'eth0', ipAddress: '192.168.0.12', subDeviceID: -1 }), '192.168.0.12')
  assert.equal(addressOf({ router: '10.0.0.255', mask: '255.255.255.0', ip_address: '10.0.0.7' }), '10.0.0.7')
  assert.equal(addressOf({ url: 'https://[fd00::7]:8443/x' }), 'fd00::7')
  assert.equal(addressOf({ device: { host: '10.0.0.8:502' } }), '10.0.0.8')
  assert.equal(addressOf({ plc: '10.0.0.9' }), '10.0.0.9')
  assert.equal(
    addressOf({ ip: 'fe80::7%eth0' }),
    'fe80::7',
    'what the interface is called here is nothing to the cloud',
  )
  assert.equal(addressOf({ a: '10.0.0.9', b: '10.0.0.10' }), undefined)
  assert.equal(addressOf({ host: 'plc-7.local', port: 502 }), undefined)
  assert.equal(addressOf('10.0.0.9'), undefined)
})
