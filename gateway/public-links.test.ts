import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { status } from '@grpc/grpc-js'
import { type RunningGateway, startGateway } from './gateway.ts'
import {
  askRegistry,
  discoveryInterface,
  field,
  list,
  relationship,
  settingsFor,
  TestCloud,
  TestLink,
  temporaryFolder,
  until,
  versionInfo,
} from './testing.ts'

/**
 * These tests use links that behave like links of the public SDK. Such links register before they name their
 * interfaces, and ignore targets and credentials in a scan. They read a protected device through the device-info or the
 * identifiers interface.
 */

// biome-ignore lint/suspicious/noExplicitAny: calls of a library without types
type Call = any

const password = 'planted-secret'
const credential = (number: number, text: string) => ({
  instanceId: `0198f0c2-7b1e-7c3a-9d55-${String(number).padStart(12, '0')}`,
  schemaUri: 'urn:example:credentials',
  credentials: JSON.stringify({ username: 'user', password: text }),
})
const wrong = credential(1, 'wrong-secret')
const right = credential(2, password)

const identifiersOf = (name: string, number: number, id = name) => [
  field('@type', 'EthernetDevice'),
  field('id', id),
  field('name', name),
  list('mac_identifiers', field('mac_identifiers/mac_address', `02:00:00:00:01:0${number}`)),
  list(
    'connection_points',
    field('connection_points/connection_point_type', 'Ipv4Connectivity'),
    field('connection_points/id', crypto.randomUUID()),
    field('connection_points/ipv4_address', `10.0.0.${number}`),
  ),
]
const open = { identifiers: identifiersOf('Open', 1) }
const lockedAddress = JSON.stringify({ alNic: 'eth0', ipAddress: '10.0.0.2', subDeviceID: -1 })
const locked = {
  result_code: status.UNAUTHENTICATED,
  description: 'invalid credentials',
  device: { connection_parameter_set: { parameter_json: lockedAddress } },
}

/** Scans the whole network for every request, and ignores the targets. */
const scanEverything = (call: Call) => {
  call.write({ devices: [open] })
  call.write({ errors: [locked] })
  call.end()
}
const isOpened = (destination: Call) => {
  const { parameter_json: parameters, credentials } = destination?.connection_parameter_set ?? {}
  if (parameters !== lockedAddress) return false
  return credentials.some(({ credentials: text }: Call) => JSON.parse(text).password === password)
}
const identifiers = {
  'common.identifiers.v1': {
    GetIdentifiers: ({ request }: Call, answer: Call) =>
      isOpened(request.target)
        ? answer(null, { identifiers: identifiersOf('Protected', 2) })
        : answer({ code: status.INTERNAL, details: 'Error during getting identifiers' }),
  },
}
const property = (key: string, value: object) => ({ property: { key, value } })
const deviceInfo = {
  'connectivitysuite.deviceinfo.v1': {
    GetSupportedProperties: (_: Call, answer: Call) => answer(null, { properties: [{ key: 'name' }] }),
    GetPropertyValues: ({ request }: Call, answer: Call) => {
      if (!isOpened(request.device)) {
        return answer({ code: status.UNAVAILABLE, details: 'Could not retrieve device details: invalid credentials' })
      }
      const mac = { asset_identifier_type: { text: 'MacIdentifier' }, mac_address: { text: '02:00:00:00:01:02' } }
      answer(null, {
        property_results: [
          property('functional_object_type', { text: 'Device' }),
          property('name', { text: 'Protected' }),
          property('temperature', { float64_value: 41.5 }),
          property('asset_identifiers', { array_value: { values: [{ struct_value: { fields: mac } }] } }),
        ],
      })
    },
  },
}

describe('a gateway with links of the public SDK', () => {
  let cloud: TestCloud
  let gateway: RunningGateway
  let numbers = 0
  before(async () => {
    cloud = await TestCloud.start()
    const home = temporaryFolder()
    cloud.configure(home)
    gateway = await startGateway(settingsFor(home), { renewEveryMs: 50 })
  })
  after(async () => {
    await gateway.stop()
    await cloud.stop()
  })
  beforeEach(() => cloud.credentials.clear())

  const register = async (port: number, more: object = {}) => {
    numbers += 1
    const app_instance_id = `cdm-device-class-driver-example.${numbers}`
    const info = { app_instance_id, ipv4_address: '127.0.0.1', grpc_ip_port_number: port, ...more }
    await askRegistry(gateway.registryPort, 'siemens')('RegisterService', { info })
    return app_instance_id
  }
  const reportOf = (id: string) =>
    cloud
      .callsOf('reportLinks')
      .at(-1)
      ?.body.data.links.find(({ appInstanceId }: Call) => appInstanceId === id)
  const interfacesOf = (id: string, name: string) =>
    until(() => (reportOf(id)?.interfaces.includes(name) ? reportOf(id).interfaces : undefined))
  const discover = async (assetLinkId: string, more: object = {}) => {
    const job = cloud.offer('discovery', { assetLinkId, ...more })
    const end = await until(() => cloud.endOf(job))
    return { job, end, found: cloud.found(job), errors: cloud.errors(job) }
  }
  const uses = (job: string) =>
    cloud
      .callsOf('uploadFound')
      .filter(({ params }) => params.id === job)
      .flatMap(({ body }) => (body.data.uses ?? []).map(({ instanceId, worked }: Call) => [instanceId, worked]))

  test('reads a protected device through GetPropertyValues, and counts each device once', async () => {
    let scans = 0
    using link = await TestLink.start({
      ...versionInfo,
      ...deviceInfo,
      ...discoveryInterface((call) => {
        scans += 1
        scanEverything(call)
      }),
    })
    const id = await register(link.port)
    await interfacesOf(id, 'siemens.connectivitysuite.deviceinfo.v1')
    cloud.credentials.set('10.0.0.2', [wrong, right])
    const { job, end, found, errors } = await discover(id)
    assert.deepEqual([end.state, end.message, errors], ['FINISHED', 'Scan complete', []])
    assert.deepEqual(
      found.map(({ name }) => name),
      ['Open', 'Protected'],
    )
    assert.equal(found[1]?.instance_annotations, undefined, 'a measured value is not part of the asset')
    assert.deepEqual(uses(job), [[right.instanceId, true]], 'the link did not say that it refuses the first one')
    assert.equal(scans, 1)
  })

  test('reports the error of the link instead of a rejection when no credentials open a device', async () => {
    using link = await TestLink.start({ ...versionInfo, ...deviceInfo, ...discoveryInterface(scanEverything) })
    const id = await register(link.port)
    await interfacesOf(id, 'siemens.connectivitysuite.deviceinfo.v1')
    cloud.credentials.set('10.0.0.2', [wrong])
    const { job, errors } = await discover(id)
    assert.match(
      String(errors[0]?.description),
      /could not read the device with credentials: UNAVAILABLE: Could not retrieve/,
    )
    assert.doesNotMatch(String(errors[0]?.description), /rejected/)
    assert.deepEqual(uses(job), [])
  })

  test('reports that a link does not support credentials when it ignores the target', async () => {
    using link = await TestLink.start({ ...versionInfo, ...discoveryInterface(scanEverything) })
    const id = await register(link.port)
    await interfacesOf(id, 'siemens.industrialassethub.discover.v1')
    cloud.credentials.set('10.0.0.2', [wrong, right])
    const { job, end, found, errors } = await discover(id)
    assert.deepEqual([end.state, found.length, errors.length], ['FINISHED', 1, 1])
    assert.match(String(errors[0]?.description), /does not support credentials/)
    assert.deepEqual(uses(job), [])
  })

  test('reads a protected device and its properties through GetIdentifiers', async () => {
    using link = await TestLink.start({ ...versionInfo, ...identifiers, ...discoveryInterface(scanEverything) })
    const id = await register(link.port, { app_types: ['siemens.connectivitysuite.drvinfo.v1'] })
    await interfacesOf(id, 'siemens.common.identifiers.v1')
    cloud.credentials.set('10.0.0.2', [wrong, right])
    const { end, found } = await discover(id)
    assert.deepEqual([end.state, found.length, found[1]?.name], ['FINISHED', 2, 'Protected'])
    const ask = async (question: object) => {
      const asset = { assetLinkId: id, assetIdentifiers: found[1]?.asset_identifiers, addresses: ['10.0.0.2'] }
      const job = cloud.offer('device-info', { ...asset, ...question })
      return (await until(() => cloud.endOf(job))).result
    }
    const { results } = await ask({ keys: ['name', 'nothing'] })
    assert.deepEqual(results[0], { key: 'name', value: 'Protected' })
    assert.equal(results[1].error.name, 'INVALID_ARGUMENT')
    const { properties } = await ask({ supported: true })
    const types = Object.fromEntries(properties.map(({ key, dataType }: Call) => [key, dataType]))
    assert.deepEqual([types.name, types.connection_points], ['text', 'array'])
  })

  test('reads an unprotected device with the network interface of a protected device in the same network', async () => {
    const connection = (alNic: string, ipAddress: string) => JSON.stringify({ alNic, ipAddress, subDeviceID: -1 })
    const lockedAt = (parameters: string) => ({
      ...locked,
      device: { connection_parameter_set: { parameter_json: parameters } },
    })
    const addresses: string[] = []
    using link = await TestLink.start({
      ...versionInfo,
      'common.identifiers.v1': {
        GetIdentifiers: ({ request }: Call, answer: Call) => {
          const parameters = request.target?.connection_parameter_set?.parameter_json
          if (parameters === undefined) return answer({ code: status.INVALID_ARGUMENT, details: 'no parameters' })
          addresses.push(parameters)
          if (parameters === connection('eth0', '10.0.0.1')) answer(null, { identifiers: identifiersOf('Open', 1) })
          else answer({ code: status.UNAVAILABLE, details: 'Could not retrieve device details: invalid interface' })
        },
      },
      ...discoveryInterface((call) => {
        call.write({ devices: [open] })
        call.write({
          errors: [
            ['eth1', '10.0.1.2'],
            ['eth0', '10.0.0.2'],
            ['eth1', '10.0.1.1'],
          ].map(([nic, ip]) => lockedAt(connection(nic ?? '', ip ?? ''))),
        })
        call.end()
      }),
    })
    const id = await register(link.port)
    await interfacesOf(id, 'siemens.common.identifiers.v1')
    const { found } = await discover(id)
    const device = { assetIdentifiers: found[0]?.asset_identifiers, addresses: ['10.0.0.1'] }
    const job = cloud.offer('device-info', { assetLinkId: id, ...device, keys: ['name'] })
    const { result } = await until(() => cloud.endOf(job))
    assert.deepEqual(
      result,
      { results: [{ key: 'name', value: 'Open' }] },
      `the link was asked for ${addresses.join(' and ')}`,
    )
  })

  test('finds all interfaces of a link that registers before it accepts connections', async () => {
    const started = await TestLink.start(versionInfo)
    started.stop()
    const id = await register(started.port)
    await until(() => reportOf(id)?.state === 'unreachable')
    using _ = await TestLink.start(
      { ...versionInfo, ...deviceInfo, ...identifiers, ...discoveryInterface(scanEverything) },
      'siemens',
      started.port,
    )
    assert.deepEqual(await interfacesOf(id, 'siemens.common.identifiers.v1'), [
      'siemens.connectivitysuite.drvinfo.v1',
      'siemens.industrialassethub.discover.v1',
      'siemens.connectivitysuite.deviceinfo.v1',
      'siemens.common.identifiers.v1',
    ])
  })

  const updateInterfaces = [
    ['industrialassethub.artefact_update.v1', 'siemens.industrialassethub.artefact_update.v1'],
    ['factory_x/artefact_update.v1', 'factory_x.artefact_update.v1'],
  ] as const
  for (const [served, reported] of updateInterfaces) {
    test(`detects the update interface ${reported} of a link by opening a stream without a request`, async () => {
      using link = await TestLink.start({
        ...versionInfo,
        [served]: {
          PrepareUpdate: (call: Call) => {
            call.on('data', () => undefined)
            call.on('end', () => call.emit('error', { code: status.INVALID_ARGUMENT, details: 'no metadata' }))
          },
        },
      })
      const id = await register(link.port)
      await interfacesOf(id, reported)
    })
  }

  test('converts a DeviceRelationship to a relation of its subject', async () => {
    using link = await TestLink.start({
      ...versionInfo,
      ...discoveryInterface((call) => {
        const devices = [identifiersOf('Rack', 3, 'rack'), identifiersOf('Module', 4, 'module')]
        call.write({ devices: devices.map((one) => ({ identifiers: one })) })
        call.write({ devices: ['module', 'elsewhere'].map((object) => relationship('rack', 'related_to', object)) })
        call.end()
      }),
    })
    const { end, found, errors } = await discover(await register(link.port))
    assert.deepEqual([end.state, errors.length], ['FINISHED', 1])
    assert.deepEqual(found.at(-1)?.asset_relations, [
      {
        predicate: 'related_to',
        related_asset: { asset_identifiers: found[1]?.asset_identifiers },
        relational_role_of_related_asset: 'object',
      },
    ])
    assert.deepEqual(found.at(-1)?.asset_identifiers, found[0]?.asset_identifiers)
    assert.match(String(errors[0]?.description), /did not report: elsewhere/)
  })

  test('sends a filter of type bytes as the bytes of its base64 text', async () => {
    let received: Call
    using link = await TestLink.start({
      ...versionInfo,
      ...discoveryInterface(
        (call) => {
          received = call.request.filters
          call.end()
        },
        [{ key: 'mask', datatype: 'VT_BYTES' }],
      ),
    })
    const id = await register(link.port)
    await until(() => reportOf(id)?.filters.length === 1)
    await discover(id, { filters: [{ key: 'mask', value: '/wAB' }] })
    assert.deepEqual(
      received.map(({ value }: Call) => [...value.raw_data]),
      [[255, 0, 1]],
    )
  })

  test('adds the missing path to an IdLink identifier', async () => {
    const idLink = list(
      'asset_identifiers',
      field('asset_identifiers/asset_identifier_type', 'IdLink'),
      field('asset_identifiers/id_link', 'https://example.com?1P=A&S=1'),
    )
    using link = await TestLink.start({
      ...versionInfo,
      ...discoveryInterface((call) => {
        call.write({ devices: [{ identifiers: [field('name', 'Linked'), idLink] }] })
        call.end()
      }),
    })
    const { found, errors } = await discover(await register(link.port))
    assert.deepEqual(errors, [])
    assert.deepEqual(found[0]?.asset_identifiers, [
      { asset_identifier_type: 'IdLinkIdentifier', id_link: 'https://example.com/?1P=A&S=1' },
    ])
  })

  test('registers the discovery interface for the app type of a first-generation link', async () => {
    const id = await register(1, { app_types: ['cdm-device-class-driver'] })
    const filter = { app_instance_ids: [id] }
    const { infos } = await askRegistry(gateway.registryPort, 'siemens')('QueryRegisteredServices', { filter })
    assert.deepEqual(infos[0].interfaces, ['siemens.commondevicemanagement.devicediscovery.v1'])
  })
})

test('reads a device after a restart of the gateway by the connection that the link reported before', async () => {
  await using cloud = await TestCloud.start()
  const home = temporaryFolder()
  cloud.configure(home)
  const isInspected = (id: string) =>
    cloud.callsOf('reportLinks').some(({ body: { data } }) => {
      const link = data.links.find(({ appInstanceId }: Call) => appInstanceId === id)
      return link?.interfaces.includes('siemens.common.identifiers.v1')
    })
  const endOf = (job: string) => until(() => cloud.endOf(job))
  let job: string | undefined
  using link = await TestLink.start({
    'connectivitysuite.drvinfo.v1': {
      // After the restart, the link responds only when the gateway has the job.
      GetVersionInfo: async (_: Call, answer: Call) => {
        await until(() => job === undefined || cloud.leases.has(job) || cloud.endOf(job) !== undefined)
        answer(null, { version: { major: 3, minor: 7, patch: 4 } })
      },
    },
    ...identifiers,
    ...discoveryInterface(scanEverything),
  })
  const id = 'cdm-device-class-driver-example'
  cloud.credentials.set('10.0.0.2', [right])
  const first = await startGateway(settingsFor(home), { renewEveryMs: 50 })
  const info = { app_instance_id: id, ipv4_address: '127.0.0.1', grpc_ip_port_number: link.port }
  await askRegistry(first.registryPort, 'siemens')('RegisterService', { info })
  await until(() => isInspected(id))
  const scan = cloud.offer('discovery', { assetLinkId: id })
  await endOf(scan)
  await first.stop()
  await cloud.endSession()
  const [, device] = cloud.found(scan)
  assert.equal(device?.name, 'Protected')

  const definition = { assetLinkId: id, assetIdentifiers: device?.asset_identifiers, addresses: ['10.0.0.2'] }
  job = cloud.offer('device-info', { ...definition, keys: ['name'] })
  const second = await startGateway(settingsFor(home), { renewEveryMs: 50 })
  try {
    assert.deepEqual((await endOf(job)).result, { results: [{ key: 'name', value: 'Protected' }] })
  } finally {
    await second.stop()
  }
  const stored = readFileSync(join(home, 'connections.json'), 'utf8')
  assert.match(stored, /alNic/)
  assert.doesNotMatch(stored, new RegExp(password), 'credentials are not on the disk')
})
