import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { discovery } from '@millwright/api/discovery.ts'
import type { LinkReport } from '@millwright/api/gatekeeper.ts'
import { systemCaller } from '../../platform/access/system.ts'
import {
  addAddress,
  enrolledGateway,
  foundDevice,
  linkReport,
  runScan,
  type TestGateway,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const discover = 'millwright.industrialassethub.discover.v1'
const interfaces = {
  update: 'vendor.industrialassethub.artefact_update.v1',
  retrieve: 'factory_x.artefact_update.v1',
  firmware: 'vendor.commondevicemanagement.firmwareupdateApi.v1',
} as const

describe('links that update devices', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  const links = ['none', 'update', 'firmware', 'retrieve'] as const
  const assets = new Map<string, string>()

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gateway = await enrolledGateway(hub, admin)
    await report()
    for (const [index, link] of links.entries()) {
      const { jobId } = await admin.discovery.createDiscovery({
        params: { gatewayId: gateway.id },
        body: { data: { assetLinkId: link } },
      })
      // The link `none` also finds the devices of the other links.
      const found = link === 'none' ? [0, 1, 2, 3] : [index]
      await runScan({ hub, admin, gateway, jobId, assets: found.map((number) => foundDevice(number)) })
    }
    const { data } = await admin.inventory.listAssets({ query: { filter: `startswith(name, 'Device')` } })
    for (const { id, name } of data) assets.set(String(name), String(id))
  })

  after(() => hub[Symbol.asyncDispose]())

  async function report(changes: Partial<LinkReport> = {}): Promise<void> {
    const reports = links.map((name) =>
      linkReport({
        appInstanceId: name,
        options: [],
        interfaces: [discover, ...(name === 'none' ? [] : [interfaces[name]])],
        ...(name === 'update' ? changes : {}),
      }),
    )
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: reports } } })
  }

  const client = () =>
    hub.context.peers(discovery, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name }))

  async function linkOf(assetId: string | undefined) {
    const { data } = await client().findUpdateLinks({ body: { data: { assetIds: [assetId ?? ''] } } })
    assert.equal(data.length, 1)
    return data[0]
  }

  test('finds the running link with an update interface, and what it can do', async () => {
    const found = await Promise.all([1, 2, 3].map((number) => linkOf(assets.get(`Device ${number}`))))
    assert.deepEqual(
      found.map((one) => [one?.link?.assetLinkId, one?.link?.kinds, one?.link?.canRetrieve, one?.link?.gatewayId]),
      [
        ['update', 'all', false, gateway.id],
        ['firmware', 'firmware', false, gateway.id],
        ['retrieve', 'all', true, gateway.id],
      ],
    )
  })

  test('returns the reason why no link can update a device', async () => {
    assert.match((await linkOf(assets.get('Device 0')))?.problem ?? '', /can update devices/)
    assert.match((await linkOf(gateway.id))?.problem ?? '', /No asset link has discovered/)
    await report({ state: 'unreachable' })
    assert.match((await linkOf(assets.get('Device 1')))?.problem ?? '', /is not running/)
    await report()
  })

  test('returns the addresses and identifiers of a device', async () => {
    const id = assets.get('Device 1') ?? ''
    await addAddress(hub, { assetId: id, gatewayId: gateway.id, address: '192.0.2.7' })
    const query = { gatewayId: gateway.id, assetLinkId: 'link' }
    const { data } = await client().readDeviceTarget({ params: { id }, query })
    assert.deepEqual([data.addresses, data.foundAddresses], [['192.0.2.7'], ['192.0.2.7']])
    assert.ok(JSON.stringify(data.assetIdentifiers).includes('02:00:00:00:00:01'))
    const missing = { params: { id: '01980000-0000-7000-8000-000000000000' }, query }
    await assert.rejects(client().readDeviceTarget(missing), { code: 'not_found' })
  })
})
