import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { enrolledGateway, leaseDiscovery, linkReport } from '../../platform/testing/gateway.ts'
import { testHub } from '../../platform/testing/hub.ts'

/** The number of waiting requests. It is larger than the number of connections between two processes of the platform. */
const waiting = 80

test('responds to other requests immediately while many gateways wait for jobs', onlyInLongRuns, async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const gateway = await enrolledGateway(hub, admin)
  const requests = Array.from({ length: waiting }, () =>
    gateway.gatekeeper.leaseJob({ body: { data: { workflows: ['device-info'], waitSeconds: 30 } } }),
  )
  let isOver = false
  const all = Promise.all(requests).finally(() => {
    isOver = true
  })
  const report = { gatewayVersion: '1.0.0', links: [linkReport()] }
  await gateway.gatekeeper.reportLinks({ body: { data: report } })
  assert.equal(isOver, false, 'they still wait')
  const body = { clientId: gateway.id, workflow: 'device-info', definition: {} }
  const system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
  const engine = hub.context.peers(workflows, system)
  const made = await Promise.all(requests.map(() => engine.createJob({ body })))
  const taken = (await all).map((one) => one?.data.job.id)
  assert.deepEqual(taken.toSorted(), made.map(({ id }) => id).toSorted(), 'each of them has a job of its own')
})

test('responds to a waiting lease renewal when the job is canceled, or at the timeout', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const gateway = await enrolledGateway(hub, admin)
  await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
  const { jobId } = await admin.discovery.createDiscovery({
    params: { gatewayId: gateway.id },
    body: { data: { assetLinkId: linkReport().appInstanceId, discoveryOptions: [{ key: 'size', value: '3' }] } },
  })
  const { job, lease } = await leaseDiscovery(gateway)
  const renew = (waitSeconds: number) =>
    gateway.gatekeeper.renewLease({ params: { id: lease.id }, body: { data: { jobId: job.id, waitSeconds } } })
  assert.equal((await renew(1)).data.cancelRequested, false)
  const renewal = renew(15)
  const canceledAt = performance.now()
  await admin.discovery.cancelDiscovery({ params: { jobId } })
  assert.equal((await renewal).data.cancelRequested, true)
  assert.ok(performance.now() - canceledAt < 10_000, 'long before its time was over')
})
