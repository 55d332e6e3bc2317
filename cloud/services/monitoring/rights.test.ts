import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Permission } from '@millwright/api/permission.ts'
import { changeAccess, insertGrant, insertPrincipal } from '../../platform/access/store.ts'
import { newId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  checkDevices,
  createMonitoring,
  endOfRun,
  leaseMonitoring,
  listTargets,
  monitoredPlant,
  runOnce,
  uploadResults,
} from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('rights for monitorings', () => {
  let hub: TestHub
  let admin: TestCaller
  let group: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-1' } } })).data.id
  })
  after(() => hub[Symbol.asyncDispose]())

  /** Creates a user who can run discoveries, with a role in some access groups. */
  async function userWith(permissions: Permission[], groups: string[], roleInGroups = 'operator'): Promise<TestCaller> {
    const role = `monitoring-${newId()}`
    await admin.authorization.createRole({ body: { data: { name: role, permissions } } })
    const principal = await hub.context.database.transaction(hub.tenant, async (tx) => {
      await changeAccess(tx)
      const made = await insertPrincipal(tx, { kind: 'user', name: `user ${newId()}` })
      await insertGrant(tx, { principalId: made.id, role })
      for (const accessGroupId of groups)
        await insertGrant(tx, { principalId: made.id, role: roleInGroups, accessGroupId })
      return made
    })
    return hub.withToken(await hub.tokenFor(principal.id, { roles: [role, roleInGroups] }), principal.id)
  }

  test('counts the assets that match and the assets that can be checked, with the rights of the caller', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 2 })
    const { assetIds } = plant
    const name = `Counted ${newId()}`
    const asset_identifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'test', value: newId() }]
    await admin.inventory.createAsset({
      body: { data: { asset: { functional_object_type: 'Device', name, asset_identifiers } } },
    })
    await hub.settle()
    const targets = { filter: `name eq '${name}' or id in (${assetIds.map((id) => `'${id}'`).join(', ')})` }
    const count = async (caller: TestCaller, assetLinkIds: string[] = []) =>
      (await caller.monitoring.countTargets({ body: { data: { targets, assetLinkIds } } })).data
    assert.deepEqual(await count(admin), { matching: 3, checkable: 2, monitored: 0 })
    assert.deepEqual(await count(admin, ['another-link']), { matching: 3, checkable: 0, monitored: 0 })
    const user = await userWith(['glb_discovery_run'], [group])
    assert.deepEqual(await count(user), { matching: 0, checkable: 0, monitored: 0 })
    const id = await createMonitoring(admin, { targets: { assetIds: assetIds.slice(0, 1) } })
    await runOnce(plant, id, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    assert.deepEqual(await count(admin), { matching: 3, checkable: 2, monitored: 1 })
    const selection = { body: { data: { targets } } }
    const unmonitored = { assetIds: assetIds.slice(1), total: 1 }
    assert.deepEqual((await admin.monitoring.listUnmonitoredTargets(selection)).data, unmonitored)
    assert.deepEqual((await user.monitoring.listUnmonitoredTargets(selection)).data, { assetIds: [], total: 0 })
    const invalid = { body: { data: { targets: { filter: 'no filter' } } } }
    await assert.rejects(admin.monitoring.countTargets(invalid), code('invalid_filter'))
  })

  test('a monitoring needs rights for its targets, and shows only readable assets', async () => {
    const open = await monitoredPlant(hub, admin, { devices: 1 })
    const hall = await monitoredPlant(hub, admin, { devices: 1, accessGroup: group })
    const [hidden = ''] = open.assetIds
    const [own = ''] = hall.assetIds
    const user = await userWith(['glb_discovery_run', 'glb_jobs_read'], [group])
    const reader = await userWith(['glb_discovery_run', 'glb_jobs_read'], [group], 'viewer')
    await assert.rejects(createMonitoring(user, { targets: { assetIds: [hidden] } }), code('asset_not_found'))
    await assert.rejects(createMonitoring(reader, { targets: { assetIds: [own] } }), code('forbidden'))
    await assert.rejects(createMonitoring(user, { targets: { filter: 'no filter' } }), code('invalid_filter'))
    await assert.rejects(
      createMonitoring(user, { targets: { assetIds: [own] }, assignWorking: true }),
      code('invalid_body'),
    )
    await assert.rejects(
      createMonitoring(user, { targets: { assetIds: [own] }, instancesTemplateId: newId() }),
      code('invalid_reference'),
    )
    const { data: template } = await admin.credentials.createInstancesTemplate({ body: { data: { name: 'any' } } })
    await assert.rejects(
      createMonitoring(user, { targets: { assetIds: [own] }, instancesTemplateId: template.id, assignWorking: true }),
      code('forbidden'),
    )
    const id = await createMonitoring(admin, { targets: { assetIds: [hidden, own] } })
    await checkDevices(open.gateway, () => ({ state: 'failed', message: 'no answer' }))
    await checkDevices(hall.gateway, () => ({ state: 'reached', assetLinkId: hall.linkId }))
    await endOfRun(open, id)
    const shown = (await user.monitoring.readMonitoring({ params: { id } })).data
    assert.deepEqual(shown.targets, { assetIds: [own] })
    assert.deepEqual([shown.summary.targets, shown.summary.failed, shown.latestRun?.counts], [1, 0, undefined])
    const { data, meta } = await user.monitoring.listMonitoringResults({ params: { id }, query: {} })
    assert.deepEqual([data.map(({ assetId }) => assetId), meta.totalElements], [[own], 1])
    await assert.rejects(user.monitoring.readAvailability({ params: { id: hidden }, query: {} }), ({ code: found }) =>
      ['not_found', 'forbidden'].includes(found),
    )
  })

  test('the coverage counts each readable device once, with its newest result, and without deleted devices', async () => {
    await using own = await testHub()
    const manager = await own.as('administrator')
    const { data: hall } = await manager.authorization.createAccessGroup({ body: { data: { name: 'hall-2' } } })
    const reader = await own.as('viewer', { accessGroupId: hall.id })
    const coverage = async (caller: TestCaller) => (await caller.monitoring.readCoverage({})).data
    const plant = await monitoredPlant(own, manager, { devices: 4 })
    const [one = '', two = '', three = '', four = ''] = plant.assetIds
    for (const id of [one, three])
      await manager.inventory.setAccessGroup({ params: { id }, body: { data: { access_group: 'hall-2' } } })
    await own.settle()
    const none = { monitored: 0, reached: 0, failed: 0, unknown: 0 }
    assert.deepEqual(await coverage(manager), { devices: 4, ...none, unmonitored: 4 })
    const first = await createMonitoring(manager, { targets: { assetIds: [one, two, four] } })
    await runOnce(plant, first, () => ({ state: 'failed', message: 'no answer' }))
    const second = await createMonitoring(manager, { targets: { assetIds: [one] } })
    await runOnce(plant, second, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    await manager.inventory.deleteAssets({ body: { data: { ids: [four] } } })
    await own.settle()
    const { data: failing } = await manager.monitoring.readAvailability({ params: { id: two }, query: {} })
    const counted = { monitored: 2, reached: 1, failed: 1, unknown: 0, failedSinceTimestamp: failing.sinceTimestamp }
    assert.deepEqual(await coverage(manager), { devices: 3, ...counted, unmonitored: 1 })
    assert.deepEqual(await coverage(reader), { devices: 2, ...none, monitored: 1, reached: 1, unmonitored: 1 })

    // The topology counts the same states. Assets of other types are not monitored.
    const topology = async (caller: TestCaller) =>
      (await caller.inventory.readTopologyGroups({ query: { by: 'subnet' } })).data.total.monitoring
    const { unmonitored, ...checked } = await topology(manager)
    assert.deepEqual(checked, { reachable: 1, unreachable: 1, unchecked: 0 })
    assert.ok(unmonitored >= 1)
    const { unmonitored: _others, ...readable } = await topology(reader)
    assert.deepEqual(readable, { reachable: 1, unreachable: 0, unchecked: 0 })
    const states = async (caller: TestCaller) => {
      const body = { data: { assetIds: [one, two, three] } }
      const { data } = await caller.monitoring.listMonitoredStates({ body })
      return new Map(data.map(({ assetId, state }) => [assetId, state]))
    }
    const shown: [string, string][] = [
      [one, 'reached'],
      [two, 'failed'],
    ]
    assert.deepEqual(await states(manager), new Map(shown))
    assert.deepEqual(await states(reader), new Map(shown.slice(0, 1)))
  })

  test('lists the unreachable devices that the caller can read, latest outage first, as the coverage counts them', async () => {
    await using own = await testHub()
    const manager = await own.as('administrator')
    const { data: hall } = await manager.authorization.createAccessGroup({ body: { data: { name: 'hall-3' } } })
    const reader = await own.as('viewer', { accessGroupId: hall.id })
    const plant = await monitoredPlant(own, manager, { devices: 5 })
    const [one = '', two = '', three = '', four = '', five = ''] = plant.assetIds
    await manager.inventory.setAccessGroup({ params: { id: two }, body: { data: { access_group: 'hall-3' } } })
    await own.settle()
    const check = async (name: string, assetIds: string[], state: 'failed' | 'reached') => {
      const id = await createMonitoring(manager, { name, targets: { assetIds } })
      await runOnce(plant, id, () => ({ state, ...(state === 'reached' && { assetLinkId: plant.linkId }) }))
      return { id, name }
    }
    const all = await check('All', [one, three, four, five], 'failed')
    const line = await check('Line', [two], 'failed')
    const cell = await check('Cell', [one, two], 'failed')
    await check('Later', [three], 'reached')
    await manager.inventory.deleteAssets({ body: { data: { ids: [four] } } })
    await own.settle()
    const list = async (caller: TestCaller, query: { limit?: number; offset?: number } = {}) => {
      const { data, meta } = await caller.monitoring.listUnreachableDevices({ query })
      return { total: meta.totalElements, devices: data.map(({ assetId }) => assetId), data }
    }
    const { total, devices, data } = await list(manager)
    const [first, ...earlier] = devices
    assert.deepEqual([total, first, earlier.toSorted()], [3, two, [one, five].toSorted()])
    assert.deepEqual(
      data.map(({ sinceTimestamp }) => sinceTimestamp),
      data
        .map(({ sinceTimestamp }) => sinceTimestamp)
        .toSorted()
        .toReversed(),
    )
    const { data: coverage } = await manager.monitoring.readCoverage({})
    assert.deepEqual([coverage.failed, coverage.failedSinceTimestamp], [3, data.at(-1)?.sinceTimestamp])
    const monitoringsOf = (id: string) => data.find(({ assetId }) => assetId === id)?.monitorings
    assert.deepEqual([monitoringsOf(one), monitoringsOf(two), monitoringsOf(five)], [[all, cell], [cell, line], [all]])
    assert.match(data[0]?.assetName ?? '', /^Device \d+$/)
    const last = await list(manager, { limit: 1, offset: 1 })
    assert.deepEqual([last.total, last.devices], [3, earlier.slice(0, 1)])
    const readable = await list(reader)
    assert.deepEqual([readable.total, readable.devices], [1, [two]])
  })

  test('a run monitors only assets that its owner can read and write at that time', async () => {
    const open = await monitoredPlant(hub, admin, { devices: 1, first: 500 })
    const hall = await monitoredPlant(hub, admin, { devices: 1, first: 510, accessGroup: group })
    const user = await userWith(['glb_discovery_run', 'glb_jobs_read'], [group])
    const filter = `name eq 'Device 500' or name eq 'Device 510'`
    const id = await createMonitoring(user, { targets: { filter } })
    const first = await runOnce(hall, id, () => ({ state: 'reached', assetLinkId: hall.linkId }))
    assert.equal(first.latestRun?.counts?.targets, 1)
    await admin.identity.updateUser({ params: { id: user.principalId }, body: { data: { disabled: true } } })
    await admin.monitoring.runMonitoring({ params: { id } })
    const without = await endOfRun(hall, id)
    assert.deepEqual([without.latestRun?.state, without.summary.targets], ['failed', 1])
    assert.match(without.latestRun?.message ?? '', /^The owner of the monitoring task was disabled/)

    const changed = await admin.monitoring.updateMonitoring({
      params: { id },
      body: { data: { targets: { filter } } },
    })
    assert.equal(changed.data.owner.id, admin.principalId)
    await admin.monitoring.runMonitoring({ params: { id } })
    await checkDevices(open.gateway, () => ({ state: 'reached', assetLinkId: open.linkId }))
    await checkDevices(hall.gateway, () => ({ state: 'reached', assetLinkId: hall.linkId }))
    assert.equal((await endOfRun(hall, id)).latestRun?.counts?.targets, 2)
  })

  test('a run ends when its owner is disabled, and its gateway gets no further targets', async () => {
    const hall = await monitoredPlant(hub, admin, { devices: 2, accessGroup: group })
    const user = await userWith(['glb_discovery_run', 'glb_jobs_read'], [group])
    const id = await createMonitoring(user, { targets: { assetIds: hall.assetIds } })
    const leased = await leaseMonitoring(hall.gateway)
    const [first = ''] = (await listTargets(hall.gateway, leased)).map(({ assetId }) => assetId)
    await uploadResults(hall.gateway, leased, [{ assetId: first, state: 'reached', assetLinkId: hall.linkId }])
    await admin.identity.updateUser({ params: { id: user.principalId }, body: { data: { disabled: true } } })
    const { latestRun, summary } = await endOfRun(hall, id)
    assert.deepEqual([latestRun?.state, summary.reached, summary.unknown], ['failed', 1, 1])
    assert.match(latestRun?.message ?? '', /^The owner of the monitoring task was disabled/)
    await assert.rejects(listTargets(hall.gateway, leased), code('lease_lost'))
  })

  test('a result and a run name no gateway and count no assets that the caller cannot read', async () => {
    const hidden = await monitoredPlant(hub, admin, { devices: 1, name: 'secret gateway' })
    const hall = await monitoredPlant(hub, admin, { devices: 1, accessGroup: group })
    const [assetId = ''] = hidden.assetIds
    await admin.inventory.setAccessGroup({ params: { id: assetId }, body: { data: { access_group: 'hall-1' } } })
    await hub.settle()
    const owner = await userWith(['glb_discovery_run', 'glb_jobs_read', 'inventory_read_asset_data'], [group])
    const other = await monitoredPlant(hub, admin, { devices: 1 })
    const ids = [assetId, ...other.assetIds].map((id) => `id eq '${id}'`)
    const id = await createMonitoring(owner, { targets: { filter: ids.join(' or ') } })
    await admin.onboarding.revokeGateway({ params: { id: hidden.gateway.id } })
    const { latestRun } = await endOfRun(hall, id)
    assert.match(latestRun?.message ?? '', /^1 asset was left out/)
    const messageFor = async (caller: TestCaller) => {
      const { data } = await caller.monitoring.listMonitoringResults({ params: { id }, query: {} })
      return data[0]?.message ?? ''
    }
    assert.match(await messageFor(admin), /secret gateway/)
    const user = await userWith(['glb_jobs_read'], [group])
    assert.equal(await messageFor(user), 'The gateway could not check this asset')
    const { data: availability } = await user.monitoring.readAvailability({ params: { id: assetId }, query: {} })
    assert.doesNotMatch(JSON.stringify(availability), /secret/)
    const { data: runs } = await user.monitoring.listMonitoringRuns({ params: { id }, query: {} })
    assert.deepEqual([runs[0]?.state, runs[0]?.message], ['finished', undefined])
  })

  test('a gateway reads and writes only the targets of its own jobs', async () => {
    const plant = await monitoredPlant(hub, admin, { devices: 1 })
    const other = await monitoredPlant(hub, admin, { devices: 1 })
    const id = await createMonitoring(admin, { targets: { assetIds: plant.assetIds } })
    const { job, lease } = await checkDevices(plant.gateway, () => ({ state: 'reached', assetLinkId: plant.linkId }))
    await endOfRun(plant, id)
    const request = { params: { id: job.id }, body: { data: { lease: lease.id } } }
    await assert.rejects(other.gateway.gatekeeper.listMonitoringTargets(request), code('not_found'))
  })
})
