import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { enrolledGateway, foundDevice, linkReport, runScan, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const links = ['ip-scan', 's7', 'profinet'] as const
type Link = (typeof links)[number]

describe('properties of a device that several links found', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  let id: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gateway = await enrolledGateway(hub, admin)
    const reports = links.map((name) =>
      linkReport({ appInstanceId: name, deviceClass: `millwright.links.${name}`, options: [] }),
    )
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: reports } } })
    for (const assetLinkId of links) {
      const { jobId } = await admin.discovery.createDiscovery({
        params: { gatewayId: gateway.id },
        body: { data: { assetLinkId } },
      })
      await runScan({ hub, admin, gateway, jobId, assets: [foundDevice(1)] })
    }
    const { data } = await admin.inventory.listAssets({ query: { filter: `name eq 'Device 1'` } })
    id = String(data[0]?.id)
  })
  after(() => hub[Symbol.asyncDispose]())

  const value = (key: string, link: Link) => ({ key, value: `${key} of ${link}` })
  const failure = (key: string, name: string) => ({ key, error: { code: 3, name, description: `no ${key}` } })
  const unknown = (key: string) => failure(key, 'INVALID_ARGUMENT')

  /** Answers the next requests to links. Returns the link and the keys of each request. */
  const answering = async (...results: Record<string, unknown>[]) => {
    const asked: unknown[] = []
    for (const result of results) {
      const taken = await gateway.gatekeeper.leaseJob({
        body: { data: { workflows: ['device-info'], waitSeconds: 10 } },
      })
      assert.ok(taken !== undefined)
      const { job, lease } = taken.data
      asked.push([job.definition.assetLinkId, job.definition.keys])
      const message = 'The device is protected, and there are no credentials for its address'
      const ended =
        result.protected === true
          ? { jobId: job.id, state: 'FAILED' as const, message, result }
          : { jobId: job.id, state: 'FINISHED' as const, result }
      await gateway.gatekeeper.endJob({ params: { id: lease.id }, body: { data: ended } })
    }
    return asked
  }
  const reading = async (...keys: string[]) =>
    (await admin.discovery.readProperties({ params: { id }, body: { data: { keys } } })).data

  test('come from the specific links first, and each further link reads the keys that are left', async () => {
    const [read, asked] = await Promise.all([
      reading('open_tcp_ports', 'name', 's7'),
      answering(
        { results: [unknown('open_tcp_ports'), value('name', 'profinet'), unknown('s7')] },
        { results: [unknown('open_tcp_ports'), value('s7', 's7')] },
        { results: [value('open_tcp_ports', 'ip-scan')] },
      ),
    ])
    assert.deepEqual(asked, [
      ['profinet', ['open_tcp_ports', 'name', 's7']],
      ['s7', ['open_tcp_ports', 's7']],
      ['ip-scan', ['open_tcp_ports']],
    ])
    assert.deepEqual(read, [value('open_tcp_ports', 'ip-scan'), value('name', 'profinet'), value('s7', 's7')])
  })

  test('have the error of a link that knows the property', async () => {
    const [read] = await Promise.all([
      reading('s7'),
      answering(
        { results: [unknown('s7')] },
        { results: [failure('s7', 'FAILED_PRECONDITION')] },
        { results: [unknown('s7')] },
      ),
    ])
    assert.deepEqual(read, [failure('s7', 'FAILED_PRECONDITION')])
  })

  test('come from another link if one link does not reach the device', async () => {
    const [read, asked] = await Promise.all([
      reading('name'),
      answering({ unreachable: true, description: 'no answer to DCP' }, { results: [value('name', 's7')] }),
    ])
    assert.deepEqual(asked, [
      ['profinet', ['name']],
      ['s7', ['name']],
    ])
    assert.deepEqual(read, [value('name', 's7')])
  })

  test('are unreachable if no link reaches the device', async () => {
    const failed = { unreachable: true, description: 'no route' }
    await Promise.all([
      assert.rejects(reading('name'), { code: 'device_unreachable', message: 'no route' }),
      answering(failed, failed, failed),
    ])
  })

  test('require credentials if one link reports a protected device and no other link reads it', async () => {
    const locked = { protected: true }
    const failed = { unreachable: true, description: 'no route' }
    const message = 'The device is protected, and there are no credentials for its address'
    await Promise.all([
      assert.rejects(reading('name'), { code: 'device_protected', message }),
      answering(failed, locked, failed),
    ])
  })

  test('are listed for all links', async () => {
    const [{ data }] = await Promise.all([
      admin.discovery.listSupportedProperties({ params: { id } }),
      answering(
        { properties: [{ key: 'name' }, { key: 'profinet' }] },
        { unreachable: true, description: 'no route' },
        { properties: [{ key: 'name' }, { key: 'open_tcp_ports' }] },
      ),
    ])
    assert.deepEqual(
      data.map(({ key }) => key),
      ['name', 'profinet', 'open_tcp_ports'],
    )
  })
})
