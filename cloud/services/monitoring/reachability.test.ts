import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createMonitoring, type MonitoredPlant, monitoredPlant, reportedDevice, runOnce } from './testing.ts'

describe('the reachability of monitored assets', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  /** Reads an asset with the version in its ETag and its history. The reachability state is separate. */
  const readAsset = async (id: string) => {
    await hub.settle()
    const headers = { authorization: `Bearer ${admin.token}` }
    const read = await hub.request({ method: 'GET', path: `/inventory/v2/assets/${id}`, headers })
    const { reachability_state: state, ...fields } = (read.body as { data: Record<string, unknown> }).data
    const history = (await admin.inventory.readHistory({ params: { id }, query: {} })).data
    const reachability = state as { state_value: string; state_timestamp: string }
    // The hash of the body is not part of the version that a write compares.
    const version = (read.headers.get('etag') ?? '').replace(/\..*/, '')
    return { reachability, rest: { fields, history, version } }
  }
  const checkedAt = async (id: string) => {
    const { data } = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
    return new Map(data.map(({ assetId, checkedTimestamp }) => [assetId, checkedTimestamp]))
  }
  const newestEvent = async () => (await admin.events.listEvents({ query: { limit: 1 } })).meta.newestPosition
  const eventsSince = async (position: number) => {
    const { data } = await admin.events.listEvents({ query: { after: position, limit: 100 } })
    return data.map(({ type }) => type.split('.').slice(-3).join('.'))
  }
  /** The first device responds. The second one does not. */
  const findingsOf = (plant: MonitoredPlant, number: number) => (assetId: string) =>
    assetId === plant.assetIds[0]
      ? { state: 'reached' as const, assetLinkId: plant.linkId, asset: reportedDevice(number, '1.0') }
      : { state: 'failed' as const, message: 'no answer' }

  test('a check with the same result changes only the time of the state', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 2, first: 1 })
    const [one = '', two = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
    await runOnce(plant, id, findingsOf(plant, 1))
    const first = [await readAsset(one), await readAsset(two)]
    const position = await newestEvent()
    const audited = async () =>
      (await admin.audit.listEntries({ query: { action: 'inventory.recordReachability' } })).data.length
    const entries = await audited()
    await runOnce(plant, id, findingsOf(plant, 1))
    const second = [await readAsset(one), await readAsset(two)]
    assert.deepEqual(
      second.map(({ rest }) => rest),
      first.map(({ rest }) => rest),
    )
    assert.deepEqual(
      second.map(({ reachability }) => reachability.state_value),
      ['reached', 'failed'],
    )
    const times = await checkedAt(id)
    for (const [index, assetId] of [one, two].entries()) {
      assert.equal(second[index]?.reachability.state_timestamp, times.get(assetId))
      assert.ok((times.get(assetId) ?? '') > (first[index]?.reachability.state_timestamp ?? ''))
    }
    const types = await eventsSince(position)
    assert.deepEqual(
      types.filter((type) => !/^(workflows|jobs)/.test(type)),
      ['monitoring.run.started', 'monitoring.run.finished'],
    )
    assert.equal(await audited(), entries)
    const filter = `reachability_state/state_timestamp ge '${times.get(two)}' and id eq '${two}'`
    assert.equal((await admin.inventory.listAssets({ query: { filter } })).data.length, 1)
  })

  test('a check without a result does not change the time of the state', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1 })
    const [assetId = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: [assetId] } })
    await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    const before = await readAsset(assetId)
    await runOnce(plant, id, () => ({ state: 'unknown', message: 'The link is not running' }))
    assert.deepEqual(await readAsset(assetId), before)
  })

  test('a changed state gets the time of the check, one entry in the history and one event', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1 })
    const [assetId = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: [assetId] } })
    await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    const before = await readAsset(assetId)
    const position = await newestEvent()
    await runOnce(plant, id, () => ({ state: 'failed', message: 'no answer' }))
    const after = await readAsset(assetId)
    const time = (await checkedAt(id)).get(assetId)
    assert.deepEqual(after.reachability, { state_value: 'failed', state_timestamp: time })
    assert.equal(after.rest.history.length, before.rest.history.length + 1)
    assert.notEqual(after.rest.version, before.rest.version)
    const types = await eventsSince(position)
    assert.equal(types.filter((type) => type === 'inventory.asset.updated').length, 1)
  })
})
