import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { status } from '@grpc/grpc-js'
import { discovery } from '@millwright/api/discovery.ts'
import { verifyReceipt } from '@millwright/api/receipt-signature.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '@millwright/cloud/platform/testing/hub.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { link as plant } from '@millwright/links/plant/link.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import {
  askRegistry,
  discoveryInterface,
  field,
  list,
  relationship,
  settingsFor,
  TestLink,
  temporaryFolder,
  until,
  versionInfo,
} from './testing.ts'

/**
 * These tests run a gateway that is enrolled at a real hub. The link uses another library and behaves like links of the
 * public SDK. It has only the discovery and the identifiers interface.
 */

// biome-ignore lint/suspicious/noExplicitAny: calls of a library without types
type Call = any
type Device = { identifiers: object[]; connection_parameter_set?: object }

const linkId = 'cdm-device-class-driver-example.1'
const deviceClass = 'example.drive'
const connectionOf = (ipAddress: string) => ({ parameter_json: JSON.stringify({ ipAddress, alNic: 'eth0' }) })

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ item }) => item)
}

/** Returns a device with an Ethernet port that has two addresses. Each call creates new ids and a random order. */
function newDevice(number: number, more: object[] = []): Device {
  const mac = `02:00:00:00:07:0${number}`
  const port = crypto.randomUUID()
  const point = (type: string, id: string, ...fields: object[]) =>
    list(
      'connection_points',
      ...shuffled([
        field('connection_points/connection_point_type', type),
        field('connection_points/id', id),
        ...fields,
      ]),
    )
  const address = (text: string) =>
    point(
      'Ipv4Connectivity',
      crypto.randomUUID(),
      field('connection_points/ipv4_address', text),
      list(
        'connection_points/related_connection_points',
        field('connection_points/related_connection_points/connection_point_id', port),
        field('connection_points/related_connection_points/custom_relationship', 'Relies on'),
      ),
    )
  const points = [
    point('EthernetPort', port, field('connection_points/mac_address', mac)),
    address(`10.7.0.${number}`),
    address(`10.7.1.${number}`),
  ]
  return {
    identifiers: [
      field('@type', 'EthernetDevice'),
      field('id', `device-${number}`),
      field('name', `Drive ${number}`),
      list('mac_identifiers', field('mac_identifiers/mac_address', mac)),
      ...shuffled(points),
      ...more,
    ],
    connection_parameter_set: connectionOf(`10.7.0.${number}`),
  }
}

describe('a gateway enrolled at a hub, with a link of the public SDK', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: RunningGateway
  let link: TestLink
  /** The results of the link's scan. Each test sets its own function. */
  let scanned: () => { devices?: Device[]; errors?: object[] } = () => ({})
  let identified: (target: Call) => Promise<object[]> | object[] = () => []

  before(async () => {
    hub = await testHub({ arrangement: 'one process' })
    const [cloud] = hub.clouds
    assert.ok(cloud)
    cloud.setBaseUrl(`http://127.0.0.1:${await cloud.listen({ host: '127.0.0.1', port: 0 })}`)
    admin = await hub.as('administrator')
    const { data } = await admin.onboarding.createGateway({ body: { data: { name: 'Line 7' } } })
    const settings = settingsFor(temporaryFolder())
    const config = await admin.onboarding.createGatewayConfig({ params: { id: data.id } })
    writeFileSync(settings.configFile, JSON.stringify(config))
    gateway = await startGateway(settings, { renewEveryMs: 200 })
    link = await TestLink.start({
      ...versionInfo,
      ...discoveryInterface(
        (call: Call) => {
          call.write(scanned())
          call.end()
        },
        [{ key: 'mask', datatype: 'VT_BYTES' }],
      ),
      'common.identifiers.v1': {
        GetIdentifiers: async ({ request: { target } }: Call, answer: Call) => {
          try {
            answer(null, { identifiers: await identified(target?.connection_parameter_set) })
          } catch (error) {
            answer({ code: status.INTERNAL, details: String(error) })
          }
        },
      },
    })
    const info = {
      app_instance_id: linkId,
      ipv4_address: '127.0.0.1',
      grpc_ip_port_number: link.port,
      driver_schema_uris: [deviceClass],
    }
    await askRegistry(gateway.registryPort, 'siemens')('RegisterService', { info })
    await until(async () => {
      const { data: links } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.gatewayId } })
      const [first] = links
      const isComplete = first?.filters.length === 1 && first.interfaces.includes('siemens.common.identifiers.v1')
      return isComplete && first.reachable
    })
  })
  after(async () => {
    await gateway?.stop()
    link?.stop()
    await hub?.[Symbol.asyncDispose]()
  })

  const begin = async () => {
    const body = { data: { assetLinkId: linkId } }
    return (await admin.discovery.createDiscovery({ params: { gatewayId: gateway.gatewayId }, body })).jobId
  }
  const ended = async (jobId: string) => {
    const run = await until(async () => {
      const { data: one } = await admin.discovery.getDiscovery({ params: { jobId } })
      return one.endedTimestamp !== undefined && one
    })
    assert.equal(run.state, 'finished', run.message)
    return (await admin.discovery.getReport({ params: { jobId }, query: {} })).data
  }
  const scan = async (answer: typeof scanned) => {
    scanned = answer
    return ended(await begin())
  }
  const historyOf = async (id: string) => (await admin.inventory.readHistory({ params: { id }, query: {} })).data
  const pointsOf = async (id: string) =>
    (await admin.inventory.readAsset({ params: { id }, query: {} })).data.connection_points as object[]
  const assetOf = (findings: { assetId: string; name?: string }[], name: string) =>
    findings.find((one) => one.name === name)?.assetId ?? assert.fail(`${name} is not in the report`)

  test(
    'reports no change when a second scan sends connection points with new ids in another order',
    onlyInLongRuns,
    async () => {
      const answer = () => ({ devices: shuffled([1, 2, 3].map((number) => newDevice(number))) })
      const first = await scan(answer)
      assert.deepEqual([first.run.created, first.errors], [3, []])
      const ids = first.findings.map(({ assetId }) => assetId)
      const [history, points] = [await Promise.all(ids.map(historyOf)), await Promise.all(ids.map(pointsOf))]
      assert.deepEqual(
        points.map((all) => all.length),
        [3, 3, 3],
      )
      const second = await scan(answer)
      const { found, created, updated, unchanged } = second.run
      assert.deepEqual({ found, created, updated, unchanged }, { found: 3, created: 0, updated: 0, unchanged: 3 })
      assert.deepEqual(await Promise.all(ids.map(historyOf)), history)
      assert.deepEqual(await Promise.all(ids.map(pointsOf)), points)
    },
  )

  test('writes a DeviceRelationship as a relation with the permissions of the gateway', async () => {
    await admin.authorization.createAccessGroup({ body: { data: { name: 'another hall' } } })
    const asset = {
      functional_object_type: 'Device',
      name: 'Drive of another hall',
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:07:06' }],
      access_group: 'another hall',
    }
    const { data: accepted } = await admin.inventory.createAsset({ body: { data: { asset } } })
    const wait = { params: { id: accepted.statusId }, query: { wait: 30 } }
    const hidden = ((await admin.inventory.readStatus(wait)).data.detail.result as { assetId: string }).assetId

    const answer = () => ({
      devices: [
        ...[4, 5, 6].map((number) => newDevice(number)),
        ...['device-5', 'device-6'].map((object) => relationship('device-4', 'contains', object)),
      ],
    })
    const first = await scan(answer)
    assert.deepEqual([first.run.found, first.run.created], [2, 2])
    assert.deepEqual(
      first.errors.map(({ reason }) => reason),
      ['identity_taken'],
    )
    const [rack, module] = [assetOf(first.findings, 'Drive 4'), assetOf(first.findings, 'Drive 5')]
    const relations = async (id: string) =>
      (await admin.inventory.listAssetRelations({ params: { id }, query: {} })).data.filter(
        ({ predicate }) => predicate === 'contains',
      )
    const [relation, ...others] = await relations(rack)
    assert.deepEqual([relation?.subject.id, relation?.object.id, others], [rack, module, []])
    assert.equal(relation?.source.type, 'discovery')
    assert.deepEqual(await relations(hidden), [])

    const second = await scan(answer)
    assert.deepEqual([second.run.updated, second.run.unchanged], [0, 2])
  })

  test('reports the pointer and the reason of each field that the schema or the inventory rejects', async () => {
    const identifier = (type: string, fields: Record<string, string>) =>
      list(
        'asset_identifiers',
        ...Object.entries({ asset_identifier_type: type, ...fields }).map(([name, value]) =>
          field(`asset_identifiers/${name}`, value),
        ),
      )
    const { findings, errors } = await scan(() => ({
      devices: [
        newDevice(7, [identifier('IdLinkIdentifier', { id_link: 'not a link' })]),
        newDevice(8, [identifier('CustomIdentifier', { name: 'gateway', value: gateway.gatewayId })]),
        newDevice(9),
        relationship('device-9', 'Is Part Of', 'device-7'),
        relationship('device-9', 'part_of', 'device-7'),
      ],
    }))
    const fields = Object.fromEntries(errors.map(({ device, fields: refused = [] }) => [String(device?.name), refused]))
    const pointers = Object.entries(fields).map(([name, refused]) => [name, refused.map(({ pointer }) => pointer)])
    assert.deepEqual(pointers.toSorted(), [
      ['Drive 7', ['/asset_identifiers/0/id_link']],
      ['Drive 8', ['/asset_identifiers/0/name']],
      ['Drive 9', ['/asset_relations/0/predicate']],
    ])
    assert.match(fields['Drive 7']?.[0]?.detail ?? '', /http/)
    assert.equal(fields['Drive 8']?.[0]?.detail, 'gateway is reserved for the platform')
    assert.match(fields['Drive 9']?.[0]?.detail ?? '', /lower-case words/)
    assert.deepEqual(findings.map(({ name }) => name).toSorted(), ['Drive 7', 'Drive 9'])
    const { data: relations } = await admin.inventory.listAssetRelations({
      params: { id: assetOf(findings, 'Drive 9') },
      query: {},
    })
    assert.ok(
      relations.some(({ predicate, object }) => predicate === 'part_of' && object.id === assetOf(findings, 'Drive 7')),
      'the other relation of the device is written',
    )
  })

  test('reads properties of a device through a link that only has the identifiers interface', async () => {
    const { findings } = await scan(() => ({ devices: [newDevice(1)] }))
    identified = ({ parameter_json: parameters }) => {
      assert.deepEqual({ parameter_json: parameters }, connectionOf('10.7.0.1'))
      return newDevice(1).identifiers
    }
    const { data } = await admin.discovery.readProperties({
      params: { id: assetOf(findings, 'Drive 1') },
      body: { data: { keys: ['name', 'temperature'] } },
    })
    assert.deepEqual(data[0], { key: 'name', value: 'Drive 1' })
    assert.ok(data[1] !== undefined && 'error' in data[1])
    assert.equal(data[1].error.name, 'INVALID_ARGUMENT')
  })

  test('stores the receipt that the gateway signed for a scan of a budgeted link', async () => {
    await using _plant = await startLink(plant, {
      registry: `127.0.0.1:${gateway.registryPort}`,
      logLevel: 'silent',
    })
    const params = { gatewayId: gateway.gatewayId }
    const assetLinkId = plant.manifest.id
    await until(async () => {
      const { data: links } = await admin.discovery.listAssetLinks({ params })
      return links.some((one) => one.assetLinkId === assetLinkId && one.reachable)
    })
    const body = { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }] } }
    const { jobId } = await admin.discovery.createDiscovery({ params, body })
    await until(async () => (await admin.discovery.getDiscovery({ params: { jobId } })).data.state === 'finished')
    const { data: receipt } = await admin.discovery.getReceipt({ params: { jobId }, query: {} })
    assert.deepEqual(
      [receipt.jobId, receipt.assetLinkId, receipt.state, receipt.totals],
      [jobId, assetLinkId, 'finished', {}],
    )
    assert.equal(verifyReceipt(receipt).isValid, true)
  })

  test('returns 400 with a pointer for a filter value of type bytes that is not base64', async () => {
    const create = (value: string) =>
      admin.exchange(discovery, 'createDiscovery', {
        params: { gatewayId: gateway.gatewayId },
        body: { data: { assetLinkId: linkId, discoveryFilters: [{ key: 'mask', value }] } },
      })
    const { status: code, body } = await create('not base64!')
    const { errors } = body as { errors: { pointer: string; detail: string }[] }
    assert.deepEqual([code, errors.map(({ pointer }) => pointer)], [400, ['/data/discoveryFilters/0/value']])
    assert.match(errors[0]?.detail ?? '', /base64/)
  })

  /** Sends a request target to the auth proxy exactly as written. */
  const send = (method: string, path: string, body?: string) =>
    new Promise<{ code: number; answer: string }>((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      request({ agent: false, host: '127.0.0.1', port: gateway.proxyPort, method, path, headers }, (response) =>
        text(response).then((answer) => resolve({ code: response.statusCode ?? 0, answer }), reject),
      )
        .once('error', reject)
        .end(body)
    })

  test('does not give credentials of a running discovery to local processes through the auth proxy', async () => {
    const password = 'planted-secret'
    const manager = await hub.as('credential_manager')
    const { data: schema } = await manager.credentials.createSchema({
      query: { resourceIdentifier: deviceClass, resourceVersion: '3.7.4' },
      body: {
        data: {
          uri: 'urn:example:credentials',
          schema: { type: 'object', properties: { password: { type: 'string', writeOnly: true } } },
        },
      },
    })
    const values = {
      schemaId: schema.id,
      name: 'line 7',
      values: { password },
      metadata: { ipRanges: ['10.7.0.0/24'] },
    }
    await manager.credentials.createInstance({ body: { data: values } })
    const deliveries = async () =>
      (await admin.audit.listEntries({ query: { action: 'credentials.deliver' } })).data.length

    const reading = Promise.withResolvers<string>()
    const isTried = Promise.withResolvers<void>()
    identified = async ({ credentials: [credential] }) => {
      if (credential === undefined) throw new Error('The device is protected')
      reading.resolve(JSON.parse(credential.credentials).password)
      await isTried.promise
      return newDevice(2).identifiers
    }
    const device = { connection_parameter_set: connectionOf('10.7.0.2') }
    scanned = () => ({ errors: [{ result_code: status.UNAUTHENTICATED, description: 'protected', device }] })
    const jobId = await begin()
    try {
      assert.equal(await reading.promise, password, 'the gateway has the credentials')
      const delivered = await deliveries()
      assert.ok(delivered > 0)
      const jobs = await send('GET', '/wfx-southbound/jobs?state=RUNNING')
      const [job] = (JSON.parse(jobs.answer) as { content: { id: string }[] }).content
      assert.ok(job, jobs.answer)
      const body = JSON.stringify({ data: { assetLinkId: linkId, address: '10.7.0.2' } })
      const path = `/gatekeeper/v1/jobs/${job.id}/`
      const spellings = [
        'credentials',
        'credential%73',
        '%63redentials',
        'credentials/',
        './credentials',
        '/credentials',
      ]
      const targets = [
        ...spellings,
        '../x/../credentials',
        'Credentials',
        'credentials;a=b',
        'credentials%2f',
        'credentials?a',
      ]
      for (const target of [...targets.map((one) => path + one), `/v1${path}credential%73`]) {
        const { code, answer } = await send('POST', target, body)
        assert.ok(code === 400 || code === 404, `${target}: ${code}`)
        assert.ok(!answer.includes(password), target)
      }
      assert.equal(await deliveries(), delivered, 'the hub delivered nothing')
    } finally {
      isTried.resolve()
    }
    assert.deepEqual((await ended(jobId)).errors, [])
  })
})
