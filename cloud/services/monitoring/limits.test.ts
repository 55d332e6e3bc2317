import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { monitoringLimits } from '@millwright/api/monitoring.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createMonitoring, endOfRun, monitoredPlant, runOnce } from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('limits of monitorings', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  test('a tenant can have 100 monitorings, also if requests are concurrent', async () => {
    const input = { targets: { filter: `name eq 'none'` }, schedule: { cron: '0 0 1 1 *' } }
    const create = () => createMonitoring(admin, input)
    for (let count = 0; count < monitoringLimits.monitorings - 4; count++) await create()
    const created = await Promise.allSettled(Array.from({ length: 8 }, create))
    const refused = created.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    assert.deepEqual(
      refused,
      Array.from({ length: 4 }, () => 'too_many_monitorings'),
    )
    const { data, meta } = await admin.monitoring.listMonitorings({ query: { limit: 1 } })
    assert.equal(meta.totalElements, monitoringLimits.monitorings)
    await admin.monitoring.deleteMonitoring({ params: { id: data[0]?.id ?? '' } })
    const id = await create()
    await assert.rejects(create(), code('too_many_monitorings'))
    await admin.monitoring.deleteMonitoring({ params: { id } })
  })

  /** Inserts assets whose ids are lower than those of all other assets, so that a selection returns them first. */
  const insertAssets = (first: number, last: number) =>
    hub.asOwner((owner) =>
      owner.query(
        `insert into assets (tenant_id, id, access_group_id, type, schema_url, document, name, management_state,
                             reachability_state, responsible, version, created_at, modified_at)
         select $1, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
                (select id from access_groups where tenant_id = $1 and name = 'default'), 'Device', 'x',
                '{"functional_object_type":"Device","custom_properties":[],"responsible":"x"}', 'asset-' || n, 'unknown',
                'unknown', 'x', 1, now(), now()
         from generate_series($2::int, $3::int) n`,
        [hub.tenant.tenantId, first, last],
      ),
    )

  test(
    'a run monitors devices on each page of the selected assets, and fails above the limit of targets',
    onlyInLongRuns,
    async () => {
      await insertAssets(1, inventoryLimits.devices)
      const plant = await monitoredPlant(hub, admin, { devices: 2 })
      const targets = { filter: `functional_object_type eq 'Device'` }
      const id = await createMonitoring(admin, { targets })
      const { latestRun } = await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
      assert.deepEqual([latestRun?.state, latestRun?.counts?.targets, latestRun?.counts?.reached], ['finished', 2, 2])
      const { data } = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
      assert.deepEqual(data.map(({ assetId }) => assetId).toSorted(), plant.assetIds.toSorted())

      await insertAssets(inventoryLimits.devices + 1, monitoringLimits.targets)
      await admin.monitoring.runMonitoring({ params: { id } })
      const failed = (await endOfRun(plant, id)).latestRun
      assert.equal(failed?.state, 'failed')
      assert.match(failed?.message ?? '', /more than 20000 assets/)
      const kept = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
      assert.equal(kept.meta.totalElements, 2, 'the results of the last run stay')
    },
  )
})
