import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { discovery } from '@millwright/api/discovery.ts'
import {
  assertionOf,
  enrolledGateway,
  enrolment,
  foundDevice,
  leaseDiscovery,
  linkReport,
  newKey,
  requestToken,
  type TestGateway,
  uploadDevices,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const waiting = { headers: { prefer: 'wait=30' } }

describe('asset of a gateway', () => {
  let hub: TestHub
  let admin: TestCaller
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  const stateOf = async (id: string) => (await admin.onboarding.getGateway({ params: { id } })).data.state
  const until = async (what: string, isTrue: () => Promise<boolean>) => {
    const deadline = performance.now() + 120_000
    while (!(await isTrue())) {
      assert.ok(performance.now() < deadline, what)
      await hub.settle()
    }
  }
  const isRefused = async (gateway: TestGateway) =>
    (await gateway.send({ method: 'GET', path: '/gatekeeper/v1/jobs' })).status === 401

  const deletions: Record<string, (id: string) => Promise<unknown>> = {
    'deleting the asset': (id) => admin.inventory.deleteAssets({ body: { data: { ids: [id] } }, ...waiting }),
    'deleting the asset through the v1 API': (id) => admin['inventory-v1'].deleteAsset({ params: { id } }),
    'merging the asset into another one': async (other) => {
      const asset = { ...foundDevice(1), functional_object_type: 'Gateway' }
      const { data } = await admin.inventory.createAsset({ body: { data: { asset } } })
      const { data: status } = await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
      const { assetId } = status.detail.result as { assetId: string }
      await admin.inventory.mergeAsset({ params: { id: assetId }, body: { data: { other } }, ...waiting })
    },
  }
  for (const [what, remove] of Object.entries(deletions)) {
    test(`refuses the token, new tokens and discoveries of a gateway after ${what}`, async () => {
      const gateway = await enrolledGateway(hub, admin)
      const link = linkReport()
      await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [link] } } })
      await remove(gateway.id)
      await until('the gateway is revoked', async () => (await stateOf(gateway.id)) === 'revoked')
      await until('its token is refused', () => isRefused(gateway))
      assert.equal((await requestToken(hub, await assertionOf(hub, gateway))).status, 401)
      const { status, body } = await admin.exchange(discovery, 'createDiscovery', {
        params: { gatewayId: gateway.id },
        body: { data: { assetLinkId: link.appInstanceId } },
      })
      assert.deepEqual([status, (body as { code: string }).code], [409, 'gateway_not_ready'])
    })
  }

  test('invalidates the enrolment file when the asset of a gateway is deleted before enrolment', async () => {
    const { data: gateway } = await admin.onboarding.createGateway({ body: { data: { name: 'hall 5' } } })
    const config = await admin.onboarding.createGatewayConfig({ params: { id: gateway.id } })
    await admin.inventory.deleteAssets({ body: { data: { ids: [gateway.id] } }, ...waiting })
    await until('the gateway is revoked', async () => (await stateOf(gateway.id)) === 'revoked')
    const { status } = await hub.request({
      method: 'POST',
      path: '/onboarding/v1/enrol',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ data: await enrolment(config, await newKey()) }),
    })
    assert.equal(status, 403)
  })

  test('fails an open discovery run when the asset of its gateway is deleted', async () => {
    const gateway = await enrolledGateway(hub, admin)
    const link = linkReport()
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [link] } } })
    const { jobId } = await admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId: link.appInstanceId, discoveryOptions: [{ key: 'size', value: '3' }] } },
    })
    const leased = await leaseDiscovery(gateway)
    const removed = admin.inventory.deleteAssets({ body: { data: { ids: [gateway.id] } }, ...waiting })
    // The service may still accept both requests, because it revokes the gateway only after the deletion.
    await uploadDevices(gateway, leased, { assets: [foundDevice(2)] }).catch(() => undefined)
    await removed
    await until('the gateway is revoked', async () => (await stateOf(gateway.id)) === 'revoked')
    const run = async () => (await admin.discovery.getDiscovery({ params: { jobId } })).data
    await until('the run ends', async () => (await run()).state === 'failed')
    assert.equal((await run()).message, 'The gateway was revoked')
    const { data } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    const { data: asset } = await admin.inventory.listAssets({ query: { filter: `name eq 'Device 2'` } })
    assert.equal(data.findings.length, asset.length, 'the report agrees with the inventory')
  })

  test('updates reachability_state with one history entry when a gateway changes between online and offline', async () => {
    const gateway = await enrolledGateway(hub, admin)
    const asset = async () => (await admin.inventory.readAsset({ params: { id: gateway.id }, query: {} })).data
    const reachability = async () => ((await asset()).reachability_state as { state_value: string }).state_value
    const trust = async () => ((await asset()).trust_state as { state_value: string }).state_value
    const hasVersion = async () => JSON.stringify(await asset()).includes('"product_version":"1.0.0"')
    const versions = async () =>
      (await admin.inventory.readHistory({ params: { id: gateway.id }, query: {} })).data.length
    const heard = () => gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [] } } })
    const inAWhile = async () => {
      const at = new Date(Date.now() + 60_000)
      await hub.contextOf('onboarding').tasks.runDue(hub.tenant.tenantId, { at })
      await hub.settle()
    }
    // The enrolment causes three writes. The reachability can be applied before the trust state and the version.
    await until('the gateway is reached', async () => (await reachability()) === 'reached')
    await until('the gateway is trusted', async () => (await trust()) === 'trusted')
    await until('the version is in the asset', hasVersion)
    await heard()
    const before = await versions()
    for (let beat = 0; beat < 3; beat++) {
      await heard()
      await inAWhile()
    }
    assert.equal(await versions(), before, 'heartbeats leave no history')

    await hub.asOwner((owner) =>
      owner.query(`update gateways set last_seen_at = now() - interval '10 minutes' where id = $1`, [gateway.id]),
    )
    await inAWhile()
    await until('the gateway is not reached', async () => (await reachability()) === 'failed')
    await heard()
    await until('the gateway is reached again', async () => (await reachability()) === 'reached')
    assert.equal(await versions(), before + 2)
    const { data: entries } = await admin.activity.listEntries({ query: { limit: 100 } })
    const outage = entries.flatMap(({ time, object, changes }) =>
      object?.id !== gateway.id ? [] : changes.flatMap(({ since }) => (since === undefined ? [] : [{ time, since }])),
    )
    assert.equal(outage.length, 2, 'the begin and the end')
    for (const { time, since } of outage)
      assert.ok(Date.parse(time) - Date.parse(since) >= 600_000, 'an outage lasts since the last contact')

    await admin.onboarding.revokeGateway({ params: { id: gateway.id } })
    await until('a revoked gateway is not reached', async () => (await reachability()) === 'failed')
  })
})
