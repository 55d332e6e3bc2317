import assert from 'node:assert/strict'
import { appendFileSync, chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { status } from '@grpc/grpc-js'
import type { LinkReport, ManagedLink } from '@millwright/api/gatekeeper.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { fittingReport, fittingReports } from './link-monitor/report.ts'
import { createLog, type Log } from './log.ts'
import { SetupError } from './setup-error.ts'
import { askRegistry, settingsFor, TestCloud, TestLink, temporaryFolder, until } from './testing.ts'

const uri = 'https://industrial-assets.io/schemas/iah/base-schema/released/v1/Device#'
const field = (path: string, value: string) => ({ text: value, classifiers: [{ type: 'URI', value: uri + path }] })

function device(number: number) {
  const mac = `00:16:3e:${number.toString(16).padStart(6, '0').match(/../g)?.join(':')}`
  const children = [
    field('asset_identifiers/asset_identifier_type', 'MacIdentifier'),
    field('asset_identifiers/mac_address', mac),
  ]
  const identifiers = [
    field('name', `Device ${number}`),
    { children: { value: children }, classifiers: [{ type: 'URI', value: `${uri}asset_identifiers` }] },
  ]
  return { identifiers, timestamp: '19347439483904' }
}

const version = (_: unknown, answer: (error: null, value: object) => void) =>
  answer(null, {
    version: { major: 1, minor: 2, patch: 3, suffix: 'rc.1', vendor_name: 'Works', product_name: 'Link' },
  })

// biome-ignore lint/suspicious/noExplicitAny: calls of a library without types
type Call = any

const driverInfo = { GetVersionInfo: version }

function discovering(discover: (call: Call) => void, more: object = {}) {
  return {
    'connectivitysuite.drvinfo.v1': driverInfo,
    'industrialassethub.discover.v1': {
      GetFilterTypes: (_: Call, answer: Call) => answer({ code: status.UNKNOWN, details: 'no supported filters' }),
      GetFilterOptions: (_: Call, answer: Call) =>
        answer(null, { filter_options: [{ key: 'limit', datatype: 'VT_UINT64', description: 'How many' }] }),
      DiscoverDevices: discover,
    },
    ...more,
  }
}

const linkId = 'cdm-device-class-driver-test'

describe('a gateway', () => {
  let cloud: TestCloud
  let gateway: RunningGateway
  const home = temporaryFolder()

  before(async () => {
    cloud = await TestCloud.start()
    cloud.configure(home)
    gateway = await startGateway(settingsFor(home), { renewEveryMs: 50 })
  })
  after(async () => {
    await gateway.stop()
    await cloud.stop()
  })
  beforeEach(() => {
    cloud.answering = () => undefined
  })

  const register = (link: Pick<TestLink, 'vendor' | 'port'>, id = linkId) =>
    askRegistry(gateway.registryPort, link.vendor)('RegisterService', {
      info: {
        app_instance_id: id,
        ipv4_address: '127.0.0.1',
        grpc_ip_port_number: link.port,
        app_types: [],
        interfaces: [],
        driver_schema_uris: ['test.al'],
      },
    })
  const lastReport = () => cloud.callsOf('reportLinks').at(-1)?.body.data.links ?? []
  const running = async (link: TestLink, id = linkId) => {
    await register(link, id)
    const isThis = ({ appInstanceId, endpoint }: Call) => appInstanceId === id && endpoint === `127.0.0.1:${link.port}`
    await until(() => lastReport().find(isThis)?.state === 'running')
  }
  const discover = (more: object = {}) => cloud.offer('discovery', { assetLinkId: linkId, ...more })

  test('creates a key file that only its owner can read, and enrols the gateway', () => {
    assert.equal(statSync(join(home, 'gateway-key.pem')).mode & 0o777, 0o600)
    assert.equal(gateway.tenantName, 'plant')
    assert.doesNotMatch(readFileSync(join(home, 'identity.json'), 'utf8'), /secret-of-the-file/)
  })

  test('inspects a link when it registers, and reports the link to the cloud', async () => {
    using link = await TestLink.start(discovering((call) => call.end()))
    await running(link)
    const [{ registration, ...report }] = lastReport()
    assert.deepEqual(report, {
      appInstanceId: linkId,
      deviceClass: 'test.al',
      vendorPrefix: 'siemens',
      endpoint: `127.0.0.1:${link.port}`,
      state: 'running',
      interfaces: ['siemens.connectivitysuite.drvinfo.v1', 'siemens.industrialassethub.discover.v1'],
      product: { vendor: 'Works', name: 'Link', version: '1.2.3-rc.1' },
      filters: [],
      options: [{ key: 'limit', dataType: 'unsigned', mandatory: false, description: 'How many' }],
      credentialSchemas: [],
    })
    assert.ok(registration.expiresInSeconds > 600 && registration.expiresInSeconds <= 900)
    await register(link)
    await until(() => lastReport()[0]?.registration?.timestamp > registration.timestamp)
    await askRegistry(gateway.registryPort, 'siemens')('UnregisterService', { info: { app_instance_id: linkId } })
    await until(() => cloud.callsOf('reportLinks').some(({ body }) => body.data.links[0]?.state === 'gone'))
  })

  test('reports a link that registered an unreachable address', async () => {
    // The test uses port 1, because another program may now use the port of a stopped link.
    await register({ vendor: 'siemens', port: 1 }, 'nowhere')
    const report = await until(() => lastReport().find((one: Call) => /is not reachable/.test(one.problem ?? '')))
    assert.equal(report.state, 'unreachable')
    assert.match(report.problem, /127\.0\.0\.1:1\b/)
  })

  for (const vendor of ['siemens', 'millwright']) {
    test(`scans through a link with the prefix ${vendor}, and delivers findings before the job ends`, async () => {
      let asked: Call
      using link = await TestLink.start(
        discovering((call) => {
          asked = call.request
          call.write({ devices: [device(1), device(2)] })
          const parameters = { parameter_json: '{"ipAddress":"10.0.0.1"}', credentials: [{ credentials: 'hidden' }] }
          const error = { result_code: 16, description: 'no', device: { connection_parameter_set: parameters } }
          call.write({ errors: [error] })
          call.end()
        }),
        vendor,
      )
      await running(link)
      const job = discover({ options: [{ key: 'limit', value: '7' }], filters: [] })
      await until(() => cloud.endOf(job))
      assert.deepEqual(cloud.endOf(job), { jobId: job, state: 'FINISHED', message: 'Scan complete' })
      assert.deepEqual(
        cloud.found(job).map(({ name }) => name),
        ['Device 1', 'Device 2'],
      )
      assert.deepEqual(cloud.errors(job), [
        {
          code: 16,
          description: 'The device is protected, and there are no credentials for its address',
          device: { ipAddress: '10.0.0.1' },
        },
      ])
      assert.equal(asked.options[0].value.uint64_value, '7')
      const order = cloud.calls.filter(({ body, params }) => params.id === job || body.data.jobId === job)
      assert.equal(order.at(-1)?.operation, 'endJob')
    })
  }

  test('splits findings into uploads within the limits of the cloud', async () => {
    using link = await TestLink.start(
      discovering((call) => {
        call.write({ devices: Array.from({ length: 1_201 }, (_, number) => device(number)) })
        call.end()
      }),
    )
    await running(link)
    const job = discover()
    await until(() => cloud.endOf(job))
    const sizes = cloud.callsOf('uploadFound').filter(({ params }) => params.id === job)
    assert.deepEqual(
      sizes.map(({ body }) => [body.data.sequence, body.data.assets.length]),
      [
        [0, 500],
        [1, 500],
        [2, 201],
      ],
    )
  })

  test('fails the job of a link that is not registered', async () => {
    const job = cloud.offer('discovery', { assetLinkId: 'unknown' })
    await until(() => cloud.endOf(job))
    assert.equal(cloud.endOf(job).state, 'FAILED')
    assert.match(cloud.endOf(job).message, /Asset link unknown is not registered with the gateway/)
  })

  for (const missing of ['runId', 'discoveryId'])
    test(`does not start a scan for a job without ${missing}`, async () => {
      let scans = 0
      using link = await TestLink.start(
        discovering((call) => {
          scans += 1
          call.end()
        }),
      )
      await running(link)
      const job = discover({ [missing]: undefined })
      const { state, message } = await until(() => cloud.endOf(job))
      assert.deepEqual([state, scans], ['FAILED', 0])
      assert.match(message, /^The job has no run of a discovery/)
    })

  test('repeats the request for a scan while a link is busy', async () => {
    let attempts = 0
    using link = await TestLink.start(
      discovering((call) => {
        attempts += 1
        if (attempts < 3) return call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'one at a time' })
        call.write({ devices: [device(1)] })
        call.end()
      }),
    )
    await running(link)
    const job = discover()
    await until(() => cloud.endOf(job))
    assert.equal(cloud.endOf(job).state, 'FINISHED')
    assert.equal(attempts, 3)
  })

  test('uses the new address of a link after its restart', async () => {
    const first = await TestLink.start(discovering((call) => call.end()))
    await running(first)
    first.stop()
    const job = discover({ filters: [], options: [] })
    await until(() =>
      cloud.callsOf('renewLease').some(({ body }) => /is not reachable yet/.test(body.data.message ?? '')),
    )
    using second = await TestLink.start(
      discovering((call) => {
        call.write({ devices: [device(1)] })
        call.end()
      }),
    )
    await register(second)
    await until(() => cloud.endOf(job))
    assert.deepEqual([cloud.endOf(job).state, cloud.found(job).length], ['FINISHED', 1])
  })

  test('runs only one scan of a link at a time', async () => {
    let atOnce = 0
    let most = 0
    using link = await TestLink.start(
      discovering((call) => {
        atOnce += 1
        most = Math.max(most, atOnce)
        setTimeout(() => {
          atOnce -= 1
          call.end()
        }, 20)
      }),
    )
    await running(link)
    const jobs = [discover(), discover(), discover()]
    await until(() => jobs.every((job) => cloud.endOf(job)))
    assert.equal(most, 1)
  })

  test('delivers the findings of a link that fails during a scan', async () => {
    const link = await TestLink.start(
      discovering((call) => {
        call.write({ devices: [device(1)] })
      }),
    )
    await running(link)
    const job = discover()
    await until(() => cloud.found(job).length === 1)
    link.stop()
    await until(() => cloud.endOf(job))
    assert.equal(cloud.endOf(job).state, 'FAILED')
    assert.equal(
      cloud.endOf(job).message,
      'The asset link ended the scan with an error: The asset link stopped during the call. Its log contains the reason.',
    )
    assert.equal(cloud.found(job).length, 1)
  })

  test('accepts large messages of a link, and fails the scan without retry when a message is too large', async () => {
    const talkative = (number: number) => ({
      identifiers: [...device(number).identifiers, field('description', 'x'.repeat(600_000))],
    })
    let count = 8
    let scans = 0
    using link = await TestLink.start(
      discovering((call) => {
        scans += 1
        call.write({ devices: Array.from({ length: count }, (_, index) => talkative(index)) })
        call.end()
      }),
    )
    await running(link)
    const job = discover()
    await until(() => cloud.endOf(job))
    assert.deepEqual([cloud.endOf(job).state, cloud.found(job).length, scans], ['FINISHED', 8, 1])
    count = 30
    const another = discover()
    await until(() => cloud.endOf(another))
    assert.match(cloud.endOf(another).message, /larger than/)
    assert.deepEqual([cloud.endOf(another).state, scans], ['FAILED', 2])
  })

  test('reports a running scan, stops it after a cancellation, and delivers its findings', async () => {
    let isCanceled = false
    using link = await TestLink.start(
      discovering((call) => {
        call.on('cancelled', () => {
          isCanceled = true
        })
        call.write({ devices: [device(1)] })
      }),
    )
    await running(link)
    const job = discover()
    await until(() => cloud.found(job).length === 1)
    const renewals = () => cloud.callsOf('renewLease').filter(({ body }) => body.data.jobId === job)
    await until(() => renewals().some(({ body }) => body.data.message === 'Scanning'))
    cloud.canceled.add(job)
    await until(() => cloud.endOf(job))
    assert.deepEqual(cloud.endOf(job), { jobId: job, state: 'CANCELED', message: 'Canceled' })
    assert.equal(cloud.found(job).length, 1)
    await until(() => isCanceled)
  })

  test('scans with a link of the first generation, and stops its discovery afterwards', async () => {
    let stopped: Call
    const path = 'commondevicemanagement.devicediscovery.v1'
    using link = await TestLink.start({
      'connectivitysuite.drvinfo.v1': driverInfo,
      [path]: {
        StartDeviceDiscovery: (call: Call, answer: Call) =>
          answer(null, { discovery_id: call.request.filters[0].value === '10.0.0.*' ? 7 : 0 }),
        SubscribeDiscoveryResults: (call: Call) => {
          const parameters = {
            fields: { name: { stringValue: 'Old' }, mac_address: { stringValue: '00:16:3e:00:00:09' } },
          }
          const identifiers = {
            listValue: { values: [{ structValue: { fields: { mac_address: parameters.fields.mac_address } } }] },
          }
          call.write({
            devices: [{ parameters: { fields: { name: parameters.fields.name, mac_identifiers: identifiers } } }],
          })
          call.end()
        },
        StopDeviceDiscovery: (call: Call, answer: Call) => {
          stopped = call.request
          answer(null, {})
        },
      },
    })
    await askRegistry(gateway.registryPort, 'siemens')('RegisterService', {
      info: {
        app_instance_id: linkId,
        ipv4_address: '127.0.0.1',
        grpc_ip_port_number: link.port,
        interfaces: [`siemens.${path}`],
      },
    })
    const job = discover({ filters: [{ key: 'ip', value: '10.0.0.*' }] })
    await until(() => cloud.endOf(job))
    assert.equal(cloud.endOf(job).state, 'FINISHED')
    assert.equal(cloud.found(job)[0]?.name, 'Old')
    assert.deepEqual(stopped, { discovery_id: 7 })
  })

  test('returns one result for each requested property key, and a reason for each missing key', async () => {
    let asked: Call
    using link = await TestLink.start(
      discovering((call) => call.end(), {
        'connectivitysuite.deviceinfo.v1': {
          GetPropertyValues: (call: Call, answer: Call) => {
            asked = call.request
            const certificate = { struct_value: { fields: { valid: { bool_value: true } } } }
            const property_results = [
              { property: { key: 'extra', value: { text: 'not asked for' } } },
              { property: { key: 'certificate', value: certificate } },
              { error: { key: 'broken', result_code: 14, description: 'no answer' } },
            ]
            answer(null, { property_results })
          },
          GetSupportedProperties: (_: Call, answer: Call) =>
            answer(null, { properties: [{ key: 'certificate', datatype: 'VT_STRUCT' }, { key: 'silent' }] }),
        },
      }),
    )
    await running(link)
    const assetIdentifiers = [{ asset_identifier_type: 'MacIdentifier', mac_address: '00:16:3e:00:00:00' }]
    const keys = ['certificate', 'broken', 'silent', 'nothing', 'certificate']
    const connection = { ip_address: '203.0.113.9' }
    const job = cloud.offer('device-info', { assetLinkId: linkId, assetIdentifiers, keys, connection })
    const { result } = await until(() => cloud.endOf(job))
    const certificate = { key: 'certificate', value: { valid: true } }
    const error = (code: number, name: string, description: string) => ({ code, name, description })
    assert.deepEqual(result.results, [
      certificate,
      { key: 'broken', error: error(14, 'UNAVAILABLE', 'no answer') },
      { key: 'silent', error: error(9, 'FAILED_PRECONDITION', 'The device did not return the property silent') },
      { key: 'nothing', error: error(3, 'INVALID_ARGUMENT', 'The device has no property nothing') },
      certificate,
    ])
    const { parameter_json } = asked.device.connection_parameter_set
    // The definition of a job cannot set the connection of the device.
    assert.deepEqual(JSON.parse(parameter_json), { asset_identifiers: assetIdentifiers })

    const second = cloud.offer('device-info', { assetLinkId: linkId, assetIdentifiers, supported: true })
    const supported = await until(() => cloud.endOf(second))
    assert.deepEqual(supported.result.properties, [{ key: 'certificate', dataType: 'structure' }, { key: 'silent' }])
  })

  test('reports an unreachable device, and a response that is too large for the cloud', async () => {
    const refuse = (_: Call, answer: Call) => answer({ code: status.UNAVAILABLE, details: 'no route' })
    using link = await TestLink.start(
      discovering((call) => call.end(), {
        'connectivitysuite.deviceinfo.v1': { GetPropertyValues: refuse, GetSupportedProperties: refuse },
      }),
    )
    await running(link)
    const job = cloud.offer('device-info', { assetLinkId: linkId, assetIdentifiers: [], keys: ['a'] })
    const { state, result } = await until(() => cloud.endOf(job))
    assert.equal(state, 'FINISHED')
    assert.deepEqual(result, { unreachable: true, description: 'UNAVAILABLE: no route' })

    cloud.answering = ({ operation, body }) =>
      operation === 'endJob' && body.data.result !== undefined
        ? { status: 413, body: { code: 'body_too_large', detail: 'too much' } }
        : undefined
    const large = cloud.offer('device-info', { assetLinkId: linkId, assetIdentifiers: [], keys: ['a'] })
    const ends = () => cloud.callsOf('endJob').filter(({ body }) => body.data.jobId === large)
    await until(() => ends().length === 2)
    assert.deepEqual([ends()[1]?.body.data.state, ends()[1]?.body.data.result], ['FAILED', undefined])
  })

  test('receives alarms and driver events of links, even after the address of a link changed', async () => {
    const alarming = (alarm_id: string) => ({
      'connectivitysuite.drvinfo.v1': driverInfo,
      'connectivitysuite.alarmsevents.v1': {
        SubscribeAlarms: (call: Call) =>
          call.write({
            notifications: [
              { alarm_id, priority: 12, is_active: 'yes', alarm_text: { localized_texts: { en: 'Too hot' } } },
            ],
          }),
      },
      'connectivitysuite.driverevent.v1': {
        SubscribeEvents: (call: Call) => {
          const value = Buffer.from([0x10, 0x02])
          const type_url = 'type.googleapis.com/siemens.connectivitysuite.driverevent.v1.DriverStateNotification'
          call.write({
            notifications: [
              { type_url, value: Buffer.from([0x1a, 0xff]) },
              { type_url, value },
            ],
          })
        },
      },
    })
    const registerAlarming = ({ port }: TestLink) =>
      askRegistry(gateway.registryPort, 'siemens')('RegisterService', {
        info: {
          app_instance_id: 'alarming',
          ipv4_address: '127.0.0.1',
          grpc_ip_port_number: port,
          app_types: ['cs-alarms-events', 'cs-driver'],
        },
      })
    const hasEvent = (text: string) => gateway.status().events.some((event) => event.text === text)
    const first = await TestLink.start(alarming('A1'))
    await registerAlarming(first)
    await until(() => hasEvent('A1 priority 12 active Too hot') && hasEvent('driver is bad'))
    const events = await until(() => lastReport().find((one: Call) => one.events?.length === 3)?.events as Call[])
    assert.deepEqual(events.map(({ kind, text }) => `${kind}: ${text}`).toSorted(), [
      'alarm: A1 priority 12 active Too hot',
      'driver: driver is bad',
      'driver: unreadable driver state',
    ])
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      [1, 2, 3],
    )
    const streamOf = () => lastReport().find((one: Call) => one.events !== undefined)?.eventStream
    const stream = streamOf()
    first.stop()
    using second = await TestLink.start(alarming('A2'))
    await registerAlarming(second)
    await until(() => hasEvent('A2 priority 12 active Too hot'))
    await until(() => lastReport().some((one: Call) => one.events?.length === 6))
    assert.equal(streamOf(), stream, 'the gateway continues the count of the link')
  })

  test('forwards requests of local agents with the identity of the gateway', async () => {
    const proxy = `http://127.0.0.1:${gateway.proxyPort}`
    const headers = { 'content-type': 'application/json', authorization: 'Bearer stolen' }
    const body = JSON.stringify({ data: { workflows: ['agents-own'], waitSeconds: 0 } })
    const id = cloud.offer('agents-own', {})
    const leased = await fetch(`${proxy}/gatekeeper/v1/leases`, { method: 'POST', headers, body })
    assert.equal(((await leased.json()) as Call).data.job.id, id)
    const status = (await (await fetch(`${proxy}/gateway/status`)).json()) as Call
    assert.equal(status.cloud.standing, 'online')
  })

  test('forwards events to local agents immediately', async () => {
    const ending = new AbortController()
    const url = `http://127.0.0.1:${gateway.proxyPort}/gatekeeper/v1/jobs/events`
    const response = await fetch(url, { signal: ending.signal })
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    const reader = (response.body ?? assert.fail()).getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    assert.match(await read(), /first/)
    cloud.wake()
    assert.match(await read(), /second/)
    ending.abort()
  })
})

describe('a gateway with an unreliable connection', () => {
  const createHome = async (context: TestContext, more: Partial<ReturnType<typeof settingsFor>> = {}) => {
    const cloud = await TestCloud.start()
    context.after(() => cloud.stop())
    const home = temporaryFolder()
    cloud.configure(home)
    return { cloud, home, settings: settingsFor(home, more) }
  }
  const started = async (context: TestContext, settings: ReturnType<typeof settingsFor>, log?: Log) => {
    const gateway = await startGateway(settings, log === undefined ? {} : { log })
    context.after(() => gateway.stop())
    return gateway
  }
  const registering = (gateway: RunningGateway, link: TestLink) =>
    askRegistry(gateway.registryPort, link.vendor)('RegisterService', {
      info: { app_instance_id: linkId, ipv4_address: '127.0.0.1', grpc_ip_port_number: link.port },
    })

  test('finishes a scan while the cloud is unreachable, and delivers it after gateway and cloud restart', async (context) => {
    const { cloud, settings } = await createHome(context)
    let scan: Call
    using link = await TestLink.start(
      discovering((call) => {
        scan = call
      }),
    )
    const first = await started(context, settings)
    await registering(first, link)
    const job = cloud.offer('discovery', { assetLinkId: linkId })
    await until(() => scan)
    await cloud.stop()
    scan.write({ devices: [device(1)] })
    scan.end()
    await until(() => first.status().spool.entries === 2)
    await first.stop()
    assert.deepEqual(cloud.found(job), [])

    await cloud.listen()
    const second = await started(context, settings)
    assert.equal(second.status().links.length, 1)
    await until(() => cloud.endOf(job))
    assert.equal(cloud.found(job).length, 1)
    assert.equal(cloud.endOf(job).state, 'FINISHED')
  })

  test('runs a job that waited for the start of the gateway as soon as the link of the gateway has registered', async (context) => {
    const { cloud, settings } = await createHome(context)
    const appInstanceId = 'millwright.links.plant'
    const file = join(import.meta.dirname, '../links/plant/main.ts')
    const job = cloud.offer('discovery', { assetLinkId: appInstanceId, options: [{ key: 'size', value: '8' }] })
    const builtInLinks = [{ name: 'plant', appInstanceId, file }]
    const gateway = await startGateway({ ...settings, links: ['plant'] }, { builtInLinks })
    context.after(() => gateway.stop())
    await gateway.startLinks()
    const { state, message } = await until(() => cloud.endOf(job))
    assert.equal(state, 'FINISHED', message)
    assert.ok(cloud.found(job).length > 0)
  })

  test('continues a running scan when its job is offered again', async (context) => {
    const { cloud, settings } = await createHome(context)
    let scans = 0
    let scan: Call
    using link = await TestLink.start(
      discovering((call) => {
        scans += 1
        scan = call
      }),
    )
    const gateway = await started(context, settings)
    await registering(gateway, link)
    const job = cloud.offer('discovery', { assetLinkId: linkId })
    const offered = { ...cloud.jobs.find(({ id }) => id === job) } as (typeof cloud.jobs)[number]
    await until(() => scan)
    const old = cloud.leases.get(job)
    cloud.jobs.push(offered)
    cloud.wake()
    await until(() => cloud.leases.get(job) !== old)
    assert.deepEqual(
      cloud.callsOf('leaseJob').at(-1)?.body.data.activeJobs,
      [job],
      'the platform knows that the scan continues',
    )
    scan.write({ devices: [device(1)] })
    scan.end()
    await until(() => cloud.endOf(job))
    assert.equal(scans, 1)
    assert.equal(cloud.callsOf('endJob').at(-1)?.params.id, cloud.leases.get(job))
  })

  test(
    'fails the job of a link that stops sending, delivers its devices, and starts the next job of the link',
    onlyInLongRuns,
    async (context) => {
      const { cloud, settings } = await createHome(context, { linkSilenceMs: 4_000 })
      let scans = 0
      let isCanceled = false
      using link = await TestLink.start(
        discovering((call) => {
          scans += 1
          if (scans > 1) return call.end()
          call.on('cancelled', () => {
            isCanceled = true
          })
          call.write({ devices: [device(1)] })
        }),
      )
      const gateway = await started(context, settings)
      await registering(gateway, link)
      const silent = cloud.offer('discovery', { assetLinkId: linkId })
      const next = cloud.offer('discovery', { assetLinkId: linkId })
      const { state, message } = await until(() => cloud.endOf(silent))
      assert.deepEqual(
        [state, message],
        ['FAILED', `Asset link ${linkId} sent nothing for 4 seconds (MILLWRIGHT_GATEWAY_LINK_SILENCE_SECONDS)`],
      )
      assert.equal(cloud.found(silent).length, 1)
      await until(() => isCanceled)
      await until(() => scans > 1)
      await until(() => cloud.endOf(next))
    },
  )

  test('reports the progress that a link sends, and stays below 100 percent until the job ends', async (context) => {
    const { cloud, settings } = await createHome(context)
    let scan: Call
    using link = await TestLink.start(
      discovering((call) => {
        scan = call
      }),
    )
    const gateway = await startGateway(settings, { renewEveryMs: 50 })
    context.after(() => gateway.stop())
    await registering(gateway, link)
    const job = cloud.offer('discovery', { assetLinkId: linkId })
    await until(() => scan)
    assert.deepEqual(scan.metadata.get('millwright-discovery-progress'), ['1'])
    const reported = (progress: number) => () =>
      cloud.callsOf('renewLease').some(({ body }) => body.data.jobId === job && body.data.progress === progress)
    scan.write({ progress: 40 })
    await until(reported(40))
    scan.write({ devices: [device(1)] })
    scan.write({ progress: 100 })
    await until(reported(99))
    scan.end()
    assert.equal((await until(() => cloud.endOf(job))).state, 'FINISHED')
  })

  test('does not start a scan for a job that is being canceled', async (context) => {
    const { cloud, settings } = await createHome(context)
    await started(context, settings)
    const id = crypto.randomUUID()
    cloud.jobs.push({ id, workflow: 'discovery', definition: { assetLinkId: linkId }, state: 'CANCELING' })
    cloud.wake()
    await until(() => cloud.endOf(id))
    assert.equal(cloud.endOf(id).state, 'CANCELED')
  })

  test('applies back-pressure to a link that is faster than the cloud', onlyInLongRuns, async (context) => {
    const { cloud, settings } = await createHome(context, { spoolBytes: 300_000 })
    let isOpen = false
    cloud.answering = ({ operation }) =>
      operation === 'uploadFound' && !isOpen
        ? { status: 503, body: { code: 'overloaded', detail: 'later' } }
        : undefined
    let written = 0
    const total = 6_000
    using link = await TestLink.start(
      discovering((call) => {
        const more = () => {
          while (written < total) {
            written += 10
            if (!call.write({ devices: Array.from({ length: 10 }, (_, index) => device(written + index)) })) {
              return call.once('drain', more)
            }
          }
          call.end()
        }
        more()
      }),
    )
    const gateway = await started(context, settings)
    await registering(gateway, link)
    const job = cloud.offer('discovery', { assetLinkId: linkId })
    await until(() => gateway.status().spool.bytes > 150_000)
    const heldAt = written
    assert.ok(gateway.status().spool.bytes <= 300_000)
    assert.ok(heldAt < total)
    isOpen = true
    await until(() => cloud.endOf(job))
    assert.equal(cloud.found(job).length, total)
  })

  test('corrects the clock of the gateway to the time of the cloud', async (context) => {
    const { cloud, settings } = await createHome(context)
    cloud.clockAheadMs = 3 * 3_600_000
    await started(context, settings)
    await until(() => cloud.callsOf('reportLinks').length > 0)
  })

  test(
    'renews the token of the gateway before it expires, and logs a revocation once',
    onlyInLongRuns,
    async (context) => {
      const { cloud, settings } = await createHome(context)
      const lines: string[] = []
      const log = createLog({ level: 'info', to: { write: (line: string) => void lines.push(line) } })
      cloud.tokenSeconds = 2
      const gateway = await started(context, settings, log)
      await until(() => cloud.tokens >= 3)
      cloud.isRevoked = true
      await until(() => gateway.status().cloud.standing === 'refused')
      const rejections = lines.filter((line) => /rejects this gateway/.test(line))
      assert.equal(rejections.length, 1)
      assert.ok(lines.every((line) => !/token-\d/.test(line)))
    },
  )
})

test('fittingReports leaves out large logs of built-in links, and counts the built-in links', () => {
  const managed = (log: string[]): ManagedLink => {
    const name = 'plant'
    return { name, appInstanceId: `millwright.links.${name}`, enabled: true, state: 'running', restarts: 0, log }
  }
  const [small, large] = [managed(['started']), managed(Array.from({ length: 20 }, () => 'x'.repeat(1_000)))]
  assert.deepEqual(fittingReports([], [small], 10_000), { links: [], managedLinks: [small] })
  const { log: _, ...withoutLog } = large
  assert.deepEqual(fittingReports([], [large], 10_000).managedLinks, [withoutLog])
  assert.deepEqual(fittingReports([], []), { links: [] })
  const link: LinkReport = {
    appInstanceId: 'large',
    vendorPrefix: 'siemens',
    endpoint: 'plc:8081',
    interfaces: [],
    filters: [],
    options: [],
    credentialSchemas: [{ uri: 'a', schema: 'x'.repeat(5_000) }],
    state: 'running',
  }
  const medium = managed(['x'.repeat(3_000)])
  assert.equal(fittingReports([link], [medium], 8_000).links[0]?.credentialSchemas.length, 0)
})

test('fittingReport reduces the report of the largest link first, and always contains all links', () => {
  const link = (appInstanceId: string, schemaCharacters: number): LinkReport => ({
    appInstanceId,
    vendorPrefix: 'siemens',
    endpoint: 'plc:8081',
    interfaces: [],
    filters: [{ key: 'range', dataType: 'text', mandatory: false, description: 'Where' }],
    options: [],
    credentialSchemas: [{ uri: 'a', schema: 'x'.repeat(schemaCharacters) }],
    state: 'running',
    events: [{ timestamp: '2026-01-01T00:00:00.000Z', kind: 'alarm', text: 'Too hot' }],
  })
  const links = [link('modest', 100), link('loud', 5_000), link('also modest', 100)]
  assert.deepEqual(fittingReport(links), links)
  const [modest, loud, other] = fittingReport(links, 2_000)
  assert.deepEqual([modest, other], [links[0], links[2]])
  assert.deepEqual([loud?.credentialSchemas, loud?.events, loud?.filters], [[], undefined, links[1]?.filters])
  const least = fittingReport(links, 10)
  assert.deepEqual(
    least.map(({ appInstanceId, filters }) => [appInstanceId, filters.length]),
    [
      ['modest', 0],
      ['loud', 0],
      ['also modest', 0],
    ],
  )
})

describe('a gateway with an invalid configuration', () => {
  const refusedWith = async (settings: ReturnType<typeof settingsFor>, sentence: RegExp) => {
    await assert.rejects(startGateway(settings), (error) => {
      assert.ok(error instanceof SetupError, String(error))
      assert.match(error.message, sentence)
      return true
    })
  }

  test('an invalid configuration stops the gateway with a message that names the next step', async () => {
    const cloud = await TestCloud.start()
    const home = temporaryFolder()
    const settings = settingsFor(home)
    await refusedWith(settings, /gateway-config.json does not exist: register a gateway/)
    writeFileSync(settings.configFile, '{}')
    await refusedWith(settings, /is not a valid gateway-config.json/)
    cloud.configure(home, { enrolmentToken: 'of yesterday' })
    await refusedWith(settings, /The gateway-config\.json was already used/)
    cloud.configure(home, { enrolmentToken: 'old', expiresTimestamp: '2020-01-01T00:00:00.000Z' })
    await refusedWith(settings, /expired at 2020-01-01/)
    cloud.configure(home, { baseUrl: 'http://127.0.0.1:1' })
    await refusedWith(settings, /at http:\/\/127.0.0.1:1 is not reachable \(ECONNREFUSED\)/)
    cloud.configure(home)
    const gateway = await startGateway(settings)
    const spooled = join(home, 'spool', readdirSync(join(home, 'spool'))[0] ?? '')
    appendFileSync(spooled, 'being written')
    await refusedWith({ ...settings, registryPort: gateway.registryPort }, /Port \d+ of the registry is in use/)
    assert.equal(readFileSync(spooled, 'utf8'), 'being written', 'a second start leaves the first one alone')
    await gateway.stop()
    cloud.configure(home, { gatewayId: crypto.randomUUID() })
    await refusedWith(settings, /use a separate home for each gateway/)
    rmSync(settings.configFile)
    chmodSync(join(home, 'gateway-key.pem'), 0o644)
    await (await startGateway(settings)).stop()
    assert.equal(statSync(join(home, 'gateway-key.pem')).mode & 0o777, 0o600)
    writeFileSync(join(home, 'gateway-key.pem'), 'rubbish')
    await refusedWith(settings, /is not a valid gateway key/)
    await cloud.stop()
  })
})
