import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { workflowLimits } from '@millwright/api/workflow-shapes.ts'
import { timePlus } from '../../platform/database/statement.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  checkDevices,
  createMonitoring,
  endOfRun,
  leaseMonitoring,
  listTargets,
  monitoredPlant,
  reportedDevice,
  runOnce,
  uploadResults,
} from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('runs of monitorings', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  /** Runs the tasks of all processes that are due after some time. */
  const runDueIn = async (ms: number) => {
    const at = new Date(Date.now() + ms)
    for (const { context } of hub.clouds) await context.tasks.runDue(hub.tenant.tenantId, { at })
  }
  const assetOf = async (id: string) => (await admin.inventory.readAsset({ params: { id }, query: {} })).data
  const stateOf = async (id: string) =>
    (await assetOf(id)).reachability_state as { state_value: string; state_timestamp: string }
  const historyOf = async (id: string) => (await admin.inventory.readHistory({ params: { id }, query: {} })).data

  test('the job of a run names the user that started the run, and its trigger', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1, first: 90 })
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
    await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    const other = await hub.as('administrator')
    await other.monitoring.runMonitoring({ params: { id } })
    await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    const { data } = await admin.jobs.listJobs({ query: { tag: `monitoring/${id}` } })
    const names = await Promise.all([other, admin].map(async (caller) => (await caller.identity.userInfo({})).name))
    assert.deepEqual(
      data.map(({ startedBy, trigger }) => [startedBy, trigger]),
      names.map((name) => [name, 'person']),
    )
  })

  test('reachability, firmware and properties are stored, and history only when something changed', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 2, first: 1 })
    const [one = '', two = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds }, keys: ['uptime'] })
    const findingOf = (assetId: string) =>
      assetId === one
        ? {
            state: 'reached' as const,
            assetLinkId: plant.linkId,
            asset: reportedDevice(1, '2.0'),
            values: [{ key: 'uptime', value: 5 }],
          }
        : { state: 'failed' as const, message: 'UNAVAILABLE: no answer' }
    const first = await runOnce(plant, id, findingOf)
    assert.deepEqual(first.latestRun?.counts, { targets: 2, reached: 1, failed: 1, unknown: 0, changed: 0 })
    await hub.settle()
    assert.equal((await stateOf(one)).state_value, 'reached')
    assert.equal((await stateOf(two)).state_value, 'failed')
    const { data: results } = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
    assert.deepEqual(
      results.map(({ assetId, state, firmwareVersion }) => [assetId, state, firmwareVersion]),
      [
        [two, 'failed', undefined],
        [one, 'reached', '2.0'],
      ],
    )
    const before = [await historyOf(one), await historyOf(two)]
    const second = await runOnce(plant, id, findingOf)
    await hub.settle()
    assert.equal(second.latestRun?.counts?.changed, 0)
    assert.deepEqual([await historyOf(one), await historyOf(two)], before)

    const third = await runOnce(plant, id, (assetId) =>
      assetId === one
        ? {
            state: 'reached',
            assetLinkId: plant.linkId,
            asset: reportedDevice(1, '2.1'),
            values: [{ key: 'uptime', value: 9 }],
          }
        : { state: 'reached', assetLinkId: plant.linkId },
    )
    await hub.settle()
    assert.equal(third.latestRun?.counts?.changed, 2)
    assert.equal((await stateOf(two)).state_value, 'reached')
    assert.match(JSON.stringify(await assetOf(one)), /"version":"2\.1"/)
    const availability = (await admin.monitoring.readAvailability({ params: { id: two }, query: { days: 1 } })).data
    assert.deepEqual(
      availability.changes.map(({ state }) => state),
      ['failed', 'reached'],
    )
    assert.equal(availability.state, 'reached')
    assert.ok((availability.availablePercent ?? 100) < 100)
    assert.equal(availability.results[0]?.monitoringId, id)
  })

  test('a repeated job gets only devices without a result, and a repeated upload has no effect', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 3 })
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
    const leased = await leaseMonitoring(plant.gateway)
    const targets = await listTargets(plant.gateway, leased)
    assert.deepEqual(targets.map(({ assetId }) => assetId).toSorted(), plant.assetIds.toSorted())
    assert.equal(targets[0]?.links[0]?.foundAddresses.length, 1)
    const [first = '', ...others] = targets.map(({ assetId }) => assetId)
    const upload = (assetIds: string[], state: 'reached' | 'failed') =>
      uploadResults(
        plant.gateway,
        leased,
        assetIds.map((assetId) => ({ assetId, state })),
      )
    assert.deepEqual(await upload([first], 'reached'), { isOpen: true })
    assert.deepEqual(
      (await listTargets(plant.gateway, leased)).map(({ assetId }) => assetId),
      others,
    )
    await upload([first, ...others], 'failed')
    const ended = await endOfRun(plant, id)
    const { targets: total, reached, failed } = ended.latestRun?.counts ?? {}
    assert.deepEqual([total, reached, failed], [3, 1, 2])
    assert.deepEqual(await upload([first], 'failed'), { isOpen: false })
    await assert.rejects(
      plant.gateway.gatekeeper.uploadMonitoringResults({
        params: { id: leased.job.id },
        body: { data: { lease: first, results: [{ assetId: first, state: 'reached' }] } },
      }),
      code('lease_lost'),
    )
  })

  test('a second run is refused while one is active, and a canceled run keeps its results', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 2 })
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
    await assert.rejects(admin.monitoring.runMonitoring({ params: { id } }), code('conflict'))
    const leased = await leaseMonitoring(plant.gateway)
    const [first = ''] = plant.assetIds
    await uploadResults(plant.gateway, leased, [{ assetId: first, state: 'failed' }])
    await admin.monitoring.cancelMonitoring({ params: { id } })
    await hub.settle()
    const job = await admin.workflows.getJob({ params: { id: leased.job.id }, query: {} })
    assert.equal(job.status.state, 'CANCELING')
    await plant.gateway.gatekeeper.endJob({
      params: { id: leased.lease.id },
      body: { data: { jobId: leased.job.id, state: 'CANCELED' } },
    })
    const ended = await endOfRun(plant, id)
    assert.equal(ended.latestRun?.state, 'canceled')
    assert.deepEqual([ended.summary.failed, ended.summary.unknown], [1, 1])
    assert.deepEqual(await listTargets(plant.gateway, leased).catch((error) => error.code), 'lease_lost')
  })

  test(
    'an asset that was merged during a run is unknown, and a run with very many jobs is canceled',
    onlyInLongRuns,
    async () => {
      const plant = await monitoredPlant(hub, admin, { devices: 2 })
      const [kept = '', merged = ''] = plant.assetIds
      const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
      const leased = await leaseMonitoring(plant.gateway)
      await admin.inventory.mergeAsset({ params: { id: kept }, body: { data: { other: merged } } })
      await hub.settle()
      await uploadResults(plant.gateway, leased, [{ assetId: merged, state: 'failed' }])
      const { data } = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
      assert.match(data.find(({ assetId }) => assetId === merged)?.message ?? '', /^The asset was deleted or merged/)
      await hub.asOwner((owner) =>
        owner.query(
          `insert into monitoring_jobs (tenant_id, job_id, run_id, gateway_id, created_at, active_at)
         select tenant_id, gen_random_uuid(), run_id, gen_random_uuid(), now(), now()
         from monitoring_jobs, generate_series(1, $2) where job_id = $1`,
          [leased.job.id, workflowLimits.jobsPerRead],
        ),
      )
      await admin.monitoring.cancelMonitoring({ params: { id } })
      await hub.settle()
      await plant.gateway.gatekeeper.endJob({
        params: { id: leased.lease.id },
        body: { data: { jobId: leased.job.id, state: 'CANCELED' } },
      })
      assert.equal((await endOfRun(plant, id)).latestRun?.state, 'canceled')
    },
  )

  test(
    'an offline gateway makes its devices unknown, and does not change their reachability',
    onlyInLongRuns,
    async () => {
      const plant = await monitoredPlant(hub, admin, { devices: 1 })
      const [assetId = ''] = plant.assetIds
      const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
      await hub.settle()
      await hub.asOwner(async (owner) => {
        await owner.query(`update gateways set last_seen_at = now() - interval '1 hour' where id = $1`, [
          plant.gateway.id,
        ])
        await owner.query(`update monitoring_jobs set active_at = now() - interval '1 hour' where gateway_id = $1`, [
          plant.gateway.id,
        ])
      })
      const ended = await endOfRun(plant, id)
      assert.equal(ended.latestRun?.state, 'finished')
      assert.equal(ended.latestRun?.counts?.unknown, 1)
      const [result] = (await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })).data
      assert.match(result?.message ?? '', /is offline$/)
      assert.equal((await stateOf(assetId)).state_value, 'reached')
    },
  )

  test('devices stay in the results of a filter while their link is switched off', onlyInLongRuns, async () => {
    const plant = await monitoredPlant(hub, admin)
    const [assetId = ''] = plant.assetIds
    const { name } = await assetOf(assetId)
    const id = await createMonitoring(admin, { targets: { filter: `name eq '${name}'` } })
    await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    await plant.gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [] } } })
    const { summary } = await runOnce(plant, id, () => ({ state: 'unknown', message: 'The link is not running' }))
    assert.deepEqual([summary.targets, summary.unknown], [1, 1])
  })

  test('a device fails only if every gateway that found it reports that it does not respond', async () => {
    const first = await monitoredPlant(hub, admin, { devices: 1, first: 900 })
    const second = await monitoredPlant(hub, admin, { devices: 1, first: 900, name: 'second' })
    assert.deepEqual(first.assetIds, second.assetIds)
    const id = await createMonitoring(admin, { targets: { assetIds: first.assetIds } })
    const plants = [first, second]
    const own = async () => {
      await hub.settle()
      const { data } = await admin.monitoring.readMonitoring({ params: { id } })
      const jobs = data.latestRun?.jobIds ?? []
      const { clientId } = (await admin.workflows.getJob({ params: { id: jobs.at(-1) ?? '' }, query: {} })) as {
        clientId: string
      }
      return plants.find(({ gateway }) => gateway.id === clientId) ?? first
    }
    const before = await own()
    await checkDevices(before.gateway, () => ({ state: 'failed', message: 'no answer' }))
    const other = before === first ? second : first
    await checkDevices(other.gateway, () => ({ state: 'reached', assetLinkId: other.linkId }))
    const ended = await endOfRun(first, id)
    assert.deepEqual(ended.latestRun?.counts, { targets: 1, reached: 1, failed: 0, unknown: 0, changed: 0 })
    assert.equal(ended.latestRun?.jobIds.length, 2)
  })

  test('a scheduled run is skipped and counted while another one is active', onlyInLongRuns, async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1 })
    const schedule = { cron: '* * * * *' }
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds }, schedule })
    await admin.monitoring.runMonitoring({ params: { id } })
    const { data: entries } = await admin.audit.listEntries({ query: { action: 'monitoring.runMonitoring', limit: 1 } })
    const { data: monitoring } = await admin.monitoring.readMonitoring({ params: { id } })
    assert.equal(entries[0]?.detail.name, monitoring.name)
    await runDueIn(120_000)
    const { data } = await admin.monitoring.readMonitoring({ params: { id } })
    assert.equal(data.runs, 1)
    assert.ok((data.schedule?.missedRuns ?? 0) >= 1)
    await checkDevices(plant.gateway, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    await endOfRun(plant, id)
    await admin.monitoring.deleteMonitoring({ params: { id } })
  })

  test(
    'a report through a link that has not found the asset, and values of other properties, are left out',
    onlyInLongRuns,
    async () => {
      const plant = await monitoredPlant(hub, admin, { devices: 1, first: 700 })
      const [assetId = ''] = plant.assetIds
      const id = await createMonitoring(admin, { targets: { assetIds: [assetId] }, keys: ['uptime'] })
      await runOnce(plant, id, () => ({
        state: 'reached',
        assetLinkId: 'millwright.links.snmp',
        asset: { ...reportedDevice(700, '9.9'), name: 'Forged' },
        values: [
          { key: 'other', value: 1 },
          { key: 'uptime', value: 'x'.repeat(10_000) },
          { key: 'uptime', value: 'repeated' },
        ],
      }))
      await hub.settle()
      const [result] = (await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })).data
      assert.deepEqual([result?.state, result?.values, result?.assetLinkId], ['reached', [], undefined])
      assert.equal((await assetOf(assetId)).name, 'Device 700')
      const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`key ${index}`, index]))
      const asset = { ...reportedDevice(700, '9.9'), ...many }
      await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId, asset }))
      const [large] = (await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })).data
      assert.deepEqual([large?.state, large?.firmwareVersion], ['reached', undefined])
    },
  )

  test(
    'an asset that is no longer a target loses its result, and states older than 90 days are deleted',
    onlyInLongRuns,
    async () => {
      const plant = await monitoredPlant(hub, admin, { devices: 2 })
      const [kept = '', removed = ''] = plant.assetIds
      const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
      await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
      await admin.monitoring.updateMonitoring({ params: { id }, body: { data: { targets: { assetIds: [kept] } } } })
      await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
      const { data } = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
      assert.deepEqual(
        data.map(({ assetId }) => assetId),
        [kept],
      )
      const statesOf = async (assetId: string) =>
        (await admin.monitoring.readAvailability({ params: { id: assetId }, query: { days: 90 } })).data
      const { state, changes } = await statesOf(removed)
      assert.deepEqual([state, changes.length], ['unknown', 1])
      const earlier = `interval '-100 days'`
      await hub.asOwner((owner) =>
        owner.query(
          `update asset_availability set from_at = ${timePlus('from_at', earlier)}, to_at = ${timePlus('to_at', earlier)}
         where asset_id = any($1::uuid[])`,
          [plant.assetIds],
        ),
      )
      await runDueIn(2 * 3_600_000)
      const rows = await hub.asOwner((owner) =>
        owner.query(`select asset_id from asset_availability where asset_id = any($1::uuid[])`, [plant.assetIds]),
      )
      assert.deepEqual(
        rows.rows.map((row: { asset_id: string }) => row.asset_id),
        [kept],
      )
      assert.equal((await statesOf(kept)).availablePercent, 100)
    },
  )
})
