import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { gatekeeper } from '@millwright/api/gatekeeper.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { enrolledGateway, foundDevice, linkReport, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const assetLinkId = 'cdm-device-class-driver-example'
const anyId = '0198f0c2-7b1e-7c3a-9d55-0242ac120002'

describe('delivery of credentials through the gatekeeper', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  let held: Held
  let instances: string[]
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  type Held = Awaited<ReturnType<typeof lease>>
  type RequestBody = { address?: string; addresses?: string[]; assetLinkId?: string; lease?: string }

  const lease = async (workflow = 'discovery', of = gateway) => {
    const taken = await of.gatekeeper.leaseJob({ body: { data: { workflows: [workflow], waitSeconds: 10 } } })
    return taken?.data ?? assert.fail('the engine offers no job')
  }
  const begin = async (of = gateway, by = admin) => {
    await by.discovery.createDiscovery({
      params: { gatewayId: of.id },
      body: { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }] } },
    })
    return lease('discovery', of)
  }
  const beginIn = async (range: string) => {
    await end()
    const discoveryFilters = [{ key: 'ip_range', value: range }]
    const data = { assetLinkId, discoveryFilters, discoveryOptions: [{ key: 'size', value: '3' }] }
    await admin.discovery.createDiscovery({ params: { gatewayId: gateway.id }, body: { data } })
    return lease()
  }
  const ask = (data: RequestBody, { of = gateway, job = held.job.id } = {}) =>
    of.exchange(gatekeeper, 'requestCredentials', { params: { id: job }, body: { data: { assetLinkId, ...data } } })
  const chosen = async (address: string) => {
    const { data } = await gateway.gatekeeper.requestCredentials({
      params: { id: held.job.id },
      body: { data: { assetLinkId, address } },
    })
    return data[0] ?? assert.fail()
  }
  const end = (job = held) =>
    gateway.gatekeeper.endJob({
      params: { id: job.lease.id },
      body: { data: { jobId: job.job.id, state: 'FINISHED' } },
    })
  const create = async (name: string, ...ipRanges: string[]) => {
    const { data: schema } = await admin.credentials.createSchema({
      query: { resourceIdentifier: 'example.cdm.al.reference', resourceVersion: '1.2.3' },
      body: {
        data: {
          uri: 'urn:example:credentials',
          schema: {
            type: 'object',
            properties: { username: { type: 'string' }, password: { type: 'string', writeOnly: true } },
            required: ['username', 'password'],
          },
        },
      },
    })
    const { data: instance } = await admin.credentials.createInstance({
      body: {
        data: {
          schemaId: schema.id,
          name,
          values: { username: name, password: `planted-secret-${name}` },
          metadata: { ipRanges },
        },
      },
    })
    return instance.id
  }
  const trail = async (action: string, target: string) => {
    const { data } = await admin.audit.listEntries({ query: { action, target, limit: 50 } })
    return data
  }

  beforeEach(async () => {
    gateway = await enrolledGateway(hub, admin)
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
    held = await begin()
    instances ??= [await create('old', '10.1.0.0/16'), await create('new', '10.1.0.0/24')]
  })

  test('delivers credentials of a discovery only for addresses in its range', async () => {
    const addresses = ['10.1.0.7', '10.1.0.9', '10.1.0.20', 'fd00::1']
    const counts = async (range: string) => {
      held = await beginIn(range)
      const { body } = await ask({ addresses })
      const { data } = body as { data: { address: string; credentials: unknown[] }[] }
      assert.deepEqual(
        data.map(({ address }) => address),
        addresses,
      )
      return data.map(({ credentials }) => credentials.length)
    }
    assert.deepEqual(await counts('10.1.0.8-10.1.0.9,10.1.0.20'), [0, 2, 2, 0])
    assert.deepEqual(await counts('10.7.0.0/24'), [0, 0, 0, 0])
  })

  test('delivers the most recent credentials for an address, with cache-control no-store', async () => {
    const { status, body, headers } = await ask({ addresses: ['10.1.0.7', '10.1.9.9', '10.2.0.1'] })
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    const { data } = body as { data: { address: string; known: boolean; credentials: { instanceId: string }[] }[] }
    assert.deepEqual(
      data.map(({ address, known, credentials }) => [address, known, ...credentials.map((one) => one.instanceId)]),
      [
        ['10.1.0.7', false, instances[1], instances[0]],
        ['10.1.9.9', false, instances[0]],
        ['10.2.0.1', false],
      ],
    )
    assert.deepEqual((await chosen('10.1.9.9')).credentials, [
      {
        instanceId: instances[0],
        schemaUri: 'urn:example:credentials',
        credentials: JSON.stringify({ username: 'old', password: 'planted-secret-old' }),
      },
    ])
    const deliveries = await trail('credentials.deliver', `gateway/${gateway.id}`)
    assert.equal(deliveries.length, 3, 'one entry per address with a delivery')
    assert.match(deliveries[0]?.principalName ?? '', /^gateway /)
  })

  test('delivers credentials only for the running job of the gateway and its link, and records refusals', async () => {
    const address = '10.1.0.7'
    const other = await enrolledGateway(hub, admin, { name: 'line 2' })
    const refused = async (data: RequestBody, place: Parameters<typeof ask>[1] = {}) => {
      const { status, body } = await ask({ address, ...data }, place)
      const { code } = body as { code: string }
      assert.doesNotMatch(JSON.stringify(body), /planted-secret/)
      return `${status} ${code}`
    }
    assert.equal(await refused({}, { of: other }), '404 not_found', 'another gateway')
    assert.equal(await refused({}, { job: anyId }), '404 not_found', 'no such job')
    assert.equal(await refused({ assetLinkId: 'another' }), '403 forbidden', 'another link')
    assert.equal(await refused({ lease: anyId }), '409 lease_lost', 'an earlier lease')
    await hub.asOwner((owner) =>
      owner.query(`update workflow_jobs set lease_until = now() - interval '1 second' where id = $1`, [held.job.id]),
    )
    assert.equal(await refused({}), '409 lease_lost', 'a lease that ran out')
    held = await lease()
    assert.equal((await ask({ address, lease: held.lease.id })).status, 200)
    await end()
    assert.equal(await refused({}), '409 conflict', 'a job that is over')
    const { status } = await admin.exchange(gatekeeper, 'requestCredentials', {
      params: { id: held.job.id },
      body: { data: { assetLinkId, address } },
    })
    assert.equal(status, 403, 'a person')

    const entries = await trail('gatekeeper.requestCredentials', `job/${held.job.id}`)
    const codes = entries.filter(({ outcome }) => outcome === 'denied').map(({ detail }) => detail.code)
    assert.deepEqual(codes.toSorted(), ['conflict', 'forbidden', 'forbidden', 'lease_lost', 'lease_lost', 'not_found'])
  })

  test('delivers no credentials for a job that is being canceled', async () => {
    await admin.discovery.cancelDiscovery({ params: { jobId: String(held.job.definition.discoveryId) } })
    assert.equal((await ask({ address: '10.1.0.7' })).status, 409)
  })

  test('delivers no credentials of another tenant', async () => {
    const { tenantId, name } = await hub.anotherTenant()
    const stranger = await hub.as('administrator', { tenant: { tenantId, name } })
    const theirs = await enrolledGateway(hub, stranger)
    await theirs.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
    assert.equal((await ask({ address: '10.1.0.7' }, { of: theirs })).status, 404)
    const own = await begin(theirs, stranger)
    const { body } = await ask({ address: '10.1.0.7' }, { of: theirs, job: own.job.id })
    assert.deepEqual(body, { data: [{ address: '10.1.0.7', known: false, credentials: [] }] })
  })

  test('accepts either one address or a list of addresses in a request for credentials', async () => {
    for (const data of [{}, { address: 'plc-7.local' }, { address: '10.1.0.7', addresses: ['10.1.0.8'] }]) {
      const { status, body } = await ask(data)
      assert.deepEqual([status, (body as { code: string }).code], [400, 'invalid_body'], JSON.stringify(data))
    }
  })

  test('delivers the credentials that worked for a device first in the next run', async () => {
    const address = '10.1.0.21'
    const port = { connection_point_type: 'Ipv4Connectivity', ipv4_address: address }
    const [, right] = (await chosen(address)).credentials
    await gateway.gatekeeper.uploadFound({
      params: { id: held.job.id },
      body: {
        data: {
          lease: held.lease.id,
          sequence: 0,
          assets: [foundDevice(1), foundDevice(21, { connection_points: [port] })],
          errors: [],
          uses: [
            { address, instanceId: instances[1] ?? '', worked: false },
            { address, instanceId: right?.instanceId ?? '', worked: true, asset: 1 },
          ],
        },
      },
    })
    await end()
    await hub.settle()
    held = await begin()
    const again = await chosen(address)
    assert.deepEqual([again.known, again.credentials.map(({ instanceId }) => instanceId)], [true, [instances[0]]])

    const assets = await admin.inventory.listAssets({
      query: { filter: `connection_points/any(c: c/ipv4_address eq '${address}')` },
    })
    const assetId = String(assets.data[0]?.id)
    const { data } = await admin.credentials.listAssetInstances({ params: { assetId }, query: {} })
    assert.deepEqual(
      data.map(({ id }) => id),
      [instances[0]],
    )
  })

  test('delivers credentials for a device-info job only for the device of the job', async () => {
    const ports = ['10.1.0.31', '10.1.0.1'].map((ipv4_address) => ({
      connection_point_type: 'Ipv4Connectivity',
      ipv4_address,
    }))
    const upload = {
      lease: held.lease.id,
      sequence: 0,
      assets: [foundDevice(31, { connection_points: ports })],
      errors: [],
      deviceAddresses: [{ asset: 0, address: '10.1.0.31' }],
    }
    await gateway.gatekeeper.uploadFound({ params: { id: held.job.id }, body: { data: upload } })
    await end()
    await hub.settle()
    const assets = await admin.inventory.listAssets({ query: { filter: "name eq 'Device 31'" } })
    const id = String(assets.data[0]?.id)
    const reading = admin.discovery.readProperties({ params: { id }, body: { data: { keys: ['name'] } } })
    held = await lease('device-info')
    const { addresses, foundAddresses } = held.job.definition
    assert.deepEqual([addresses, foundAddresses], [['10.1.0.31', '10.1.0.1'], ['10.1.0.31']])
    assert.equal((await ask({ address: '10.1.0.32' })).status, 403)
    assert.equal((await chosen('10.1.0.31')).credentials.length, 2)
    assert.deepEqual((await chosen('10.1.0.1')).credentials, [], 'an address that only the device itself reports')
    const results = [{ key: 'name', value: 'Device 31' }]
    await gateway.gatekeeper.endJob({
      params: { id: held.lease.id },
      body: { data: { jobId: held.job.id, state: 'FINISHED', result: { results } } },
    })
    assert.deepEqual((await reading).data, results)
  })

  test('tests one credential against a device: delivers only this credential, and records whether it worked', async () => {
    await end()
    const [instanceId = ''] = instances
    const testing = (address: string, by = admin) =>
      by.discovery.testCredential({
        params: { gatewayId: gateway.id },
        body: { data: { assetLinkId, instanceId, address } },
      })
    const finish = async (result: Record<string, unknown>) =>
      gateway.gatekeeper.endJob({
        params: { id: held.lease.id },
        body: { data: { jobId: held.job.id, state: 'FINISHED', result } },
      })
    const first = testing('10.1.0.71')
    held = await lease('device-info')
    assert.equal((await ask({ address: '10.1.0.72' })).status, 403, 'another device')
    assert.deepEqual(
      (await chosen('10.1.0.71')).credentials.map((one) => one.instanceId),
      [instanceId],
    )
    await finish({ credentialTest: { outcome: 'accepted' } })
    const { data } = await first
    assert.deepEqual(data, { jobId: held.job.id, outcome: 'accepted' })
    const usage = async () =>
      (await admin.credentials.readInstanceUsage({ params: { instanceId } })).data.associations.find(
        ({ address }) => address === '10.1.0.71',
      )
    assert.equal(typeof (await usage())?.lastWorkedTimestamp, 'string')
    const [entry] = await trail('discovery.testCredential', `credential-instance/${instanceId}`)
    assert.deepEqual([entry?.detail.address, entry?.detail.outcome], ['10.1.0.71', 'accepted'])

    const outside = testing('10.9.0.1')
    held = await lease('device-info')
    assert.deepEqual((await chosen('10.9.0.1')).credentials, [], 'an address outside of the ranges')
    await finish({ credentialTest: { outcome: 'not_applicable' } })
    assert.equal((await outside).data.outcome, 'not_applicable')

    const old = testing('10.1.0.71')
    held = await lease('device-info')
    await Promise.all([finish({ results: [] }), assert.rejects(old, { code: 'gateway_not_ready' })])
    const tests = await trail('discovery.testCredential', `credential-instance/${instanceId}`)
    assert.deepEqual(tests.filter(({ outcome }) => outcome === 'failed').length, 1)
    await assert.rejects(testing('plc.example'), { code: 'invalid_body' })
    await assert.rejects(testing('10.1.0.71', await hub.as('operator')), { code: 'forbidden' })
    await assert.rejects(testing('10.1.0.71', await hub.as('credential_manager')), { code: 'forbidden' })
    held = await begin()
  })

  test('delivers the credentials of an asset only for the address at which it was found first', async () => {
    const report = async (address: string, points: string[]) => {
      const connection_points = points.map((ipv4_address) => ({
        connection_point_type: 'Ipv4Connectivity',
        ipv4_address,
      }))
      const assets = [foundDevice(51, { connection_points })]
      const data = {
        lease: held.lease.id,
        sequence: 0,
        assets,
        errors: [],
        deviceAddresses: [{ asset: 0, address }],
      }
      await gateway.gatekeeper.uploadFound({ params: { id: held.job.id }, body: { data } })
      await end()
      await hub.settle()
      held = await begin()
    }
    await report('10.1.0.51', ['10.1.0.51'])
    const { data: assets } = await admin.inventory.listAssets({ query: { filter: "name eq 'Device 51'" } })
    const assetId = String(assets[0]?.id)
    const { data: assigned } = await admin.credentials.assignInstance({
      params: { assetId, instanceId: instances[0] ?? '' },
    })
    const idsAt = async (address: string) => (await chosen(address)).credentials.map(({ instanceId }) => instanceId)
    assert.deepEqual(await idsAt('10.1.0.51'), [assigned.id])

    // Another device reports the identifiers and the address of the first device.
    await report('10.1.0.66', ['10.1.0.51', '10.1.0.66'])
    const { data: merged } = await admin.inventory.listAssets({ query: { filter: "name eq 'Device 51'" } })
    assert.deepEqual(
      merged.map(({ id }) => id),
      [assetId],
    )
    assert.deepEqual(await idsAt('10.1.0.51'), [assigned.id])
    assert.ok(!(await idsAt('10.1.0.66')).includes(assigned.id))
  })

  test('delivers no credentials for another link or asset when the definition of the job is changed', async () => {
    const address = '10.1.0.41'
    const fake = linkReport({ appInstanceId: 'fake-link' })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport(), fake] } } })
    const rewrite = async (definition: Record<string, unknown>) => {
      const params = { id: held.job.id }
      const body = { ...held.job.definition, ...definition }
      for (const caller of [gateway, admin])
        await assert.rejects(caller.workflows.putJobDefinition({ params, body }), { code: 'forbidden' })
      // Even with a changed definition, the service uses the stored discovery and relations.
      const system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
      await hub.context.peers(workflows, system).putJobDefinition({ params, body })
    }
    await rewrite({ assetLinkId: 'fake-link' })
    assert.equal((await ask({ address, assetLinkId: 'fake-link' })).status, 403, 'another link')
    await rewrite({ assetLinkId: 'fake-link', runId: anyId })
    assert.equal((await ask({ address, assetLinkId: 'fake-link' })).status, 403, 'another run')
    await rewrite({})
    const port = { connection_point_type: 'Ipv4Connectivity', ipv4_address: address }
    const assets = [foundDevice(41, { connection_points: [port] })]
    const deviceAddresses = [{ asset: 0, address }]
    const upload = { lease: held.lease.id, sequence: 0, assets, errors: [], deviceAddresses }
    await gateway.gatekeeper.uploadFound({ params: { id: held.job.id }, body: { data: upload } })
    await end()
    await hub.settle()
    const found = await admin.inventory.listAssets({ query: { filter: "name eq 'Device 41'" } })
    const id = String(found.data[0]?.id)
    const other = await enrolledGateway(hub, admin, { name: 'line 3' })
    const reading = admin.discovery.readProperties({ params: { id }, body: { data: { keys: ['name'] } } })
    held = await lease('device-info')
    assert.equal((await ask({ address })).status, 200)
    await rewrite({ assetId: other.id, addresses: [address] })
    assert.equal((await ask({ address })).status, 403, 'an asset that the link did not find')
    await rewrite({ assetLinkId: 'fake-link' })
    assert.equal((await ask({ address, assetLinkId: 'fake-link' })).status, 403, 'a link that did not find the asset')
    await gateway.gatekeeper.endJob({
      params: { id: held.lease.id },
      body: { data: { jobId: held.job.id, state: 'FINISHED', result: { results: [] } } },
    })
    await reading
  })
})
