import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createMonitoring, monitoredPlant, reportedDevice, runOnce } from './testing.ts'

describe('reports that the inventory refuses', () => {
  let hub: TestHub
  let admin: TestCaller
  const groups = { own: '', other: '' }

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    for (const name of ['own', 'other'] as const)
      groups[name] = (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
  })
  after(() => hub[Symbol.asyncDispose]())

  const resultsOf = async (id: string) => {
    await hub.settle()
    const { data } = await admin.monitoring.listMonitoringResults({ params: { id }, query: {} })
    return new Map(data.map((result) => [result.assetId, result]))
  }
  const assetOf = async (id: string) => (await admin.inventory.readAsset({ params: { id }, query: {} })).data

  test('a refused report is shown in the result, and the next run writes the same report again', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 2, first: 1, accessGroup: groups.own })
    const [moved = '', kept = ''] = plant.assetIds
    // The gateway may write an asset that it found, also in another group. Without the relation, it needs a role in the group.
    const { data: relations } = await admin.inventory.listAssetRelations({ params: { id: moved }, query: {} })
    const found = relations.filter(({ predicate }) => predicate === 'found_by_gateway').map(({ id }) => id)
    await admin.inventory.deleteRelations({ body: { data: { ids: found } } })
    await admin.inventory.setAccessGroup({ params: { id: moved }, body: { data: { access_group: 'other' } } })
    await hub.settle()
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
    const findingOf = (assetId: string) => ({
      state: 'reached' as const,
      assetLinkId: plant.linkId,
      asset: reportedDevice(assetId === moved ? 1 : 2, '2.0'),
    })
    for (const run of ['first', 'second']) {
      const { latestRun } = await runOnce(plant, id, findingOf)
      assert.deepEqual([latestRun?.state, latestRun?.counts?.reached], ['finished', 2], run)
      const results = await resultsOf(id)
      assert.deepEqual([results.get(moved)?.state, results.get(moved)?.error?.code], ['reached', 'identity_taken'], run)
      assert.match(results.get(moved)?.error?.detail ?? '', /grant the gateway a role/)
      assert.equal(results.get(kept)?.error, undefined)
    }
    assert.doesNotMatch(JSON.stringify(await assetOf(moved)), /"version":"2\.0"/)
    assert.match(JSON.stringify(await assetOf(kept)), /"version":"2\.0"/)
    const { reachability_state: state } = await assetOf(moved)
    const checkedAt = (await resultsOf(id)).get(moved)?.checkedTimestamp
    assert.deepEqual(state, { state_value: 'reached', state_timestamp: checkedAt }, 'the owner can write the state')
    const availability = (await admin.monitoring.readAvailability({ params: { id: moved }, query: {} })).data
    assert.equal(availability.results[0]?.error?.code, 'identity_taken')

    await admin.authorization.createGrant({
      body: { data: { principal: plant.gateway.id, role: 'operator', accessGroup: groups.other } },
    })
    await runOnce(plant, id, findingOf)
    assert.equal((await resultsOf(id)).get(moved)?.error, undefined)
    assert.match(JSON.stringify(await assetOf(moved)), /"version":"2\.0"/)
  })

  test('the error of a report with an invalid field names the field', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1, first: 10 })
    const [assetId = ''] = plant.assetIds
    const id = await createMonitoring(admin, { targets: { assetIds: [assetId] } })
    const finding = { state: 'reached' as const, assetLinkId: plant.linkId }
    await runOnce(plant, id, () => ({ ...finding, asset: { ...reportedDevice(10), name: 7 } }))
    const { error } = (await resultsOf(id)).get(assetId) ?? {}
    assert.equal(error?.code, 'invalid_asset')
    assert.match(error?.detail ?? '', /\/name/)
    await runOnce(plant, id, () => ({ ...finding, asset: { ...reportedDevice(10), name: 'Pump' } }))
    assert.equal((await resultsOf(id)).get(assetId)?.error, undefined)
    assert.equal((await assetOf(assetId)).name, 'Pump')
  })
})
