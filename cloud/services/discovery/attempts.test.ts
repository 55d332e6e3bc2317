import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import {
  endDiscoveryJob,
  endOfDiscovery,
  enrolledGateway,
  foundDevice,
  type LeasedDiscovery,
  leaseDiscovery,
  linkReport,
  type TestGateway,
  uploadDevices,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

describe('attempts of a run', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())
  beforeEach(async () => {
    gateway = await enrolledGateway(hub, admin)
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
  })

  const create = () =>
    admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId: linkReport().appInstanceId } },
    })
  const lease = () => leaseDiscovery(gateway)
  const upload = (held: LeasedDiscovery, sequence: number, content: Parameters<typeof uploadDevices>[2]) =>
    uploadDevices(gateway, held, { sequence, ...content })
  const end = (held: LeasedDiscovery, state: 'FINISHED') => endDiscoveryJob(gateway, held, { state })
  const read = async (jobId: string) => (await admin.discovery.getDiscovery({ params: { jobId } })).data
  const ended = (jobId: string) => endOfDiscovery({ hub, admin }, jobId)
  const expireLeases = () =>
    hub.asOwner((owner) =>
      owner.query(`update workflow_jobs set lease_until = now() - interval '1 second' where tenant_id = $1`, [
        hub.tenant.tenantId,
      ]),
    )
  const silent = (device: number) => ({ code: 14, description: 'no answer', device: { ip: `10.0.0.${device}` } })

  test(
    'shows the device errors of the latest attempt and the findings of all attempts after an interruption',
    onlyInLongRuns,
    async () => {
      const { jobId } = await create()
      const held = await lease()
      await upload(held, 0, { assets: [foundDevice(25)], errors: [silent(1), silent(2)] })
      await hub.settle()
      assert.equal((await read(jobId)).errors, 2)
      await expireLeases()
      const again = await lease()
      assert.equal((await read(jobId)).errors, 0, 'the second attempt begins without errors')
      await upload(held, 1, { assets: [foundDevice(26)], errors: [silent(3)] })
      await upload(again, 0, { assets: [foundDevice(25)], errors: [silent(1), silent(2)] })
      await end(again, 'FINISHED')
      const { errors, found } = await ended(jobId)
      assert.deepEqual([errors, found], [2, 2])
      const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
      assert.deepEqual(report.errors, [silent(1), silent(2)])
      assert.equal(report.totalErrors, 2)
    },
  )

  test('a run that starts again after an interruption has no progress, and has the time of this start', async () => {
    const { jobId } = await create()
    const held = await lease()
    await gateway.gatekeeper.renewLease({
      params: { id: held.lease.id },
      body: { data: { jobId: held.job.id, progress: 40 } },
    })
    await upload(held, 0, { assets: [foundDevice(27)], errors: [] })
    await hub.settle()
    const before = await read(jobId)
    assert.deepEqual([before.progress, before.found, before.restartedTimestamp], [40, 1, undefined])
    await expireLeases()
    const again = await lease()
    const after = await read(jobId)
    assert.deepEqual([after.progress, after.found, after.startedTimestamp], [0, 1, before.startedTimestamp])
    assert.ok((after.restartedTimestamp ?? '') > (after.startedTimestamp ?? ''))
    const { data: job } = await admin.jobs.getJob({ params: { id: again.job.id } })
    assert.equal(job.scan?.restartedTimestamp, after.restartedTimestamp)
    await end(again, 'FINISHED')
    await ended(jobId)
  })

  test('a gateway that continues its scan under a new lease keeps progress and errors, and is not interrupted', async () => {
    const { jobId } = await create()
    const held = await lease()
    await gateway.gatekeeper.renewLease({
      params: { id: held.lease.id },
      body: { data: { jobId: held.job.id, progress: 40 } },
    })
    await upload(held, 0, { assets: [foundDevice(28)], errors: [silent(1)] })
    await hub.settle()
    await expireLeases()
    const request = { workflows: ['discovery'], activeJobs: [held.job.id] }
    const continued = (await gateway.gatekeeper.leaseJob({ body: { data: request } }))?.data ?? assert.fail()
    assert.deepEqual([continued.job.id, continued.job.status.progress], [held.job.id, 40])
    const { progress, errors, restartedTimestamp } = await read(jobId)
    assert.deepEqual([progress, errors, restartedTimestamp], [40, 1, undefined])
    // The first upload waited in the gateway while the platform was not reachable.
    await upload(held, 1, { errors: [silent(2)] })
    await upload(continued, 2, { errors: [silent(3)] })
    await hub.settle()
    assert.equal((await read(jobId)).errors, 3)

    await expireLeases()
    const restarted = await lease()
    assert.deepEqual([restarted.job.status.progress, (await read(jobId)).errors], [0, 0])
    await upload(continued, 3, { errors: [silent(4)] })
    await upload(restarted, 0, { errors: [silent(1)] })
    await end(restarted, 'FINISHED')
    const after = await ended(jobId)
    assert.equal(after.errors, 1)
    assert.ok(after.restartedTimestamp)
  })

  test('a run without the first lease of its attempt, from the last release, keeps its errors when the gateway continues it', async () => {
    const { jobId } = await create()
    const held = await lease()
    await upload(held, 0, { assets: [foundDevice(29)], errors: [silent(1)] })
    await hub.settle()
    await hub.asOwner((owner) =>
      owner.query('update discovery_runs set attempt_lease = null where tenant_id = $1', [hub.tenant.tenantId]),
    )
    await expireLeases()
    const request = { workflows: ['discovery'], activeJobs: [held.job.id] }
    const continued = (await gateway.gatekeeper.leaseJob({ body: { data: request } }))?.data ?? assert.fail()
    await upload(held, 1, { errors: [silent(2)] })
    await hub.settle()
    assert.equal((await read(jobId)).errors, 2)
    await end(continued, 'FINISHED')
    await ended(jobId)
  })
})
