import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { timePlus } from '../../platform/database/statement.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createMonitoring, endOfRun, type MonitoredPlant, monitoredPlant, runOnce } from './testing.ts'

const hourMs = 3_600_000

describe('availability with times without results', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  const availability = async (id: string) =>
    (await admin.monitoring.readAvailability({ params: { id }, query: {} })).data
  const reach = (plant: MonitoredPlant, id: string) =>
    runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
  const hoursOf = ({ from, to }: { from: string; to: string }) => (Date.parse(to) - Date.parse(from)) / hourMs

  /** Moves everything that is stored about the states of an asset to the past. */
  async function age(assetId: string, days: number): Promise<void> {
    const earlier = `-$2::float8 * interval '1 day'`
    await hub.asOwner(async (owner) => {
      await owner.query(
        `update asset_availability set from_at = ${timePlus('from_at', earlier)}, to_at = ${timePlus('to_at', earlier)}
         where asset_id = $1`,
        [assetId, days],
      )
      await owner.query(
        `update monitoring_results set checked_at = ${timePlus('checked_at', earlier)},
           since_at = ${timePlus('since_at', earlier)} where asset_id = $1`,
        [assetId, days],
      )
    })
  }

  test('a result counts until the next one, but for at most a day', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1 })
    const [assetId = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: [assetId] } })
    await reach(plant, id)
    await age(assetId, 10)
    assert.deepEqual((await availability(assetId)).changes.map(hoursOf), [24])
    await runOnce(plant, id, () => ({ state: 'failed', message: 'no answer' }))
    await age(assetId, 10)
    const { state, availablePercent, changes } = await availability(assetId)
    assert.deepEqual([state, availablePercent, changes.map(hoursOf)], ['failed', 50, [24, 24]])
    await runOnce(plant, id, () => ({ state: 'failed', message: 'no answer' }))
    const again = await availability(assetId)
    assert.deepEqual(again.changes.slice(0, 2).map(hoursOf), [24, 24])
    await admin.monitoring.deleteMonitoring({ params: { id } })
    assert.equal((await availability(assetId)).state, 'unknown')
  })

  test('the states of an asset end a day after its last result when its monitoring is deleted', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1 })
    const [assetId = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: [assetId] } })
    await reach(plant, id)
    await age(assetId, 10)
    await admin.monitoring.deleteMonitoring({ params: { id } })
    const { state, changes } = await availability(assetId)
    assert.deepEqual([state, changes.map(hoursOf)], ['unknown', [24]])
  })

  test('an unknown result does not replace the state that another monitoring found', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1 })
    const [assetId = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: [assetId] } })
    await reach(plant, id)
    const other = await createMonitoring(admin, { targets: { assetIds: [assetId] }, assetLinkIds: ['another link'] })
    const { summary } = await endOfRun(plant, other)
    assert.equal(summary.unknown, 1)
    assert.deepEqual(
      (await availability(assetId)).changes.map(({ state }) => state),
      ['reached'],
    )
    await admin.monitoring.deleteMonitoring({ params: { id } })
    await admin.monitoring.runMonitoring({ params: { id: other } })
    await endOfRun(plant, other)
    assert.equal((await availability(assetId)).state, 'unknown')
  })
})
